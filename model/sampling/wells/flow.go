package wells

import (
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/lift"
)

// Flow is what chains from samples do at a value of a coordinate. Under the invariant law as many of them
// cross it upward as downward, however few they are. With the part a of the chains below that end above,
// and the part b of those above that end below, a law that keeps both has a/(a + b) above: this is the
// Markov state model of two states (Prinz et al., J. Chem. Phys. 134, 2011). It is the law's mass where
// chains forget on which side they began, and where they seldom cross, as between wells.
type Flow struct {
	Along    string  // the coordinate, as in lift.Feature
	At       float64 // the value
	Up, Down int     // chains that cross
	Have     float64 // the part of the samples above
	Law      float64 // a/(a + b)
}

const (
	// values of every coordinate divide the range of samples and ends into equal parts.
	values = 15
	// Chance is the |Z| of a right set of samples that is hardly exceeded at any value.
	Chance = 4
)

// Effect is how much more of the law is above than of the samples.
func (f Flow) Effect() float64 { return f.Law - f.Have }

// Z is the difference of both directions in its standard errors, if chains cross by chance.
func (f Flow) Z() float64 {
	if f.Up+f.Down == 0 {
		return 0
	}
	return float64(f.Up-f.Down) / math.Sqrt(float64(f.Up+f.Down))
}

// worse is whether a flow says more against the samples than another.
func (f Flow) worse(than Flow) bool {
	ours, theirs := math.Abs(f.Z()), math.Abs(than.Z())
	if ours > Chance && theirs > Chance {
		return math.Abs(f.Effect()) > math.Abs(than.Effect())
	}
	return ours > theirs
}

// flowOf is the worst flow between states and the ends of chains from them, [n, dim].
func flowOf(features []lift.Feature, from, to []float32, dim int) (worst Flow) {
	for _, f := range features {
		before, after := f.Along(from, dim), f.Along(to, dim)
		low, high := min(slices.Min(before), slices.Min(after)), max(slices.Max(before), slices.Max(after))
		for k := range values {
			flow := Flow{Along: f.Name, At: low + (high-low)*float64(k+1)/(values+1)}
			above := 0
			for i, v := range before {
				switch crossed := after[i] > flow.At; {
				case v > flow.At:
					above++
					if !crossed {
						flow.Down++
					}
				case crossed:
					flow.Up++
				}
			}
			n := float64(len(before))
			flow.Have = float64(above) / n
			// With one chain more in each direction, of two: a side without samples has no rate.
			a, b := float64(flow.Up+1)/(n-float64(above)+2), float64(flow.Down+1)/float64(above+2)
			flow.Law = a / (a + b)
			if flow.worse(worst) {
				worst = flow
			}
		}
	}
	return worst
}
