package imports

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/npy"
	"github.com/ergoflow/ergoflow/internal/safetensors"
)

// doubles replaces the samples of two functions by float64.
func (f *file) doubles(values func(i int) float64) {
	n := f.shapes[2][0] * f.shapes[2][1]
	all := make([]float64, n)
	for i := range all {
		all[i] = values(i)
	}
	f.samples = nil
	f.tensors = append(f.tensors, safetensors.Float64("samples", f.shapes[2], all))
}

// Every bad file is moved aside with its reason beside it, and the good one goes on.
func TestRefuses(t *testing.T) {
	nan := float32(math.NaN())
	for want, spoil := range map[string]func(f *file){
		"samples of function 1 is NaN at index 3":      func(f *file) { f.samples[32+3] = nan },
		"samples of function 0 is +Inf at index 0":     func(f *file) { f.samples[0] = float32(math.Inf(1)) },
		"drift of function 2 is NaN at index 5":        func(f *file) { f.drift[2*64+5] = nan },
		"diffusion 0 at x = -5 is not positive":        func(f *file) { f.diffusion[0] = 0 },
		"diffusion -1 at x = -5 is not positive":       func(f *file) { f.diffusion[0] = -1 },
		"all samples of function 1 are 0.5 along axis": func(f *file) { copy(f.samples[32:], slices.Repeat([]float32{0.5}, 32)) },
		"functions 0 and 2 have the same equation": func(f *file) {
			copy(f.drift[128:], f.drift[:64])
			copy(f.diffusion[128:], f.diffusion[:64])
		},
		"drift has shape [3 32]: must be [3 64]":                               func(f *file) { f.drift, f.shapes[0] = f.drift[:96], []int{3, 32} },
		"diffusion has shape [2 64]: must be [3 64]":                           func(f *file) { f.diffusion, f.shapes[1] = f.diffusion[:128], []int{2, 64} },
		"drift has shape [3 64]: must be [1 64]":                               func(f *file) { f.shapes[2] = []int{96} },
		"samples has shape [3 16 2]: must be [3 16 1]":                         func(f *file) { f.shapes[2] = []int{3, 16, 2} },
		"samples has shape [3 4 4 2]: must be":                                 func(f *file) { f.shapes[2] = []int{3, 4, 4, 2} },
		"0 functions with 32 samples each":                                     func(f *file) { f.samples, f.shapes[2] = []float32{}, []int{0, 32, 1} },
		"16 samples of every function: data.samples needs ":                    func(f *file) { f.samples, f.shapes[2] = f.samples[:48], []int{3, 16, 1} },
		`there is no tensor "samples"`:                                         func(f *file) { f.samples = nil },
		`there are no equations: neither formulas nor a tensor "drift" [3 64]`: func(f *file) { f.drift = nil },
		"it does not say the grid of its fields":                               func(f *file) { f.metadata = nil },
		"its grid has 64 nodes on [-4, 4], that of vn1d has 64 on [-5, 5]": func(f *file) {
			f.metadata = map[string]string{"grid": `{"lo": -4, "hi": 4, "nodes": 64}`}
		},
		"its grid has 65 nodes":                                func(f *file) { f.metadata = map[string]string{"grid": `{"lo": -5, "hi": 5, "nodes": 65}`} },
		`metadata "grid": JSON`:                                func(f *file) { f.metadata = map[string]string{"grid": `{"lo": -5, "hi": 5, "nodes": 64, "step": 1}`} },
		`it is of the family "cn2d", the experiment's is vn1d`: func(f *file) { f.metadata["family"] = "cn2d" },
		"it has formulas and fields":                           func(f *file) { f.metadata["equations"] = `[]` },
		"2 equations for the samples of 3 functions": func(f *file) {
			f.drift, f.diffusion = nil, nil
			f.metadata["equations"] = `[{"drift": "-x", "diffusion": 1}, {"drift": "-2*x", "diffusion": 1}]`
		},
		"equation of function 1: drift: ": func(f *file) {
			f.drift, f.diffusion = nil, nil
			f.metadata["equations"] = `[{"drift": "-x", "diffusion": 1}, {"drift": "-2*y", "diffusion": 1}, {"drift": "-3*x", "diffusion": 1}]`
		},
		"equation of function 0: 2 formulas of the drift and 1": func(f *file) {
			f.drift, f.diffusion = nil, nil
			f.metadata["equations"] = `[{"drift": ["-x", "-y"], "diffusion": 1}, {"drift": "-x", "diffusion": 1}, {"drift": "-x", "diffusion": 1}]`
		},
		"equation of function 2: diffusion 0 at x": func(f *file) {
			f.drift, f.diffusion = nil, nil
			f.metadata["equations"] = `[{"drift": "-x", "diffusion": 1}, {"drift": "-x", "diffusion": 2}, {"drift": "-x", "diffusion": "0"}]`
		},
		`tensor "force": functions of vn1d have drift, diffusion and samples`: func(f *file) {
			f.tensors = append(f.tensors, safetensors.Float32("force", []int{1}, []float32{1}))
		},
		"samples has the type I64: must be float16, float32 or float64": func(f *file) {
			f.samples = nil
			f.tensors = append(f.tensors, safetensors.Int64("samples", f.shapes[2], make([]int64, 96)))
		},
		"samples of function 0 is 1e+300 at index 0, which float32 does not hold": func(f *file) { f.doubles(func(int) float64 { return 1e300 }) },
		"samples of function 0 is 1e-300 at index 1, which float32 does not hold": func(f *file) { f.doubles(func(i int) float64 { return float64(i) * 1e-300 }) },
		"samples of function 0 are far from 0 beside their deviation":             func(f *file) { f.doubles(func(i int) float64 { return 1e5 + 0.1*math.Sin(float64(i)) }) },
	} {
		dir, store := t.TempDir(), shard.NewDir(t.TempDir())
		bad := ou(1, 3, 32)
		spoil(bad)
		bad.write(t, filepath.Join(dir, "bad.safetensors"))
		ou(2, 3, 32).write(t, filepath.Join(dir, "good.safetensors"))
		refused(t, store, dir, "bad.safetensors", want)
	}
	// Files that are no safetensors files.
	good := ou(1, 3, 32).encode(t)
	huge := slices.Clone(good)
	binary.LittleEndian.PutUint64(huge, 1<<40)
	for want, content := range map[string][]byte{
		"too few":                   good[:5],
		"is longer than 100000000":  huge,
		"the file is truncated":     good[:len(good)-4],
		"belong to no tensor":       append(slices.Clone(good), 0),
		"this is a Git LFS pointer": []byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
		"the header is no JSON":     append(binary.LittleEndian.AppendUint64(nil, 4), "nope"...),
		"shape [4294967296 4294967296 4294967296] of F32 overflows": func() []byte {
			header := `{"samples":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,4]}}`
			return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), 0, 0, 0, 0)
		}(),
	} {
		dir, store := t.TempDir(), shard.NewDir(t.TempDir())
		put(t, filepath.Join(dir, "bad.safetensors"), content)
		ou(2, 3, 32).write(t, filepath.Join(dir, "good.safetensors"))
		refused(t, store, dir, "bad.safetensors", want)
	}
}

// So are arrays of numpy, with all that belongs to them.
func TestRefusesArrays(t *testing.T) {
	samples := npy.Array[float32]{Shape: []int{1, 32}, Data: ou(1, 1, 32).samples}
	for want, beside := range map[string]map[string]string{
		"there are no equations":                              {},
		"bad.json: JSON: json: unknown field \"equation\"":    {"bad.json": `{"equation": []}`},
		"bad.json: JSON: something follows":                   {"bad.json": `{} {}`},
		"bad.yaml: YAML: [1:1] unknown field \"equation\"":    {"bad.yaml": "equation: []"},
		"64.5 is not a whole number":                          {"bad.yaml": "grid: {lo: -5, hi: 5, nodes: 64.5}"},
		"bad.yaml: YAML: 2 documents":                         {"bad.yaml": "family: vn1d\n---\nfamily: vn1d"},
		"bad.json and bad.yaml both describe it":              {"bad.yaml": "{}", "bad.json": "{}"},
		"0 equations for the samples of 1 functions":          {"bad.json": `{"equations": []}`},
		"diffusion: not an .npy file of numbers":              {"bad.drift.npy": "nope", "bad.diffusion.npy": "nope"},
		"1 of the diffusion: must be one of each on the line": {"bad.json": `{"equations": [{"diffusion": 1}]}`},
		"is no formula: must be a text":                       {"bad.json": `{"equations": [{"drift": {}, "diffusion": 1}]}`},
		"its elements are in Fortran order":                   {"bad.json": `{"equations": [{"drift": "-x", "diffusion": 1}]}`, "bad.npy": "\x93NUMPY\x01\x00\x3b\x00{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }\n\x00\x00\x00\x00\x00\x00\x00\x00"},
		"bad.npy has the same name: rename one of them":       {"bad.safetensors": "x"},
		"samples: not an .npy file of numbers: header of":     {"bad.npy": "\x93NUMPY\x01\x00\xff\x00"},
	} {
		dir, store := t.TempDir(), shard.NewDir(t.TempDir())
		if err := npy.Write(t.Context(), filepath.Join(dir, "bad.npy"), samples); err != nil {
			t.Fatal(err)
		}
		for name, content := range beside {
			put(t, filepath.Join(dir, name), []byte(content))
		}
		ou(2, 3, 32).write(t, filepath.Join(dir, "good.safetensors"))
		if beside["bad.safetensors"] != "" {
			put(t, filepath.Join(dir, "bad.json"), []byte(`{"equations": [{"drift": "-x", "diffusion": 1}]}`))
			spec := specOf(t, "vn1d", 32)
			if r := collect(t, store, dir, spec); len(r.Rejected) != 1 || !strings.Contains(r.Rejected[0].Reason, want) || len(r.Accepted) != 2 {
				t.Errorf("%s: %+v", want, r)
			}
			continue
		}
		refused(t, store, dir, "bad.npy", want)
		for name := range beside {
			if _, err := os.Stat(filepath.Join(dir, "rejected", name)); err != nil {
				t.Errorf("%s: %v", want, err)
			}
		}
	}
}

// refused collects a directory with one bad file and one good one.
func refused(t *testing.T, store *shard.Dir, dir, name, want string) {
	t.Helper()
	r := collect(t, store, dir, specOf(t, "vn1d", 32))
	if len(r.Rejected) != 1 || r.Rejected[0].File != name || !strings.Contains(r.Rejected[0].Reason, want) {
		t.Errorf("rejected %+v, want %q", r.Rejected, want)
		return
	}
	if len(r.Accepted) != 1 || r.Accepted[0].File != "good.safetensors" {
		t.Errorf("%s: accepted %+v", want, r.Accepted)
	}
	moved := filepath.Join(dir, "rejected", name)
	if _, err := os.Stat(filepath.Join(dir, name)); r.Rejected[0].Moved != moved || err == nil {
		t.Errorf("%s: moved to %q", want, r.Rejected[0].Moved)
	}
	if reason, err := os.ReadFile(moved + ".reason.txt"); err != nil || string(reason) != r.Rejected[0].Reason+"\n" {
		t.Errorf("%s: the reason is %q, %v", want, reason, err)
	}
	if r := collect(t, store, dir, specOf(t, "vn1d", 32)); len(r.Rejected)+len(r.Accepted)+len(r.Waiting) > 0 || len(r.Known) != 1 {
		t.Errorf("%s: the second time %+v", want, r)
	}
}

// A file that is rejected again keeps the earlier one; a file that is named stays.
func TestRejectedAgain(t *testing.T) {
	dir, store := t.TempDir(), shard.NewDir(t.TempDir())
	path := filepath.Join(dir, "bad.safetensors")
	for _, moved := range []string{"bad.safetensors", "bad.safetensors.2", "bad.safetensors.3"} {
		put(t, path, []byte(moved))
		r := collect(t, store, dir, specOf(t, "vn1d", 32))
		if len(r.Rejected) != 1 || filepath.Base(r.Rejected[0].Moved) != moved {
			t.Fatalf("%+v, want %s", r, moved)
		}
		if b, err := os.ReadFile(r.Rejected[0].Moved); err != nil || string(b) != moved {
			t.Errorf("%s, %v", b, err)
		}
	}
	put(t, path, []byte("x"))
	if r := collect(t, store, path, specOf(t, "vn1d", 32)); len(r.Rejected) != 1 || r.Rejected[0].Moved != "" {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// Equations of held-out functions would leak: they are refused, as fields with the rounding of
// another computation too. Equations that are a little different are other equations.
func TestRefusesHeldOutEquations(t *testing.T) {
	spec := specOf(t, "vn1d", 32)
	held, err := spec.Family.Function(spec.Seed, 10)
	if err != nil {
		t.Fatal(err)
	}
	for change, refusedIt := range map[float64]bool{0: true, 1e-7: true, 1e-3: false} {
		f := ou(1, 3, 32)
		for j := range 64 {
			f.drift[64+j] = held.Fields[0][j] * float32(1+change)
			f.diffusion[64+j] = held.Fields[1][j]
		}
		path := filepath.Join(t.TempDir(), "x.safetensors")
		f.write(t, path)
		r := collect(t, shard.NewDir(t.TempDir()), path, spec)
		if (len(r.Rejected) == 1) != refusedIt || refusedIt && !strings.Contains(r.Rejected[0].Reason, "function 1 is held-out function 10 of vn1d") {
			t.Errorf("changed by %g: %+v", change, r)
		}
	}
	plane := specOf(t, "cn2d", 32)
	if held, err = plane.Family.Function(plane.Seed, 8); err != nil {
		t.Fatal(err)
	}
	samples := make([]float32, 64)
	for i := range samples {
		samples[i] = float32(math.Sin(float64(i)))
	}
	b, err := safetensors.Encode([]safetensors.Tensor{
		safetensors.Float32("drift", []int{1, 32, 32, 2}, held.Fields[0]), safetensors.Float32("samples", []int{1, 32, 2}, samples),
	}, map[string]string{"grid": `{"lo": -5, "hi": 5, "nodes": 32}`})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	put(t, path, b)
	if r := collect(t, shard.NewDir(t.TempDir()), path, plane); len(r.Rejected) != 1 || !strings.Contains(r.Rejected[0].Reason, "is held-out function 8") {
		t.Errorf("%+v", r)
	}
}

// An equation is imported once, whatever its samples.
func TestRefusesEquationsOfEarlierImports(t *testing.T) {
	dir, store := t.TempDir(), shard.NewDir(t.TempDir())
	first := ou(1, 3, 32)
	first.write(t, filepath.Join(dir, "a.safetensors"))
	hash := one(t, collect(t, store, dir, specOf(t, "vn1d", 32))).Hash
	second := ou(2, 3, 32)
	copy(second.drift[64:], first.drift[128:])
	copy(second.diffusion[64:], first.diffusion[128:])
	second.write(t, filepath.Join(dir, "b.safetensors"))
	r := collect(t, store, dir, specOf(t, "vn1d", 32))
	if len(r.Rejected) != 1 || r.Rejected[0].Reason != "function 1 has an equation that import "+hash[:12]+" has already" {
		t.Errorf("%+v", r)
	}
	// In one collection the name decides.
	both := t.TempDir()
	second.write(t, filepath.Join(both, "a.safetensors"))
	first.write(t, filepath.Join(both, "b.safetensors"))
	if r := collect(t, shard.NewDir(t.TempDir()), both, specOf(t, "vn1d", 32)); len(r.Accepted) != 1 || r.Accepted[0].File != "a.safetensors" || len(r.Rejected) != 1 {
		t.Errorf("%+v", r)
	}
}
