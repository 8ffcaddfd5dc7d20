package evaluate

// Distance is a number of every function, the smaller the better, by which rows
// are compared.
type Distance struct {
	Name    string
	Unit    string
	Of      func(FunctionResult) float64
	Summary func(Summary) Statistic
}

// The distances of which each experiment has two to its reference, on the line one
// more to the exact law.
var (
	Sinkhorn = Distance{"Sinkhorn divergence", "units of x²",
		func(f FunctionResult) float64 { return f.Sinkhorn }, func(s Summary) Statistic { return s.Sinkhorn }}
	W2 = Distance{"W2", "units of x",
		func(f FunctionResult) float64 { return f.W2 }, func(s Summary) Statistic { return s.W2 }}
	W2Exact = Distance{"W2 to the exact law", "units of x",
		func(f FunctionResult) float64 { return f.W2Exact }, func(s Summary) Statistic { return s.W2Exact }}
	SlicedW2 = Distance{"sliced W2", "units of x",
		func(f FunctionResult) float64 { return f.SlicedW2 }, func(s Summary) Statistic { return s.SlicedW2 }}
	Features = Distance{"feature distance", "deviations of the reference",
		func(f FunctionResult) float64 { return f.observables().FeatureW2 }, func(s Summary) Statistic { return s.observables().FeatureW2 }}
	Radial = Distance{"L² error of g(r)", "units of √x",
		func(f FunctionResult) float64 { return f.observables().RadialError }, func(s Summary) Statistic { return s.observables().RadialError }}
)

// Distances are the two that rows of samples in that many dimensions are compared
// by, the leading one first. Particles that may change places are compared by what
// does not depend on their numbers.
func Distances(rows []Row, dim int) [2]Distance {
	switch {
	case hasObservables(rows):
		return [2]Distance{Features, Radial}
	case dim > 1:
		return [2]Distance{Sinkhorn, SlicedW2}
	}
	return [2]Distance{Sinkhorn, W2}
}

// Distances are those of its rows.
func (r *Results) Distances() [2]Distance { return Distances(r.Rows, r.Dim) }

// hasObservables says whether rows have observables of particles.
func hasObservables(rows []Row) bool {
	for _, r := range rows {
		for _, f := range r.Functions {
			return f.Observables != nil
		}
	}
	return false
}
