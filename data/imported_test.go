package data

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/imports"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/internal/safetensors"
)

// importOf collects that many functions of d's family, those from number first on of another
// seed, with that many samples, and returns their import.
func importOf(t *testing.T, d Dataset, store *shard.Dir, first, count, samples int) imports.Record {
	t.Helper()
	f, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	const seed = 99
	values := make([][]float32, len(f.Fields()))
	for i := range count {
		function, err := f.Function(seed, first+i)
		if err != nil {
			t.Fatal(err)
		}
		for k := range values {
			values[k] = append(values[k], function.Fields[k]...)
		}
	}
	x := make([]float32, count*samples*f.Dim())
	spec := family.SampleSpec{First: first, Count: count, Seed: seed, Purpose: "import", Scheme: simulate.Scheme{DT: 0.01, BurnIn: 100, Thin: 1, Chains: samples}}
	if err := family.Sample(t.Context(), f, x, spec, simulate.Fastest(), nil); err != nil {
		t.Fatal(err)
	}
	tensors := []safetensors.Tensor{safetensors.Float32("samples", []int{count, samples, f.Dim()}, x)}
	for k, field := range f.Fields() {
		tensors = append(tensors, safetensors.Float32(field.Name, slices.Concat([]int{count}, field.Shape), values[k]))
	}
	nodes := map[string]int{"vn1d": 64, "rare1d": 256, "cn2d": 32}[f.Name()]
	b, err := safetensors.Encode(tensors, map[string]string{"grid": fmt.Sprintf(`{"lo": -5, "hi": 5, "nodes": %d}`, nodes)})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := imports.Collect(t.Context(), store, "mine", path, d.ImportSpec(f))
	if err != nil || len(r.Accepted) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	return r.Accepted[0]
}

// withImports is d with all imports of the store.
func withImports(t *testing.T, d Dataset, store *shard.Dir) (Dataset, []string) {
	t.Helper()
	f, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	list, err := imports.List(store, "mine")
	if err != nil {
		t.Fatal(err)
	}
	return d.WithImports(list, f)
}

// Each training function is one imported function or one that is generated, in the order of
// the imports; of too many the newest stay.
func TestImportedPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		d := Dataset{Functions: 1 + rng.IntN(20), Shards: 1, HeldOut: 1}
		type function struct {
			hash  string
			place int
		}
		var offered []function
		for n := range rng.IntN(5) {
			im := Import{fmt.Sprint(n), 1 + rng.IntN(8)}
			d.Imports = append(d.Imports, im)
			for i := range im.Functions {
				offered = append(offered, function{im.Hash, i})
			}
		}
		newest := offered[max(0, len(offered)-d.Functions):]
		if d.ImportedFunctions() != len(newest) || (d.importWarnings() == nil) != (len(newest) == len(offered)) {
			t.Fatalf("%+v: %d imported, warnings %q", d, d.ImportedFunctions(), d.importWarnings())
		}
		for i := range d.Functions {
			hash, place, ok := d.imported(i)
			if ok != (i < len(newest)) || ok && newest[i] != (function{hash, place}) {
				t.Fatalf("%+v: function %d is %d of %q, %v", d, i, place, hash, ok)
			}
		}
		if first, count := d.Generated(); count < 1 || first+count != d.Functions || first != len(newest)%d.Functions {
			t.Fatalf("%+v: %d generated from %d", d, count, first)
		}
	}
}

// Shards have the imported functions with their samples, thinned, and the others as without
// imports. The held-out shard has none, and is not made again.
func TestGenerateWithImports(t *testing.T) {
	for _, name := range []string{"vn1d", "rare1d", "cn2d"} {
		d, store := tiny(), shard.NewDir(t.TempDir())
		d.Family = name
		all(t, d, store)
		first := importOf(t, d, store, 0, 2, 128)
		second := importOf(t, d, store, 2, 4, 300)
		with, warnings := withImports(t, d, store)
		if _, err := with.Resolve(); err != nil || warnings != nil {
			t.Fatal(err, warnings)
		}
		if with.Imports[0] != (Import{first.Hash, 2}) || with.Imports[1] != (Import{second.Hash, 4}) {
			t.Fatalf("%+v", with.Imports)
		}
		if made := all(t, with, store); made != 0 {
			t.Errorf("%s: simulated %d functions that the store had", name, made)
		}
		var moments shard.Moments
		for k := range d.Shards + 1 {
			got, was := opened(t, store, with, k), opened(t, store, d, k)
			wantImported := []int{4, 2, 0, 0}[k]
			if m := got.Manifest(); m.Imported != wantImported || m.First != was.First() {
				t.Errorf("%s shard %d: %+v", name, k, m)
			}
			if (got.Manifest().Origin != nil) != (wantImported == 0) {
				t.Errorf("%s shard %d: origin %v", name, k, got.Manifest().Origin)
			}
			for i := range got.Manifest().Count {
				want, from := functions(was), i
				if at := k*4 + i; at < 6 && k < d.Shards {
					hash := first.Hash
					if from = at; at >= 2 {
						hash, from = second.Hash, at-2
					}
					im, err := imports.Open(store, hash)
					if err != nil {
						t.Fatal(err)
					}
					defer im.Close()
					want = im
				}
				for field := range got.Fields() {
					if !slices.Equal(got.Field(field, i), want.Field(field, from)) {
						t.Errorf("%s shard %d: field %d of function %d differs", name, k, field, i)
					}
				}
				x := want.Samples(from)
				dim := got.Manifest().Dim
				for n := range 128 {
					if at := n * (len(x) / dim) / 128; !slices.Equal(got.Samples(i)[n*dim:(n+1)*dim], x[at*dim:(at+1)*dim]) {
						t.Fatalf("%s shard %d: sample %d of function %d differs", name, k, n, i)
					}
				}
				if k < d.Shards {
					moments.Add(got.Field(0, i)...)
				}
			}
		}
		manifests, err := with.TrainingManifests(store)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := shard.Normalise(manifests); err != nil || n["drift"].Mean-moments.Mean() > 1e-9 || moments.Mean()-n["drift"].Mean > 1e-9 {
			t.Errorf("%s: normalisation %v, want the mean %g", name, n["drift"], moments.Mean())
		}
		// A later window takes generated functions from these shards, and never imported ones.
		window := d.Window(16, 12)
		if made := all(t, window, store); name != "rare1d" && made != 4 {
			t.Errorf("%s: the next window simulates %d functions", name, made)
		}
		equal(t, window, store)
		if err := os.RemoveAll(filepath.Join(store.Root(), name+"-"+d.Hash())); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(store.Root(), name+"-"+window.Hash())); err != nil {
			t.Fatal(err)
		}
		if made := all(t, d, store); name != "rare1d" && made != 6 {
			t.Errorf("%s: %d functions simulated beside shards with imports, want 6", name, made)
		}
		equal(t, d, store)
	}
}

// More imported functions than training functions leave the oldest out.
func TestTooManyImports(t *testing.T) {
	d, store := tiny(), shard.NewDir(t.TempDir())
	importOf(t, d, store, 0, 3, 128)
	importOf(t, d, store, 3, 8, 128)
	importOf(t, d, store, 11, 6, 128)
	with, warnings := withImports(t, d, store)
	if len(with.Imports) != 2 || len(warnings) != 2 || !strings.Contains(warnings[0], "is not used: newer ones have 14 functions") || !strings.Contains(warnings[1], "the 2 oldest imported ones are left out") {
		t.Errorf("%+v, %q", with.Imports, warnings)
	}
	if made := all(t, with, store); made != d.HeldOut {
		t.Errorf("simulated %d functions, want the held-out ones only", made)
	}
	f, err := with.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	list, err := imports.List(store, "mine")
	if err != nil {
		t.Fatal(err)
	}
	if twice, _ := d.WithImports(append(list[2:], list[2]), f); len(twice.Imports) != 1 {
		t.Errorf("one content, stored twice, is used twice: %+v", twice.Imports)
	}
	if got, err := with.PilotRun(t.Context(), f); err != nil || len(got) == 0 || !strings.Contains(got[0], "data.imports has 14 functions and data.functions is 12") {
		t.Errorf("%q, %v", got, err)
	}
}

// Imports that are missing, damaged, too short or held out fail the shards that need them, and
// no others, with one error.
func TestBadImports(t *testing.T) {
	d, store := tiny(), shard.NewDir(t.TempDir())
	r := importOf(t, d, store, 0, 2, 128)
	with, _ := withImports(t, d, store)
	f, err := with.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if err := with.CheckImports(t.Context(), f, store); err != nil {
		t.Error(err)
	}
	other := with
	other.Seed = 99 // of the imported functions
	other.HeldOutFrom, other.Functions, other.Shards = 1, 8, 8
	larger := with
	larger.Samples, larger.Training.Chains, larger.ReferenceSamples = 256, 128, 128
	missing := with
	missing.Imports = []Import{{"00112233445566778899aabbccddeeff", 2}}
	wrong := with
	wrong.Imports = []Import{{r.Hash, 3}}
	for want, d := range map[string]Dataset{
		"import 00112233445566778899aabbccddeeff in ":                                     missing,
		"import " + r.Hash + " has 2 functions, the data set says 3":                      wrong,
		"import " + r.Hash + ": it has 128 samples of every function, data.samples needs": larger,
		"is held-out function 1, on which models are judged":                              other,
	} {
		if _, err := d.Resolve(); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{Generate(t.Context(), d, 0, store, simulate.Fastest(), nil), d.CheckImports(t.Context(), f, store)} {
			if !errors.Is(err, ErrImports) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if err := Generate(t.Context(), d, d.Shards-1, store, simulate.Fastest(), nil); err != nil {
			t.Errorf("a shard without imports: %v", err)
		}
	}
	path := filepath.Join(store.Root(), "imports", "mine", r.Hash+".safetensors")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-100] ^= 4
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Generate(t.Context(), with, 0, store, simulate.Fastest(), nil); !errors.Is(err, ErrImports) || !strings.Contains(err.Error(), r.Hash) {
		t.Errorf("damaged: %v", err)
	}
}

func TestValidateImports(t *testing.T) {
	const hash = "00112233445566778899aabbccddeeff"
	for want, change := range map[string]func(*Dataset){
		"data.imports[0].hash: import \"x\"":                         func(d *Dataset) { d.Imports = []Import{{"x", 1}} },
		"data.imports[1].hash is " + hash + ": it is there twice":    func(d *Dataset) { d.Imports = []Import{{hash, 1}, {hash, 1}} },
		"data.imports[0].functions is 0":                             func(d *Dataset) { d.Imports = []Import{{hash, 0}} },
		"data.imports has 1025 entries":                              func(d *Dataset) { d.Imports = make([]Import, 1025) },
		"data.imports: samples cannot be imported for particles64d:": func(d *Dataset) { d.Family, d.Imports = "particles64d", []Import{{hash, 1}} },
	} {
		d := tiny()
		change(&d)
		if _, err := d.Resolve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	d := tiny()
	d.Imports = []Import{{hash, 2}}
	if _, err := d.Resolve(); err != nil || d.Hash() == tiny().Hash() {
		t.Errorf("hash %s, error %v", d.Hash(), err)
	}
}
