package shard

import (
	"math"
	"testing"
)

// The samples are standardised by their mean and deviation over all training shards: of each
// coordinate on the line and in the plane, of all coordinates together in more dimensions.
func TestAddStates(t *testing.T) {
	for dim, want := range map[int][]Standard{
		1: {{3.5, math.Sqrt(35. / 12)}},
		2: {{3, math.Sqrt(8. / 3)}, {4, math.Sqrt(8. / 3)}},
		3: {{3.5, math.Sqrt(35. / 12)}, {3.5, math.Sqrt(35. / 12)}, {3.5, math.Sqrt(35. / 12)}},
	} {
		d := NewDir(t.TempDir())
		var manifests []Manifest
		for k, samples := range [][]float32{{1, 2, 3}, {4, 5, 6}, {1e6, 1e6, 1e6}} {
			if dim == 2 { // three states, one in each shard
				samples = [][]float32{{1, 2, 3, 4}, {5, 6}, {1e6, 1e6}}[k]
			}
			h := Header{Family: "vn1d", Dataset: dataset, Shard: k, Purpose: Train, Count: 1, Dim: dim, Samples: len(samples) / dim}
			if k == 2 {
				h.Purpose = Reference
			}
			w, err := d.Create(h)
			if err != nil {
				t.Fatal(err)
			}
			for i := range samples { // pieces need not be whole states
				if err := w.Samples(samples[i : i+1]); err != nil {
					t.Fatal(err)
				}
			}
			m, err := w.Commit()
			if err != nil {
				t.Fatal(err)
			}
			manifests = append(manifests, m)
		}
		check := func(what string) {
			n := Normalisation{"drift": {0, 1}}
			if err := n.AddStates(d, manifests); err != nil {
				t.Fatal(err)
			}
			if len(n) != dim+1 {
				t.Errorf("%d dimensions, %s: %d standards", dim, what, len(n))
			}
			for k, s := range want {
				if got := n[State(k)]; !(math.Abs(got.Mean-s.Mean)+math.Abs(got.Std-s.Std) <= 1e-12) {
					t.Errorf("%d dimensions, %s: %s is %+v, want %+v", dim, what, State(k), got, s)
				}
			}
		}
		check("from the manifests")
		for k := range manifests {
			manifests[k].States = nil
		}
		check("of an older build's manifests")
	}
}
