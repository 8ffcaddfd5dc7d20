package evaluate

import "strings"

// Distance is a number of every function that compares rows; lower is better.
type Distance struct {
	Name    string
	Unit    string
	Of      func(FunctionResult) float64
	Summary func(Summary) Statistic
}

// Every experiment has two of these distances to its reference; on the line there is
// also the one to the exact law.
var (
	Sinkhorn = Distance{"Sinkhorn divergence", "units of x²",
		func(f FunctionResult) float64 { return f.Sinkhorn }, func(s Summary) Statistic { return s.Sinkhorn }}
	W2 = Distance{"W2", "units of x",
		func(f FunctionResult) float64 { return f.W2 }, func(s Summary) Statistic { return s.W2 }}
	W2Exact = Distance{"W2 to the exact law", "units of x",
		func(f FunctionResult) float64 { return f.W2Exact }, func(s Summary) Statistic { return s.W2Exact }}
	SlicedW2 = Distance{"sliced W2", "units of x",
		func(f FunctionResult) float64 { return f.SlicedW2 }, func(s Summary) Statistic { return s.SlicedW2 }}
	Features = Distance{"feature distance", "standard deviations of the reference",
		func(f FunctionResult) float64 { return f.observables().FeatureW2 }, func(s Summary) Statistic { return s.observables().FeatureW2 }}
	Radial = Distance{"L² error of g(r)", "units of √x",
		func(f FunctionResult) float64 { return f.observables().RadialError }, func(s Summary) Statistic { return s.observables().RadialError }}
)

// Distances are the two that compare rows of samples in dim dimensions, the leading
// one first. Those of particles do not depend on the order of the particles.
func Distances(rows []Row, dim int) [2]Distance {
	switch {
	case hasObservables(rows):
		return [2]Distance{Features, Radial}
	case dim > MaxConvergedDim: // the divergence is that of a matching, and mostly of the number of samples
		return [2]Distance{SlicedW2, Sinkhorn}
	case dim > 1:
		return [2]Distance{Sinkhorn, SlicedW2}
	}
	return [2]Distance{Sinkhorn, W2}
}

// Distances are the two that compare the rows.
func (r *Results) Distances() [2]Distance {
	distances := Distances(r.Rows, r.Dim)
	if len(r.Units) > 0 {
		for i := range distances {
			distances[i].Unit = strings.Replace(distances[i].Unit, "of x", "of the deviation", 1)
		}
	}
	return distances
}

// hasObservables reports whether rows have observables of particles.
func hasObservables(rows []Row) bool {
	for _, r := range rows {
		for _, f := range r.Functions {
			return f.Observables != nil
		}
	}
	return false
}
