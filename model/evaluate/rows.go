package evaluate

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/ergoflow/ergoflow/data/family"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulate"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// method draws one row's samples of every function.
type method struct {
	row  Row // kind, name, note
	draw func(ctx context.Context, progress func(done, total int)) (samples [][]float32, setup time.Duration, err error)
}

// baselines are the rows that need no network: the floor, MCMC at each budget
// and two normals. The order is that of the table, with the model's rows to
// come in between.
func baselines(e experiment.Experiment, f family.Family, functions []function) (before, after []method) {
	n := e.Evaluation.Samples
	each := func(kind Kind, name, note string, sample func(ctx context.Context, dst []float32, fn function) error) method {
		return method{Row{Kind: kind, Name: name, Note: note}, func(ctx context.Context, progress func(done, total int)) ([][]float32, time.Duration, error) {
			samples := make([][]float32, len(functions))
			err := simulate.Each(ctx, len(functions), func(ctx context.Context, i int) error {
				samples[i] = make([]float32, n)
				return sample(ctx, samples[i], functions[i])
			}, progress)
			return samples, 0, err
		}}
	}
	before = append(before, each(Floor, "floor", "a second, independent reference set", func(ctx context.Context, dst []float32, fn function) error {
		stored := make([]float32, e.StoredReference())
		if err := f.Sample(ctx, stored, e.Data.Seed, fn.index, e.Data.Reference, "floor"); err != nil {
			return err
		}
		copy(dst, spread(stored, len(dst)))
		return nil
	}))
	for _, m := range e.Evaluation.MCMC {
		steps := m.Scheme.Steps(n / m.Scheme.Chains)
		note := fmt.Sprintf("Euler–Maruyama, dt %g, %d chains of %d steps, %d of them burn-in", m.Scheme.DT, m.Scheme.Chains, steps, m.Scheme.BurnIn)
		before = append(before, each(MCMC, m.Name, note, func(ctx context.Context, dst []float32, fn function) error {
			return simulate.EulerMaruyama(ctx, dst, fn.coefficients, m.Scheme, e.Data.Seed, uint64(fn.index), "mcmc/"+m.Name)
		}))
	}
	after = append(after,
		each(Moments, "moment-matched normal", "a normal with the reference's mean and variance: knows the answer's first two moments", func(_ context.Context, dst []float32, fn function) error {
			mean, variance := moments(fn.reference)
			normal(dst, mean, math.Sqrt(variance), e.Seed, "evaluate/moments", fn.index)
			return nil
		}),
		each(Normal, "N(0,1)", "what the flow starts from", func(_ context.Context, dst []float32, fn function) error {
			normal(dst, 0, 1, e.Seed, "evaluate/normal", fn.index)
			return nil
		}))
	return before, after
}

func normal(dst []float32, mean, std float64, seed uint64, purpose string, index int) {
	rng := random.New(seed, purpose, uint64(index))
	for i := range dst {
		dst[i] = float32(mean + std*rng.NormFloat64())
	}
}
