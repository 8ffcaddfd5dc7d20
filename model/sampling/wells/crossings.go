package wells

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/ergoflow/ergoflow/data/equations/lift"
)

// Crossings are what chains from samples do at a value of a coordinate. Under the invariant law as many
// end above that began below as the other way round, however few they are. Let a be the part of those
// that began below and end above, and b the part of those that began above and end below: then the law
// that keeps both has a/(a + b) above. This is the Markov state model of two states (Prinz et al., J. Chem.
// Phys. 134, 2011). It has the law's mass where chains forget on which side they began, and where they
// seldom cross, as between wells.
type Crossings struct {
	Along    string  // the coordinate, as in lift.Feature
	At       float64 // the value
	Up, Down int     // chains that cross
	Have     float64 // the part of the samples above
	Law      float64 // a/(a + b)
	of       int     // how many values these are the worst of
}

const (
	// values of every coordinate divide the range of samples and ends into equal parts.
	values = 15
	// Chance is the |Z| that right samples exceed once in a thousand times.
	Chance = 3.3
	// least is the smallest probability that counts: below it Z is no number.
	least = 1e-15
)

// Effect is how much more of the law is above than of the samples.
func (c Crossings) Effect() float64 { return c.Law - c.Have }

// Z is the difference of both directions in standard errors, if chains cross by chance, less what it is by
// being the worst of many: that of a single value with as small a probability (Bonferroni).
func (c Crossings) Z() float64 {
	if c.Up == c.Down {
		return 0
	}
	z := float64(c.Up-c.Down) / math.Sqrt(float64(c.Up+c.Down))
	tail := float64(c.of) * distuv.UnitNormal.Survival(math.Abs(z))
	return math.Copysign(-distuv.UnitNormal.Quantile(min(max(tail, least), 0.5)), z)
}

// worse is whether these crossings say more against the samples than others.
func (c Crossings) worse(than Crossings) bool {
	ours, theirs := math.Abs(c.Z()), math.Abs(than.Z())
	if ours > Chance && theirs > Chance {
		return math.Abs(c.Effect()) > math.Abs(than.Effect())
	}
	return ours > theirs
}

// crossingsOf are the worst between states and the ends of chains from them, [n, dim].
func crossingsOf(features []lift.Feature, from, to []float32, dim int) (worst Crossings) {
	for _, f := range features {
		before, after := f.Along(from, dim), f.Along(to, dim)
		low, high := min(slices.Min(before), slices.Min(after)), max(slices.Max(before), slices.Max(after))
		for k := range values {
			c := Crossings{Along: f.Name, of: values * len(features), At: low + (high-low)*float64(k+1)/(values+1)}
			above := 0
			for i, v := range before {
				switch crossed := after[i] > c.At; {
				case v > c.At:
					above++
					if !crossed {
						c.Down++
					}
				case crossed:
					c.Up++
				}
			}
			n := float64(len(before))
			c.Have = float64(above) / n
			// With one chain more in each direction, of two: a side without samples has no rate.
			a, b := float64(c.Up+1)/(n-float64(above)+2), float64(c.Down+1)/float64(above+2)
			c.Law = a / (a + b)
			if c.worse(worst) {
				worst = c
			}
		}
	}
	return worst
}
