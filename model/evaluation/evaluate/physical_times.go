package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// TimeInterval summarises a row over the functions whose physical time τ is in it.
type TimeInterval struct {
	From      float64   `json:"from"`
	To        float64   `json:"to"` // excluded, but for the last
	Functions int       `json:"functions"`
	Sinkhorn  Statistic `json:"sinkhorn"`
	W2        Statistic `json:"w2"`
}

// intervals summarises functions by their times, for each interval between two
// successive ends. It leaves out empty ones.
func intervals(functions []FunctionResult, ends []float64) []TimeInterval {
	var all []TimeInterval
	for k := range len(ends) - 1 {
		inside := Row{Functions: WithinInterval(functions, ends, k)}
		if n := len(inside.Functions); n > 0 {
			all = append(all, TimeInterval{ends[k], ends[k+1], n, describe(inside.values(Sinkhorn), nil), describe(inside.values(W2), nil)})
		}
	}
	return all
}

// WithinInterval selects the functions whose physical time is in [ends[k], ends[k+1]);
// the last interval includes its end.
func WithinInterval(functions []FunctionResult, ends []float64, k int) (inside []FunctionResult) {
	last := k == len(ends)-2
	for _, f := range functions {
		if f.Time >= ends[k] && (f.Time < ends[k+1] || last && f.Time == ends[k+1]) {
			inside = append(inside, f)
		}
	}
	return inside
}

// invariant draws from the law that each function tends to as its time grows. The row
// shows how far the law at the function's time is from it.
func (b baselines) invariant() []method {
	timed, ok := b.family.(family.Timed)
	if !ok {
		return nil
	}
	n, e := b.Experiment.Evaluation.Samples, b.Experiment
	return []method{b.all(Row{Kind: Invariant, Name: "invariant law", Note: "exact draws from the law that the equation tends to, at every time"}, n,
		func(ctx context.Context, dst []float32, progress func(done, total int)) error {
			return simulate.Each(ctx, len(b.functions), func(_ context.Context, i int) error {
				law, err := timed.Invariant(e.Data.Seed, b.functions[i].index)
				if err != nil {
					return err
				}
				law.Sample(dst[i*n:(i+1)*n], random.New(e.Seed, "evaluate/invariant", uint64(b.functions[i].index)))
				return nil
			}, progress)
		})}
}

// atLongestTime has the subjects with the longest time instead of their own.
func atLongestTime(timed family.Timed, subjects []flow.Subject) ([]flow.Subject, error) {
	late, ends := slices.Clone(subjects), timed.Times()
	for i, s := range subjects {
		var err error
		if late[i].Function, err = timed.At(s.Function, ends[len(ends)-1]); err != nil {
			return nil, fmt.Errorf("function %d: %w", s.Index, err)
		}
	}
	return late, nil
}

// Evolution is one equation at all its times: samples of the reference and of the
// model at each time, and the density of the invariant law.
type Evolution struct {
	Percent          int       // of the mean Sinkhorn divergence of equations
	Equation         int       // number within the family
	Sinkhorn         float64   // the model's, mean over the times
	Times            []float64 // in increasing order
	Reference, Model [][]float32
	X, PDF           []float64
}

// evolutions picks the equations at the 25th, 50th and 75th percentile of the model's
// Sinkhorn divergence, averaged over their times, among those held out at all times.
func (r *Results) evolutions(f family.Family, functions []heldOutFunction, drawn [][]float32) ([]Evolution, error) {
	timed, ok := f.(family.Timed)
	model, has := r.Row(Model)
	if !ok || !has {
		return nil, nil
	}
	var order [][]int // functions of one equation
	for i, f := range functions {
		if n := len(order); n > 0 && timed.Equation(functions[order[n-1][0]].index) == timed.Equation(f.index) {
			order[n-1] = append(order[n-1], i)
		} else {
			order = append(order, []int{i})
		}
	}
	order = slices.DeleteFunc(order, func(of []int) bool { return len(of) < len(timed.Times())-1 })
	mean := func(of []int) (sum float64) {
		for _, i := range of {
			sum += model.Functions[i].Sinkhorn / float64(len(of))
		}
		return sum
	}
	slices.SortStableFunc(order, func(a, b []int) int { return cmp.Compare(mean(a), mean(b)) })
	var all []Evolution
	for _, percent := range percents {
		if len(order) == 0 {
			break
		}
		of := order[at(percent, len(order))]
		e := Evolution{Percent: percent, Equation: timed.Equation(functions[of[0]].index), Sinkhorn: mean(of)}
		for _, i := range of {
			e.Times = append(e.Times, functions[i].time)
			e.Reference, e.Model = append(e.Reference, functions[i].reference), append(e.Model, drawn[i])
		}
		law, err := timed.Invariant(r.Experiment.Data.Seed, functions[of[0]].index)
		if err != nil {
			return nil, err
		}
		e.X, e.PDF, _ = curves(law, slices.Concat(e.Reference, e.Model)...)
		all = append(all, e)
	}
	return all, nil
}
