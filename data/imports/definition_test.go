package imports

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/npy"
)

// defined is for a family of formulas.
func defined(t *testing.T, definition string) Spec {
	t.Helper()
	d, err := family.Parse([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.Family()
	if err != nil {
		t.Fatal(err)
	}
	return Spec{Family: f, Seed: 1, Samples: 4, HeldOutFirst: 8, HeldOut: 4}
}

// described is a directory with samples and what describes them.
func described(t *testing.T, description string, samples npy.Array[float64]) string {
	t.Helper()
	dir := t.TempDir()
	if err := npy.Write(t.Context(), filepath.Join(dir, "x.npy"), samples); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "x.json"), []byte(description))
	return dir
}

// Samples of a family that lives on a domain are in it.
func TestDomain(t *testing.T) {
	spec := defined(t, `{name: logistic, dim: 1, grid: {lo: 0.1, hi: 2, nodes: 64}, domain: "(0, inf)", parameters: {r: "uniform(0.5, 1)"}, drift: r*x*(1-x), diffusion: 0.3*x}`)
	const equation = `{"equations": [{"drift": "0.7*x*(1-x)", "diffusion": "0.3*x"}]}`
	in := described(t, equation, npy.Array[float64]{Shape: []int{1, 4}, Data: []float64{0.9, 1, 1.1, 0.8}})
	if r := one(t, collect(t, shard.NewDir(t.TempDir()), in, spec)); r.Family != spec.Family.Name() {
		t.Errorf("%+v", r)
	}
	out := described(t, equation, npy.Array[float64]{Shape: []int{1, 4}, Data: []float64{0.9, 1, -0.1, 0.8}})
	if r := collect(t, shard.NewDir(t.TempDir()), out, spec); len(r.Rejected) != 1 || !strings.Contains(r.Rejected[0].Reason, "function 0 has the sample -0.1, outside the domain (0, inf)") {
		t.Errorf("%+v", r)
	}
}

// A family in the plane whose diffusion is a field stores it, from formulas too; of one whose
// diffusion is the same everywhere, formulas with another are refused.
func TestDiffusionInPlane(t *testing.T) {
	const grid = "grid: {lo: -4, hi: 4, nodes: 8}"
	samples := npy.Array[float64]{Shape: []int{4, 2}, Data: []float64{0, 1, 0.5, -1, -0.5, 0.3, 0.2, 0.1}} // of one function
	field := defined(t, "{name: a, dim: 2, "+grid+`, parameters: {s: "uniform(0.5, 1)"}, drift: ["-x", "-y"], diffusion: ["s", "0.5"]}`)
	store := shard.NewDir(t.TempDir())
	r := one(t, collect(t, store, described(t, `{"equations": [{"drift": ["-2*x", "-y"], "diffusion": [0.7, "0.5"]}]}`, samples), field))
	im := opened(t, store, r.Hash)
	if want := slices.Repeat([]float32{0.7, 0.5}, 64); !slices.Equal(im.Field(1, 0), want) || len(im.Field(0, 0)) != 128 {
		t.Errorf("diffusion %v", im.Field(1, 0))
	}
	constant := defined(t, "{name: b, dim: 2, "+grid+`, parameters: {k: "uniform(0.5, 1)"}, drift: ["-k*x", "-y"], diffusion: "1"}`)
	for diffusion, ok := range map[string]bool{"1": true, "0.9": false} {
		r := collect(t, shard.NewDir(t.TempDir()), described(t, fmt.Sprintf(`{"equations": [{"drift": ["-2*x", "-y"], "diffusion": %s}]}`, diffusion), samples), constant)
		if (len(r.Accepted) == 1) != ok || !ok && !strings.Contains(r.Rejected[0].Reason, "have the diffusion [1]") {
			t.Errorf("diffusion %s: %+v", diffusion, r)
		}
	}
}

// Collections at one time accept each content once.
func TestConcurrentCollections(t *testing.T) {
	dir, store := t.TempDir(), shard.NewDir(t.TempDir())
	for n := range 4 {
		ou(uint64(n), 3, 32).write(t, filepath.Join(dir, fmt.Sprintf("%d.safetensors", n)))
	}
	var wait sync.WaitGroup
	accepted := make([]int, 6)
	for n := range accepted {
		wait.Go(func() {
			r, err := Collect(t.Context(), store, "mine", dir, specOf(t, "vn1d", 32))
			if err != nil || len(r.Rejected)+len(r.Waiting) > 0 || len(r.Accepted)+len(r.Known) != 4 {
				t.Errorf("%+v, %v", r, err)
			}
			accepted[n] = len(r.Accepted)
		})
	}
	wait.Wait()
	total := 0
	for _, n := range accepted {
		total += n
	}
	list, err := List(store, "mine")
	if err != nil || len(list) != 4 || total != 4 || list[3].Batch != 1 {
		t.Errorf("accepted %v; %+v, %v", accepted, list, err)
	}
}
