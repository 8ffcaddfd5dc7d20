package depot

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/imports"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

// imported collects an import of five functions.
func imported(t *testing.T, into *shard.Dir) imports.Record {
	t.Helper()
	from := t.TempDir()
	if err := os.CopyFS(from, os.DirFS("../../imports/testdata/fields")); err != nil {
		t.Fatal(err)
	}
	f, err := family.ByName("vn1d")
	if err != nil {
		t.Fatal(err)
	}
	r, err := imports.Collect(t.Context(), into, "mine", from, imports.Spec{Family: f, Seed: 1, Samples: 64, HeldOutFirst: 8, HeldOut: 4})
	if err != nil || len(r.Accepted) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	return r.Accepted[0]
}

// whole checks an import in a directory.
func whole(t *testing.T, in *shard.Dir, want imports.Record) {
	t.Helper()
	im, err := imports.Open(in, want.Hash)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(im.Verify(t.Context()), im.Close()); err != nil {
		t.Error(err)
	}
	if list, err := imports.List(in, want.Name); err != nil || len(list) != 1 || list[0].Hash != want.Hash || list[0].Batch != want.Batch || list[0].File != want.File {
		t.Errorf("%+v, %v", list, err)
	}
}

// Imports go into a store and out of it, by name and by hash, once.
func TestImports(t *testing.T) {
	root := t.TempDir()
	s := &faulty{Store: storetest.NewDir(root)}
	d, from := New(s), dir(t)
	r := imported(t, from)
	for puts := range 3 { // each interrupted upload leaves nothing that is listed
		n := 0
		s.put = func(string) error {
			if n++; n > puts {
				return errors.New("killed")
			}
			return nil
		}
		if _, err := d.UploadImports(t.Context(), from, "mine"); err == nil {
			t.Error("the upload was not interrupted")
		}
		to := dir(t)
		if err := d.FetchNamed(t.Context(), to, "mine"); err != nil {
			t.Error(err)
		}
		if list, err := imports.List(to, "mine"); err != nil || len(list) != 0 {
			t.Errorf("%d puts: %v, %v", puts, list, err)
		}
	}
	s.put = nil
	s.get = func(_ int32, r io.ReadCloser) (io.ReadCloser, error) { return r, nil } // counts
	for _, want := range []int{1, 0} {
		if n, err := d.UploadImports(t.Context(), from, "mine"); err != nil || n != want {
			t.Errorf("%d imports copied, want %d, %v", n, want, err)
		}
	}
	if n, err := d.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 0 {
		t.Errorf("%d objects of imports are swept, %v", n, err)
	}
	byHash, byName := dir(t), dir(t)
	for range 2 {
		if err := d.FetchImports(t.Context(), byHash, r.Hash); err != nil {
			t.Fatal(err)
		}
		if err := d.FetchNamed(t.Context(), byName, "mine"); err != nil {
			t.Fatal(err)
		}
	}
	whole(t, byHash, r)
	whole(t, byName, r)
	if n := s.gets.Load(); n != 2 {
		t.Errorf("%d reads of functions, want 2", n)
	}
	if err := d.FetchImports(t.Context(), byHash, strings.Repeat("0", 32)); !errors.Is(err, imports.ErrMissing) {
		t.Error(err)
	}

	data := filepath.Join(root, "imports", r.Hash+dataSuffix)
	good, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	bad := slices.Clone(good)
	bad[len(bad)-1] ^= 1
	for what, content := range map[string][]byte{"another byte": bad, "cut": good[:len(good)-1]} {
		if err := os.WriteFile(data, content, 0o600); err != nil {
			t.Fatal(err)
		}
		to := dir(t)
		if err := d.FetchImports(t.Context(), to, r.Hash); err == nil || !strings.Contains(err.Error(), r.Hash) || !errors.Is(err, imports.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := imports.Open(to, r.Hash); !errors.Is(err, imports.ErrMissing) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, record := range []string{"imports/" + r.Hash + ".json", "imports/mine/" + r.Hash + ".json"} {
		if err := os.Remove(filepath.Join(root, record)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := d.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 1 {
		t.Errorf("%d objects of imports are swept, want the functions; %v", n, err)
	}
}
