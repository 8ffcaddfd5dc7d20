package shard

import (
	"math"
	"testing"
)

func moments(values ...float32) Moments {
	var m Moments
	m.add(values)
	return m
}

// The constants are mean and standard deviation of all training values, however
// they are spread over shards.
func TestNormalise(t *testing.T) {
	train := func(k int, drift, diffusion []float32) Manifest {
		return Manifest{Header: Header{Dataset: dataset, Shard: k, Purpose: Train}, Drift: moments(drift...), Diffusion: moments(diffusion...)}
	}
	heldOut := train(2, []float32{1e6}, []float32{1e6})
	heldOut.Purpose = Reference
	a := train(0, []float32{1, 2}, []float32{3, 3})
	b := train(1, []float32{6}, []float32{3})
	got, err := Normalise([]Manifest{b, heldOut, a})
	if err != nil {
		t.Fatal(err)
	}
	// Drift 1, 2, 6: mean 3, variance (4+1+9)/3. Diffusion is constant.
	want := Normalisation{3, math.Sqrt(14. / 3), 3, 1}
	if math.Abs(got.DriftStd-want.DriftStd) > 1e-12 {
		t.Errorf("drift std %v, want %v", got.DriftStd, want.DriftStd)
	}
	got.DriftStd = want.DriftStd
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if again, err := Normalise([]Manifest{a, b}); err != nil || again.DriftMean != got.DriftMean {
		t.Errorf("in another order: %+v, %v", again, err)
	}

	other := a
	other.Shard, other.Dataset = 5, "ffffffffffffffff"
	empty := Manifest{Header: Header{Dataset: dataset, Shard: 9, Purpose: Train}}
	infinite := a
	infinite.Drift.SumSq = math.Inf(1)
	for name, bad := range map[string][]Manifest{
		"none": nil, "held-out only": {heldOut}, "twice": {a, a}, "two data sets": {a, other},
		"no values": {empty}, "not finite": {infinite},
	} {
		if n, err := Normalise(bad); err == nil {
			t.Errorf("%s: %+v", name, n)
		}
	}
}
