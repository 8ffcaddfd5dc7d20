package shard

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const other = "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"

// Every directory belongs to one data set: shards are not made through a link to another's,
// nor read, and the link is named.
func TestLinks(t *testing.T) {
	foreign := header
	foreign.Dataset = other
	own, theirs := header.Family+"-"+dataset, header.Family+"-"+other
	symlink := func(t *testing.T, target, link string) {
		t.Helper()
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		make   func(t *testing.T, d *Dir)
		words  string // of the error; empty: the link is used
		listed int    // shards
	}{
		"another's directory": {func(t *testing.T, d *Dir) {
			write(t, d, foreign)
			symlink(t, theirs, filepath.Join(d.Root(), own))
		}, "data set " + other[:12], 1},
		"another's empty directory": {func(t *testing.T, d *Dir) {
			if err := os.Mkdir(filepath.Join(d.Root(), theirs), 0o755); err != nil {
				t.Fatal(err)
			}
			symlink(t, theirs, filepath.Join(d.Root(), own))
		}, "data set " + other[:12], 0},
		"a link to another's": {func(t *testing.T, d *Dir) {
			disk := t.TempDir()
			symlink(t, disk, filepath.Join(d.Root(), theirs))
			write(t, d, foreign)
			symlink(t, theirs, filepath.Join(d.Root(), own))
		}, "data set " + other[:12], 1},
		"nothing": {func(t *testing.T, d *Dir) {
			symlink(t, "nowhere", filepath.Join(d.Root(), own))
		}, "nowhere, which does not exist", 0},
		"itself": {func(t *testing.T, d *Dir) {
			symlink(t, own, filepath.Join(d.Root(), own))
		}, "too many", 0},
		"a file": {func(t *testing.T, d *Dir) {
			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			symlink(t, file, filepath.Join(d.Root(), own))
		}, "not a directory", 0},
		"another disk": {func(t *testing.T, d *Dir) {
			symlink(t, t.TempDir(), filepath.Join(d.Root(), own))
		}, "", 1},
		"its own, in another store": {func(t *testing.T, d *Dir) {
			elsewhere := NewDir(t.TempDir())
			write(t, elsewhere, header)
			symlink(t, filepath.Join(elsewhere.Root(), own), filepath.Join(d.Root(), own))
		}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewDir(t.TempDir())
			test.make(t, d)
			if test.words == "" {
				write(t, d, header)
				if err := d.Verify(t.Context(), dataset, header.Shard); err != nil {
					t.Error(err)
				}
			} else {
				_, open := d.Open(dataset, header.Shard)
				_, create := d.Create(header)
				for what, err := range map[string]error{"Open": open, "Create": create, "Verify": d.Verify(t.Context(), dataset, header.Shard)} {
					if !errors.Is(err, ErrLink) || !strings.Contains(err.Error(), test.words) || !strings.Contains(err.Error(), own) {
						t.Errorf("%s: %v", what, err)
					}
				}
				if d.Has(dataset, header.Shard) {
					t.Error("has the shard")
				}
			}
			list, err := d.List()
			if len(list) != test.listed || (err != nil) != (test.words != "") || err != nil && !errors.Is(err, ErrLink) {
				t.Errorf("List: %d shards, %v", len(list), err)
			}
			for _, m := range list {
				if err := d.Verify(t.Context(), m.Dataset, m.Shard); err != nil {
					t.Errorf("the other data set: %v", err)
				}
			}
		})
	}
}

// Where two data sets are links to one directory, it belongs to the one that comes first.
func TestTwoLinksToOneDirectory(t *testing.T) {
	d, disk := NewDir(t.TempDir()), t.TempDir()
	for _, name := range []string{dataset, other} {
		if err := os.Symlink(disk, filepath.Join(d.Root(), header.Family+"-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	late, err := d.Create(header)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Abort()
	fill(t, late, header)
	foreign := header
	foreign.Dataset = other
	write(t, d, foreign)
	if _, err := late.Commit(); !errors.Is(err, ErrLink) {
		t.Errorf("Commit: %v", err)
	}
	if _, err := d.Create(header); !errors.Is(err, ErrLink) {
		t.Errorf("Create: %v", err)
	}
	if err := d.Verify(t.Context(), other, header.Shard); err != nil {
		t.Error(err)
	}
}

// A shard's file that is a link is read. It is not written through.
func TestLinkedFiles(t *testing.T) {
	for _, suffix := range []string{dataSuffix, manifestSuffix} {
		store, d := NewDir(t.TempDir()), NewDir(t.TempDir())
		write(t, store, header)
		base, err := store.base(dataset, header.Shard)
		if err != nil {
			t.Fatal(err)
		}
		write(t, d, header)
		link, err := d.base(dataset, header.Shard)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(link+suffix), os.Symlink(base+suffix, link+suffix)); err != nil {
			t.Fatal(err)
		}
		if err := d.Verify(t.Context(), dataset, header.Shard); err != nil {
			t.Error(err)
		}
		if _, err := d.Create(header); !errors.Is(err, ErrLink) || !strings.Contains(err.Error(), suffix) {
			t.Errorf("Create: %v", err)
		}
	}
}

// A file in the place of a data set's directory is named.
func TestFileForDirectory(t *testing.T) {
	d := NewDir(t.TempDir())
	if err := os.WriteFile(filepath.Join(d.Root(), header.Family+"-"+dataset), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, create := d.Create(header)
	_, list := d.List()
	for _, err := range []error{create, list} {
		if err == nil || !strings.Contains(err.Error(), "is not a directory") {
			t.Errorf("%v", err)
		}
	}
}
