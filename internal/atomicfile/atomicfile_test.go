package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

func content(t *testing.T, path, want string) {
	t.Helper()
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("%s has %q, %v; want %q", path, b, err, want)
	}
}

func entries(t *testing.T, dir string, want int) {
	t.Helper()
	if e, err := os.ReadDir(dir); err != nil || len(e) != want {
		t.Errorf("%s has %v, %v; want %d entries", dir, e, err, want)
	}
}

// A file is as it was until Commit, and after Abort.
func TestCommitAndAbort(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		end  func(*File) error
		want string
	}{{(*File).Abort, "old"}, {(*File).Commit, "new"}} {
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte("new")); err != nil {
			t.Error(err)
		}
		content(t, path, "old")
		if err := test.end(f); err != nil {
			t.Error(err)
		}
		content(t, path, test.want)
		if err := f.Abort(); err != nil {
			t.Errorf("Abort afterwards: %v", err)
		}
		content(t, path, test.want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("replaced, it has mode %v, %v", info.Mode(), err)
	}
	entries(t, dir, 1)
}

// What Writable accepts Write writes; what it refuses is as it was.
func TestWritable(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{old, filepath.Join(dir, "new")} {
		if err := Writable(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"", dir, os.DevNull, filepath.Join(dir, "none", "x"), filepath.Join(old, "x")} {
		if Writable(path) == nil || Write(path, []byte("new")) == nil {
			t.Errorf("%q can be written", path)
		}
	}
	content(t, old, "old")
	entries(t, dir, 1)
	if err := Write(old, []byte("new")); err != nil {
		t.Error(err)
	}
	content(t, old, "new")
}

// A secret is readable by its user alone, also where a file that all can read was there.
func TestWritePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"new", "newer"} {
		if err := WritePrivate(path, []byte(want)); err != nil {
			t.Fatal(err)
		}
		content(t, path, want)
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("it has mode %v, %v", info.Mode(), err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// A symbolic link stays, and what it leads to is replaced; what is no file is not.
// Errors are about the file that was asked for.
func TestErrorsNameNoTemporaryFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "x")
	want := "write " + path + ": no such file or directory"
	for _, err := range []error{Write(path, nil), Writable(path)} {
		if !errors.Is(err, os.ErrNotExist) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestLinks(t *testing.T) {
	dir := t.TempDir()
	far := filepath.Join(dir, "far")
	if err := os.Mkdir(far, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(far, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(far, "x")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		link, to string
		good     bool
	}{
		{"link", "far/x", true},
		{"chain", "link", true},
		{"pipe", "far/fifo", false},
		{"directory", "far", false},
		{"dangling", "nothing", false},
	} {
		link := filepath.Join(dir, test.link)
		if err := os.Symlink(test.to, link); err != nil {
			t.Fatal(err)
		}
		if err := Writable(link); (err == nil) != test.good {
			t.Errorf("%s: writable: %v", test.link, err)
		}
		if err := Write(link, []byte(test.link)); (err == nil) != test.good {
			t.Errorf("%s: write: %v", test.link, err)
		}
		if to, err := os.Readlink(link); err != nil || to != test.to {
			t.Errorf("%s leads to %q, %v", test.link, to, err)
		}
	}
	content(t, file, "chain")
	entries(t, far, 2)
}

// A file that others put and remove meanwhile is never taken for a link.
func TestCreateBesideOtherWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var others sync.WaitGroup
	ended := make(chan struct{})
	others.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
			}
			if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Remove(path)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 1000 {
		f, err := Create(path)
		if err != nil {
			t.Error(err)
			break
		}
		if err := f.Abort(); err != nil {
			t.Error(err)
			break
		}
	}
	close(ended)
	others.Wait()
}
