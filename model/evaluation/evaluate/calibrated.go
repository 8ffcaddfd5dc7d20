package evaluate

import (
	"fmt"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/evaluation/calibration"
	"github.com/ergoflow/ergoflow/model/evaluation/observables"
)

// Calibration says whether an exact draw of every function's law looks like one more of the
// row's draws (package calibration): by a coordinate, of particles by the energy, and in several
// dimensions by the distance from a random point (tarp), of particles in the space of their
// features.
type Calibration struct {
	Of     string  `json:"of"`     // x, y, energy or tarp
	Draws  int     `json:"draws"`  // of the row, among which the exact one is ranked
	P      float64 `json:"p"`      // of ranks that are as far from uniform
	Inside bool    `json:"inside"` // the band that uniform ranks leave with 5 %
	Bias   float64 `json:"bias"`   // mean of rank/draws − ½; positive: the draws are too small
	Spread float64 `json:"spread"` // positive: the laws are too narrow; negative: too wide
	Ranks  []int   `json:"ranks"`  // by function
}

// Points are the distribution function of the ranks with the band of uniform ones.
func (c Calibration) Points() ([]calibration.Point, error) {
	u, err := calibration.Uniform(c.Ranks, c.Draws, calibrationLevel)
	return u.Points, err
}

const (
	// rankedAmong is the number of the row's draws of every function.
	rankedAmong = 100
	// fewestRanked are the functions below which nothing is tested.
	fewestRanked = 16
	// calibrationLevel is the probability that uniform ranks leave the band.
	calibrationLevel = 0.05
)

// calibrate ranks one draw of each law among samples of a row, which must be independent. The
// draw is exact where the law is known, and elsewhere the first of the reference. Laws at
// several times are of one equation, so their ranks are not independent: they are left out.
// observed have the features of rankedAmong states.
func calibrate(
	f family.Family, seed uint64, functions []heldOutFunction, samples [][]float32, observed []*observables.Observed,
) ([]Calibration, error) {
	if _, timed := f.(family.Timed); timed || len(functions) < fewestRanked {
		return nil, nil
	}
	d := f.Dim()
	names := []string{"x", "y", "tarp"}
	switch {
	case observed[0] != nil:
		names = []string{"energy", "tarp"}
	case d == 1:
		names = names[:1]
	case d > 2:
		return nil, nil
	}
	draws := min(rankedAmong, len(samples[0])/d)
	found := make([]Calibration, len(names))
	for k, name := range names {
		found[k] = Calibration{Of: name, Draws: draws}
	}
	for i, h := range functions {
		rng := random.New(seed, "calibration", uint64(h.index))
		exact := h.reference[:d]
		if h.law != nil {
			exact = make([]float32, 1)
			h.law.Sample(exact, rng)
		}
		target, of, reference := toFloat(exact), toFloat(subsample(samples[i], draws, d)), toFloat(h.reference)
		if observed[i] != nil {
			target, reference = h.observed.Features[:observables.FeatureCount], h.observed.Features
			of = observed[i].Features
			energies := make([]float64, draws)
			for k := range energies {
				energies[k] = float64(observed[i].Energies[k*len(observed[i].Energies)/draws])
			}
			found[0].Ranks = append(found[0].Ranks, calibration.Rank(energies, float64(h.observed.Energies[0]), rng))
		} else {
			for c := range d {
				along := make([]float64, draws)
				for k := range along {
					along[k] = of[k*d+c]
				}
				found[c].Ranks = append(found[c].Ranks, calibration.Rank(along, target[c], rng))
			}
		}
		if last := &found[len(found)-1]; last.Of == "tarp" {
			mean, deviation := axes(reference, len(target))
			last.Ranks = append(last.Ranks, calibration.TARP(of, target, calibration.Reference(mean, deviation, rng), deviation, rng))
		}
	}
	for k := range found {
		c := &found[k]
		u, err := calibration.Uniform(c.Ranks, draws, calibrationLevel)
		if err != nil {
			return nil, err
		}
		skill := calibration.SkillOf(c.Ranks, draws)
		c.P, c.Inside, c.Bias, c.Spread = u.P, u.Inside, skill.Bias, skill.Spread
	}
	return found, nil
}

func toFloat(x []float32) []float64 {
	v := make([]float64, len(x))
	for i := range x {
		v[i] = float64(x[i])
	}
	return v
}

// axes are mean and deviation of points [n, d] along each axis; where they do not vary the
// deviation is 1.
func axes(points []float64, d int) (mean, deviation []float64) {
	mean, deviation = make([]float64, d), make([]float64, d)
	column := make([]float64, len(points)/d)
	for c := range d {
		for i := range column {
			column[i] = points[i*d+c]
		}
		mean[c], deviation[c] = stat.MeanStdDev(column, nil)
		if !(deviation[c] > 0) {
			deviation[c] = 1
		}
	}
	return mean, deviation
}

// calibrationNote says it in a sentence.
func (r Row) calibrationNote() string {
	var parts []string
	for _, c := range r.Calibration {
		text := fmt.Sprintf("%s p = %.2g", c.Of, c.P)
		if !c.Inside {
			text += ", outside the band"
			switch {
			case c.Of == "tarp":
			case c.Spread > 0.2:
				text += " (laws too narrow)"
			case c.Spread < -0.2:
				text += " (laws too wide)"
			case c.Bias > 0.05:
				text += " (draws too small)"
			case c.Bias < -0.05:
				text += " (draws too large)"
			}
		}
		parts = append(parts, text)
	}
	return fmt.Sprintf("Calibration of %s, one draw of each law ranked among %d of the row's: %s. Of a right sampler p is uniform.", r.Name, r.Calibration[0].Draws, strings.Join(parts, "; "))
}
