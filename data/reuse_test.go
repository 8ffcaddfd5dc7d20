package data

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// named is a simulator of another name, such as a device.
type named struct {
	*recorder
	name string
}

func (n named) String() string { return n.name }

// all generates a data set and returns how many functions were simulated.
func all(t *testing.T, d Dataset, store *shard.Dir) (simulated int) {
	t.Helper()
	by := &recorder{Engine: simulate.Fastest()}
	for k := range d.Shards + 1 {
		if err := Generate(t.Context(), d, k, store, by, nil); err != nil {
			t.Fatal(err)
		}
	}
	return by.functions()
}

func (r *recorder) functions() (n int) {
	for _, b := range r.asked {
		n += b.Count
	}
	return n
}

// equal compares all values of a data set with those of a store that had nothing before, and
// verifies the files.
func equal(t *testing.T, d Dataset, store *shard.Dir) {
	t.Helper()
	fresh := shard.NewDir(t.TempDir())
	all(t, d, fresh)
	for k := range d.Shards + 1 {
		if err := store.Verify(t.Context(), d.Hash(), k); err != nil {
			t.Error(err)
		}
		got, want := opened(t, store, d, k), opened(t, fresh, d, k)
		if got.First() != want.First() || got.Manifest().Recipe != want.Manifest().Recipe {
			t.Errorf("shard %d: %+v, want %+v", k, got.Manifest(), want.Manifest())
		}
		for i := range want.Manifest().Count {
			for field := range want.Fields() {
				if !slices.Equal(got.Field(field, i), want.Field(field, i)) {
					t.Errorf("shard %d: field %d of function %d differs", k, field, i)
				}
			}
			if !slices.Equal(got.Samples(i), want.Samples(i)) {
				t.Errorf("shard %d: samples of function %d differ", k, i)
			}
		}
		if got, want := got.Manifest(), want.Manifest(); got.Moments["drift"] != want.Moments["drift"] || !slices.Equal(got.States, want.States) {
			t.Errorf("shard %d: other moments", k)
		}
	}
}

// A window makes its new functions only, and equals one that is made from nothing. Its whole
// old shards are links.
func TestWindowReusesShards(t *testing.T) {
	for _, family := range []string{"vn1d", "rare1d", "cn2d"} {
		d, store := tiny(), shard.NewDir(t.TempDir())
		d.Family = family
		all(t, d, store)
		for total := 16; total <= 28; total += 4 {
			w := d.Window(total, 12)
			if made := all(t, w, store); family != "rare1d" && made != 4 {
				t.Errorf("%s: the window of %d functions simulates %d", family, total, made)
			}
			equal(t, w, store)
			m, err := store.Manifest(w.Hash(), 0)
			if err != nil || m.Origin == nil {
				t.Fatalf("%s: shard 0 is not linked: %+v, %v", family, m, err)
			}
		}
	}
	// The shard of the first window is the file of the second shard of the data set.
	d, store := tiny(), shard.NewDir(t.TempDir())
	all(t, d, store)
	w := d.Window(16, 12)
	all(t, w, store)
	was, err := os.Stat(filepath.Join(store.Root(), "vn1d-"+d.Hash(), "shard-00001.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	is, err := os.Stat(filepath.Join(store.Root(), "vn1d-"+w.Hash(), "shard-00000.of-"+d.Hash()[:12]+"-00001.safetensors"))
	if err != nil || !os.SameFile(was, is) {
		t.Errorf("the shard was copied (%v)", err)
	}
}

// Links do not depend on the data set that they come from.
func TestLinksOutliveTheirOrigin(t *testing.T) {
	d, store := tiny(), shard.NewDir(t.TempDir())
	all(t, d, store)
	second, third := d.Window(16, 12), d.Window(20, 12)
	all(t, second, store)
	if err := os.RemoveAll(filepath.Join(store.Root(), "vn1d-"+d.Hash())); err != nil {
		t.Fatal(err)
	}
	if made := all(t, third, store); made != 4 {
		t.Errorf("simulated %d functions, want 4", made)
	}
	if err := os.RemoveAll(filepath.Join(store.Root(), "vn1d-"+second.Hash())); err != nil {
		t.Fatal(err)
	}
	equal(t, third, store)
}

// Shards with other boundaries are put together of old functions and new ones. They are the
// very files that an empty store gets.
func TestWindowCopiesFunctions(t *testing.T) {
	d, store := tiny(), shard.NewDir(t.TempDir())
	d.HeldOutFrom = 100
	all(t, d, store)
	w := d.Window(15, 12)
	if made := all(t, w, store); made != 3 {
		t.Errorf("simulated %d functions, want 3", made)
	}
	equal(t, w, store)
	larger := d.Window(24, 24)
	larger.Shards = 4
	if made := all(t, larger, store); made != 9 {
		t.Errorf("simulated %d functions, want 9", made)
	}
	equal(t, larger, store)
	fresh := shard.NewDir(t.TempDir())
	all(t, larger, fresh)
	for k := range larger.Shards {
		got, err := store.Manifest(larger.Hash(), k)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := fresh.Manifest(larger.Hash(), k); err != nil || got.SHA256 != want.SHA256 {
			t.Errorf("shard %d is another file (%v)", k, err)
		}
	}
}

// Other functions are not taken for the same: those of another scheme, seed or simulator, and
// those of a damaged shard.
func TestReuseOfOtherFunctions(t *testing.T) {
	for name, change := range map[string]func(*Dataset){
		"seed":    func(d *Dataset) { d.Seed++ },
		"scheme":  func(d *Dataset) { d.Training.BurnIn++ },
		"samples": func(d *Dataset) { d.Samples *= 2; d.ReferenceSamples = 128 },
		"draws":   func(d *Dataset) { d.Draws = Exact },
	} {
		d, store := tiny(), shard.NewDir(t.TempDir())
		other := d
		change(&other)
		all(t, other, store)
		generate(t, d, 1, store)
		if m, err := store.Manifest(d.Hash(), 1); err != nil || m.Origin != nil {
			t.Errorf("%s: took a shard of another one: %+v, %v", name, m, err)
		}
	}

	d, store := tiny(), shard.NewDir(t.TempDir())
	all(t, d, store)
	w := d.Window(16, 12)
	device := named{&recorder{Engine: simulate.Fastest()}, "device xla:cuda"}
	if err := Generate(t.Context(), w, 0, store, device, nil); err != nil || device.functions() != 4 {
		t.Errorf("a device simulated %d functions, error %v", device.functions(), err)
	}
	path := filepath.Join(store.Root(), "vn1d-"+d.Hash(), "shard-00002.safetensors")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if made := all(t, w, store); made != 8 {
		t.Errorf("simulated %d functions beside a damaged shard, want 8", made)
	}
}

// Shards of older builds do not say their recipe; it is known of the data set that has grown.
func TestReuseOfOlderShards(t *testing.T) {
	d, store := tiny(), shard.NewDir(t.TempDir())
	all(t, d, store)
	for k := range d.Shards + 1 {
		path := filepath.Join(store.Root(), "vn1d-"+d.Hash(), "shard-0000"+string(rune('0'+k))+".json")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(b, &m); err != nil || m["recipe"] == nil {
			t.Fatal(m, err)
		}
		delete(m, "recipe")
		if b, err = json.Marshal(m); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := d.Window(16, 12)
	if made := all(t, w, store); made != 4 {
		t.Errorf("simulated %d functions, want 4", made)
	}
	equal(t, w, store)
	larger := d.Window(24, 24)
	larger.Shards = 6
	if made := all(t, larger, store); made != 8 {
		t.Errorf("simulated %d functions, want 8", made)
	}
	equal(t, larger, store)
}

// Where the file system cannot link, shards are copied.
func TestReuseAcrossDisks(t *testing.T) {
	elsewhere := fmt.Sprintf("/dev/shm/ergoflow-test-%d", os.Getpid())
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Skip("no second file system to copy to: ", err)
	}
	t.Cleanup(func() { os.RemoveAll(elsewhere) })
	d, store := tiny(), shard.NewDir(t.TempDir())
	if err := os.Link(os.Args[0], filepath.Join(elsewhere, "test")); err == nil || !strings.Contains(err.Error(), "cross-device") {
		t.Skip("/dev/shm is no other file system: ", err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(store.Root(), "vn1d-"+d.Hash())); err != nil {
		t.Fatal(err)
	}
	all(t, d, store)
	w := d.Window(16, 12)
	if made := all(t, w, store); made != 4 {
		t.Errorf("simulated %d functions, want 4", made)
	}
	if m, err := store.Manifest(w.Hash(), 0); err != nil || m.Origin != nil {
		t.Errorf("%+v, %v", m, err)
	}
	equal(t, w, store)
}

// What a killed or damaged writer left in the place of a link does not stay.
func TestLinkReplacesWhatIsThere(t *testing.T) {
	d, store := tiny(), shard.NewDir(t.TempDir())
	all(t, d, store)
	w := d.Window(16, 12)
	dir := filepath.Join(store.Root(), "vn1d-"+w.Hash())
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shard-00000.of-"+d.Hash()[:12]+"-00001.safetensors"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(store.Root(), "vn1d-"+d.Hash(), "shard-00002.safetensors"),
		filepath.Join(dir, "shard-00001.of-"+d.Hash()[:12]+"-00002.safetensors")); err != nil {
		t.Fatal(err)
	}
	if made := all(t, w, store); made != 4 {
		t.Errorf("simulated %d functions, want 4", made)
	}
	equal(t, w, store)
}
