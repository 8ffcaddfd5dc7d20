package shard

import (
	"maps"
	"math"
	"testing"
)

func moments(values ...float32) Moments {
	var m Moments
	m.Add(values...)
	return m
}

// The constants are mean and standard deviation of all training values, however
// they are spread over shards.
func TestNormalise(t *testing.T) {
	train := func(k int, drift, diffusion []float32) Manifest {
		return Manifest{
			Header:  Header{Dataset: dataset, Shard: k, Purpose: Train, Fields: header.Fields},
			Moments: map[string]Moments{"drift": moments(drift...), "diffusion": moments(diffusion...)},
		}
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
	want := Normalisation{"drift": {3, math.Sqrt(14. / 3)}, "diffusion": {3, 1}}
	for name, s := range want {
		if !(math.Abs(got[name].Mean-s.Mean) <= 1e-12 && math.Abs(got[name].Std-s.Std) <= 1e-12) {
			t.Errorf("%s: got %+v, want %+v", name, got[name], s)
		}
	}
	if len(got) != len(want) || got.Validate() != nil {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if again, err := Normalise([]Manifest{a, b}); err != nil || !maps.Equal(again, got) {
		t.Errorf("in another order: %+v, %v", again, err)
	}

	other := a
	other.Shard, other.Dataset = 5, "ffffffffffffffff"
	empty := Manifest{Header: Header{Dataset: dataset, Shard: 9, Purpose: Train, Fields: header.Fields}}
	infinite := train(0, []float32{1, 2}, []float32{3})
	infinite.Moments["drift"] = Moments{Count: 2, Sum: 3, SumSq: math.Inf(1)}
	for name, bad := range map[string][]Manifest{
		"none": nil, "held-out only": {heldOut}, "twice": {a, a}, "two data sets": {a, other},
		"no values": {empty}, "not finite": {infinite},
	} {
		if n, err := Normalise(bad); err == nil {
			t.Errorf("%s: %+v", name, n)
		}
	}
}

func TestNormalisationIsChecked(t *testing.T) {
	if err := (Normalisation)(nil).Validate(); err != nil {
		t.Errorf("nothing to standardise: %v", err)
	}
	for name, bad := range map[string]Standard{
		"mean": {math.Inf(1), 1}, "NaN": {math.NaN(), 1}, "zero": {0, 0}, "negative": {0, -1}, "infinite": {0, math.Inf(1)},
	} {
		if (Normalisation{"drift": {0, 1}, "diffusion": bad}).Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
