package flow

import (
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"gonum.org/v1/gonum/stat/distuv"
)

// At 128 points the weights of most functions of vn1d are worth more equal ones, (Σw)²/Σw²,
// than the 32 pairs that a batch of `best` has of each, and few weights are bounded.
func TestPointsAreWorthMoreThanPairs(t *testing.T) {
	f, err := family.ByName("vn1d")
	if err != nil {
		t.Fatal(err)
	}
	const functions, stored, steps = 64, 128, 8
	var p points
	var worth []float64
	bounded := 0
	for i := range functions {
		law, err := f.(family.KnownLaw).Law(1, i)
		if err != nil {
			t.Fatal(err)
		}
		var x0, x1 []float32
		for k := range stored {
			u := (float64(k) + 0.5) / stored
			x0, x1 = append(x0, float32(distuv.UnitNormal.Quantile(u))), append(x1, float32(law.Quantile(u)))
		}
		for step := range steps {
			p.draw(1, step, stored, Uniform)
			_, weights := p.fit(nil, nil, x0, x1)
			var sum, squares float64
			for _, w := range weights {
				sum, squares = sum+float64(w), squares+float64(w)*float64(w)
				if w == maxWeight {
					bounded++
				}
			}
			worth = append(worth, sum*sum/squares)
		}
	}
	slices.Sort(worth)
	n := len(worth)
	t.Logf("worth: 5 %% %.0f, median %.0f; %.2f %% of the weights are bounded", worth[n/20], worth[n/2], 100*float64(bounded)/float64(n*stored))
	if worth[n/2] < 40 || worth[n/20] < 16 || bounded > n*stored/50 {
		t.Error("the points do not suit vn1d")
	}
}
