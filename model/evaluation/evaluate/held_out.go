package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
	"github.com/ergoflow/ergoflow/model/evaluation/observables"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// heldOutFunction is one held-out SDE with the samples that its rows are compared
// with.
type heldOutFunction struct {
	index     int // within the experiment
	function  family.Function
	component string             // of a mixture
	time      float64            // physical; 0 where the family has none
	reference []float32          // [N, d]
	diagnosed diagnosed          // chains of reference; none of independent draws
	frame     flow.Frame         // in which distances are measured
	compared  []float32          // the reference's points
	measured  *metrics.Reference // of compared, with the self terms that all rows share
	law       family.Law         // nil where there is no exact one
	// Observables of the reference's particles; nil for other families.
	potential *family.Potential
	observed  *observables.Observed
}

// subjects are the functions as the input of networks.
func subjects(functions []heldOutFunction) []flow.Subject {
	all := make([]flow.Subject, len(functions))
	for i, f := range functions {
		all[i] = flow.Subject{Index: f.index, Function: f.function}
	}
	return all
}

// heldOut reads the evaluated functions from the held-out shard, which it generates
// if the store lacks it.
func heldOut(ctx context.Context, o Options, f family.Family, progress func(done, total int)) ([]heldOutFunction, error) {
	e, d := o.Experiment, o.Experiment.Data
	if err := data.Generate(ctx, d, d.HeldOutShard(), o.Store, o.Simulator, progress); err != nil {
		return nil, fmt.Errorf("held-out functions: %w", err)
	}
	// Damaged samples would make every row wrong without an error.
	if err := o.Store.Verify(ctx, d.Hash(), d.HeldOutShard()); err != nil {
		return nil, fmt.Errorf("held-out functions: %w", err)
	}
	s, err := o.Store.Open(d.Hash(), d.HeldOutShard())
	if err != nil {
		return nil, fmt.Errorf("held-out functions: %w", err)
	}
	defer s.Close()
	frame, err := o.frame(f.Dim())
	if err != nil {
		return nil, err
	}
	if o.TrainedOn != "" && len(frame) > 0 {
		own, err := s.States()
		if err != nil {
			return nil, err
		}
		if frame, err = flow.FrameOf(own, f.Dim()); err != nil {
			return nil, err
		}
	}
	first, _ := d.ShardRange(d.HeldOutShard())
	functions := make([]heldOutFunction, e.Evaluation.Functions)
	for i := range functions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		made, err := f.Function(d.Seed, first+i)
		if err != nil {
			return nil, err
		}
		reference := slices.Clone(subsample(s.Samples(i), e.Evaluation.Samples, f.Dim())) // the shard is closed
		functions[i] = heldOutFunction{index: first + i, function: made, component: componentOf(f, d.Seed, first+i), frame: frame}
		functions[i].compareWith(reference)
		if timed, ok := f.(family.Timed); ok {
			functions[i].time = timed.Time(d.Seed, first+i)
		}
		if gibbs, ok := f.(family.Gibbs); ok {
			potential, err := gibbs.Potential(d.Seed, first+i)
			if err != nil {
				return nil, fmt.Errorf("potential of function %d: %w", first+i, err)
			}
			if err := functions[i].observe(potential); err != nil {
				return nil, fmt.Errorf("reference of function %d: %w", first+i, err)
			}
		}
	}
	return functions, diagnoseReferences(ctx, functions, o.referenceChains(f))
}

// frame has the coordinates in which distances are measured.
func (o Options) frame(dim int) (flow.Frame, error) {
	if o.Frame == nil {
		return flow.FrameOf(o.State.Normalisation, dim)
	}
	if len(o.Frame) != 0 && len(o.Frame) != dim {
		return nil, fmt.Errorf("the frame of distances has %d coordinates, states have %d", len(o.Frame), dim)
	}
	return o.Frame, nil
}

// diagnoseReferences diagnoses the chains of which the references consist.
func diagnoseReferences(ctx context.Context, functions []heldOutFunction, chains int) error {
	samples, observed := make([][]float32, len(functions)), make([]*observables.Observed, len(functions))
	for i, f := range functions {
		samples[i], observed[i] = f.reference, f.observed
	}
	all, err := diagnose(ctx, samples, observed, chains, functions[0].function.System.Dim())
	for i := range functions {
		functions[i].diagnosed = all[i]
	}
	return err
}

// compareWith sets the samples [N, d] that rows are compared with.
func (f *heldOutFunction) compareWith(reference []float32) {
	f.reference, f.compared = reference, points(f.function.System, f.frame, reference)
	f.measured = metrics.NewReference(cloud(f.compared, f.pointDim()))
}

// laws computes the exact laws of the functions, for families that have them. All
// functions get one or none does: otherwise the columns of a table would average over
// different functions. unknown says why one could not be computed.
func laws(f family.Family, seed uint64, functions []heldOutFunction) (unknown string, err error) {
	exact, ok := f.(family.KnownLaw)
	if !ok {
		return "", nil
	}
	for i := range functions {
		if functions[i].law, err = exact.Law(seed, functions[i].index); err != nil {
			if !errors.Is(err, density.ErrTooSteep) {
				return "", fmt.Errorf("exact law of function %d: %w", functions[i].index, err)
			}
			for k := range functions {
				functions[k].law = nil
			}
			return err.Error(), nil
		}
	}
	return "", nil
}

// cloud has the points of samples [n, d].
func cloud(samples []float32, d int) metrics.Cloud {
	return metrics.Cloud{N: len(samples) / d, D: d, X: samples}
}

// subsample takes n of the stored samples [N, d] at even distances, so that they
// come from all chains. For n = N it returns stored itself.
func subsample(stored []float32, n, d int) []float32 {
	if len(stored) == n*d {
		return stored
	}
	part := make([]float32, 0, n*d)
	for i := range n {
		from := i * (len(stored) / d) / n * d
		part = append(part, stored[from:from+d]...)
	}
	return part
}

// w2Exact is the W2 distance of samples from the exact law, in the frame of the function.
func (f heldOutFunction) w2Exact(samples []float32) float64 {
	return w2Exact(samples, f.law) / f.frame.Scale(0)
}

// w2Exact is the W2 distance of samples from a law, with the quantile function
// at the midpoints of n equal parts:
//
//	W2² ≈ (1/n) Σ_i (x_(i) − Q((i+½)/n))².
func w2Exact(samples []float32, law family.Law) float64 {
	sorted := slices.Clone(samples)
	slices.Sort(sorted)
	n := float64(len(sorted))
	var sum float64
	for i, x := range sorted {
		d := float64(x) - law.Quantile((float64(i)+0.5)/n)
		sum += d * d
	}
	return math.Sqrt(sum / n)
}
