package metrics

import "testing"

// The cache of a reference changes no value, whatever was computed before. And it is
// used: a wrong number in it changes the next value.
func TestReferenceKeepsSelfTerms(t *testing.T) {
	options := []Options{{}, {Blur: 0.2}, {}, {Scaling: 0.8}}
	if testing.Short() {
		options = options[:2]
	}
	for _, d := range []int{1, 2} {
		y := goldenCloud{Kind: "modes", N: 110, D: d, Seed: 111, Parameters: []float64{0.4, -2, 2, 0.7}}.cloud(t)
		inside := goldenCloud{Kind: "normal", N: 90, D: d, Seed: 112, Parameters: []float64{0, 0.3}}.cloud(t)
		outside := goldenCloud{Kind: "normal", N: 70, D: d, Seed: 113, Parameters: []float64{1, 3}}.cloud(t)
		r := NewReference(y)
		for _, o := range options {
			for i, x := range []Cloud{inside, inside, outside, inside, outside} {
				want, err := Sinkhorn(x, y, o)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := r.Sinkhorn(x, o); err != nil || got != want {
					t.Errorf("%dD, %+v, measurement %d: %v (%v), without the reference %v", d, o, i, got, err, want)
				}
				c := ConvergedOptions{Blur: o.Blur, Tolerance: 1e-3, MaxIterations: 20}
				converged, err := SinkhornConverged(x, y, c)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := r.SinkhornConverged(x, c); err != nil || got != converged {
					t.Errorf("%dD, %+v, measurement %d: %+v (%v), without the reference %+v", d, c, i, got, err, converged)
				}
			}
		}
		if r.Sinkhorn(inside, Options{}); !falsified(r.annealed, func() float64 { s, _ := r.Sinkhorn(inside, Options{}); return s }) {
			t.Errorf("%dD: the annealed self term is not used", d)
		}
		if r.SinkhornConverged(inside, ConvergedOptions{}); !falsified(r.solved, func() float64 { c, _ := r.SinkhornConverged(outside, ConvergedOptions{}); return c.Value }) {
			t.Errorf("%dD: the converged self term is not used", d)
		}
	}
}

// falsified reports whether a wrong first number in a cached potential changes a result.
func falsified(kept []float64, result func() float64) bool {
	before := result()
	kept[0]++
	defer func() { kept[0]-- }()
	return result() != before
}
