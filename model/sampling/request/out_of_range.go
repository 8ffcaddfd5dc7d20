package request

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// betweenNodes warns of values of the formulas, on the finer grid, that are far from
// the lines between the model's nodes.
func betweenNodes(table, fine sde.System) []string {
	var warnings []string
	for _, m := range family.Deviations(table, fine) {
		warnings = append(warnings, m.String()+": the model reads the values at nodes only")
	}
	return warnings
}

// farthestTrained is how many standard deviations from the mean of the training set's
// values the values of an equation may be without a warning. Of vn1d's own functions
// none is farther away, of rare1d's one in thirty.
const farthestTrained = 6

// outOfRange warns of coefficients that are far from those of the training set.
func outOfRange(c sde.Coefficients, trained shard.Normalisation) []string {
	var warnings []string
	for _, field := range []struct {
		name     string
		values   []float32
		distance func(value float64, s shard.Standard) float64
	}{{"drift", c.Drift, fromMean}, {"diffusion", c.Diffusion, fromMeanPositive}} {
		standard, ok := trained[field.name]
		if !ok {
			continue
		}
		far, at := 0.0, 0
		for i, v := range field.values {
			if d := field.distance(float64(v), standard); d > far {
				far, at = d, i
			}
		}
		if far > farthestTrained {
			warnings = append(warnings, fmt.Sprintf("the %s is %.4g at x = %.4g, %.3g standard deviations from the training set's mean: out of its range, so the samples may be wrong",
				field.name, field.values[at], c.Grid.At(at), far))
		}
	}
	return warnings
}

// fromMean is |value − mean| in standard deviations.
func fromMean(value float64, s shard.Standard) float64 { return math.Abs(value-s.Mean) / s.Std }

// fromMeanPositive is fromMean for a positive coefficient. Below the mean it compares
// logarithms, as if the coefficient were log-normal, since zero is only a few standard
// deviations away.
func fromMeanPositive(value float64, s shard.Standard) float64 {
	if value >= s.Mean || s.Mean <= 0 {
		return fromMean(value, s)
	}
	variance := math.Log1p(s.Std * s.Std / (s.Mean * s.Mean)) // of the logarithms
	return math.Abs(math.Log(value/s.Mean)+variance/2) / math.Sqrt(variance)
}

// comparedFunctions is how many functions of the training set a drift in the plane is
// compared with: networks with sensors keep no statistics of the coefficients.
const comparedFunctions = 16

// outOfRangePlane warns of a drift that is larger than twice those of the training set,
// or that points outward.
func outOfRangePlane(e experiment.Experiment, f family.Family, p sde.Plane) ([]string, error) {
	trained := 0.0
	for i := range comparedFunctions {
		subject, err := function(f, e.Data.Seed, e.Data.TrainingFunction(i))
		if err != nil {
			return nil, err
		}
		trained = max(trained, largestDrift(subject.Function.System.(sde.Plane)))
	}
	var warnings []string
	if got := largestDrift(p); got > 2*trained {
		warnings = append(warnings, fmt.Sprintf("the drift reaches %.4g on the grid, in %d functions of the training set %.4g: out of their range, so the samples may be wrong",
			got, comparedFunctions, trained))
	}
	if outwardFlux(p) > 0 {
		warnings = append(warnings, "summed over the boundary of the grid the drift points outward: there may be no invariant law")
	}
	return warnings, nil
}

// largestDrift is max |b| over the nodes.
func largestDrift(p sde.Plane) float64 {
	largest := 0.0
	for n := range p.Nodes() {
		largest = max(largest, math.Hypot(float64(p.Drift[2*n]), float64(p.Drift[2*n+1])))
	}
	return largest
}

// outwardFlux is Σ b·n over the nodes of the grid's boundary. Single nodes may have
// b·n > 0 without harm, as where a rotation crosses the boundary.
func outwardFlux(p sde.Plane) float64 {
	sum := 0.0
	at := func(i, j, component int) float64 { return float64(p.Drift[2*(j*p.X.N+i)+component]) }
	for j := range p.Y.N {
		sum += at(p.X.N-1, j, 0) - at(0, j, 0)
	}
	for i := range p.X.N {
		sum += at(i, p.Y.N-1, 1) - at(i, 0, 1)
	}
	return sum
}
