package registry

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// Damage of any file is an error that names it, never a panic or other weights.
func TestDamage(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(t *testing.T, r *Registry, v Version)
		loads  bool
		says   string
	}{
		"weights changed": {func(t *testing.T, r *Registry, v Version) { flip(t, r.weightsPath(v.Weights), 2000) }, false, "is not what its name says"},
		"weights cut":     {func(t *testing.T, r *Registry, v Version) { cut(t, r.weightsPath(v.Weights)) }, false, "is not what its name says"},
		"weights gone": {func(t *testing.T, r *Registry, v Version) {
			if err := os.Remove(r.weightsPath(v.Weights)); err != nil {
				t.Fatal(err)
			}
		}, false, "no such file"},
		"database cut":   {func(t *testing.T, r *Registry, _ Version) { cut(t, databasePath(r.dir)) }, false, "it was cut off"},
		"database empty": {func(t *testing.T, r *Registry, _ Version) { empty(t, databasePath(r.dir)) }, false, "it is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, t.TempDir())
			v := add(t, r, "vn1d", 1)
			test.damage(t, r, v)
			_, err := r.Verify(t.Context())
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("verify: %v", err)
			}
			got, err := r.Get(t.Context(), "vn1d@1")
			if err == nil {
				_, err = r.Load(t.Context(), got)
			}
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("load: %v", err)
			}
			if err := r.Promote(t.Context(), Promotion{Model: "vn1d", Number: 1}); !errors.Is(err, ErrCorrupt) && name != "weights changed" {
				t.Errorf("promote: %v", err)
			}
			if strings.HasPrefix(name, "weights") { // the same version, added again, mends them
				other := example("vn1d", 1)
				other.Key = "other"
				if _, err := r.Add(t.Context(), other, weights(t, 1)); err != nil {
					t.Error(err)
				}
				verified(t, r)
			}
		})
	}
}

// A fencing number of the lock that was never given out is damage, and the error says both.
func TestFenceBeyondTheLast(t *testing.T) {
	r := open(t, t.TempDir())
	add(t, r, "vn1d", 1)
	if err := r.update(t.Context(), "", func(models *bbolt.Bucket) error {
		s, err := find(models, "vn1d")
		if err != nil {
			return err
		}
		return s.put(nil, keyLock, lock{Fence: 7})
	}); err != nil {
		t.Fatal(err)
	}
	_, err := r.Verify(t.Context())
	if !errors.Is(err, ErrCorrupt) || !strings.HasSuffix(err.Error(), "model vn1d: its lock has the fencing number 7, and the last is 0") {
		t.Errorf("%v", err)
	}
}

// A damaged meta record is a warning that stays, though the next change overwrites the record.
func TestWarningStays(t *testing.T) {
	for page := range 2 {
		r := open(t, t.TempDir())
		add(t, r, "vn1d", 1)
		flip(t, databasePath(r.dir), page*os.Getpagesize()+32)
		for range 2 {
			if err := r.Pin(t.Context(), "vn1d", 1, true); err != nil {
				// the newest change, the version itself, was in the damaged record
				if _, err := r.Add(t.Context(), example("vn1d", 1), weights(t, 1)); err != nil {
					t.Fatal(err)
				}
			}
		}
		verified(t, r)
		if w := r.Warnings(); len(w) != 1 || !strings.Contains(w[0], "meta records is damaged") {
			t.Errorf("page %d: warnings %q", page, w)
		}
		if w := open(t, r.dir); verified(t, w).Versions != 1 || w.Warnings() != nil {
			t.Errorf("page %d: warnings %q of a registry that is whole again", page, w.Warnings())
		}
	}
}

// Every changed byte of the database is found, or changes nothing that is shown.
func TestFlippedBytes(t *testing.T) {
	r := open(t, t.TempDir())
	add(t, r, "vn1d", 1)
	if err := r.Promote(t.Context(), Promotion{Model: "vn1d", Number: 1}); err != nil {
		t.Fatal(err)
	}
	whole, err := r.Get(t.Context(), "vn1d")
	if err != nil {
		t.Fatal(err)
	}
	path := databasePath(r.dir)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	step := 31
	if testing.Short() {
		step = 311
	}
	found := 0
	for at := 0; at < min(len(content), 1<<16); at += step {
		if content[at] == 0 && at%(8*step) != 0 {
			continue // mostly unused
		}
		damaged := append([]byte(nil), content...)
		damaged[at] ^= 0x11
		if err := os.WriteFile(path, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		r := open(t, r.dir) // without the warnings of other bytes
		_, bad := r.Verify(ctx)
		v, err := r.Get(ctx, "vn1d")
		cancel()
		if bad != nil || err != nil || len(r.Warnings()) > 0 {
			found++
		} else if v.Ref() != whole.Ref() || v.Weights != whole.Weights || string(v.Config) != string(whole.Config) || v.Metrics["w2"] != whole.Metrics["w2"] {
			t.Errorf("byte %d: %+v", at, v)
		}
	}
	if found == 0 {
		t.Error("nothing was found")
	}
	t.Logf("%d changes were found", found)
}

func flip(t *testing.T, path string, at int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[at] ^= 1
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func cut(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, min(info.Size()/4, 10000)); err != nil { // of the database, most is room to grow
		t.Fatal(err)
	}
}

func empty(t *testing.T, path string) {
	t.Helper()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
}
