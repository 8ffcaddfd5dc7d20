package metrics

import (
	"math"
	"slices"
	"testing"
)

// A translation by s projects to ⟨θ, s⟩, whose mean square is |s|²/D.
func TestSlicedW2OfATranslation(t *testing.T) {
	const d, n = 3, 400
	x := goldenCloud{Kind: "normal", N: 50, D: d, Seed: 1, Parameters: []float64{0, 1}}.cloud(t)
	y := Cloud{x.N, d, slices.Clone(x.X)}
	for i := range y.N {
		y.X[i*d] += 2
	}
	got, err := SlicedW2(x, y, n, 7)
	// ⟨θ, e⟩² has mean 1/3 and variance 4/45.
	if want, sd := 4./3, 4*math.Sqrt(4./45/n); err != nil || !(math.Abs(got*got-want) <= 4*sd) {
		t.Errorf("squared sliced distance %v (%v), want %v ± %v", got*got, err, want, sd)
	}
	again, _ := SlicedW2(x, y, n, 7)
	other, _ := SlicedW2(x, y, n, 8)
	if again != got || other == got {
		t.Errorf("seed 7 gives %v and %v, seed 8 %v", got, again, other)
	}
	line, _ := SlicedW2(Line(x.X), Line(y.X), 1, 0)
	w, _ := W2(x.X, y.X)
	if line != w {
		t.Errorf("on the line %v, W2 %v", line, w)
	}
}
