package evaluate

import (
	"context"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow/data/family"
	"github.com/ergoflow/ergoflow/data/sde"
	"github.com/ergoflow/ergoflow/data/simulate"
)

// method draws one row's samples of every function.
type method struct {
	row  Row // kind, name, note
	draw func(ctx context.Context, progress func(done, total int)) (samples [][]float32, setup time.Duration, err error)
}

// baselines are the rows that need no network: the floor, MCMC at each budget
// and two normals. The order is that of the table, with the model's rows to
// come in between.
func baselines(o Options, f family.Family, functions []function) (before, after []method) {
	e := o.Experiment
	d, n, first := f.Dim(), e.Evaluation.Samples, functions[0].index // held-out functions are consecutive
	all := func(kind Kind, name, note string, stored int, sample func(ctx context.Context, dst []float32, progress func(done, total int)) error) method {
		return method{Row{Kind: kind, Name: name, Note: note}, func(ctx context.Context, progress func(done, total int)) ([][]float32, time.Duration, error) {
			dst := make([]float32, len(functions)*stored*d)
			err := sample(ctx, dst, progress)
			samples := make([][]float32, len(functions))
			for i := range samples {
				samples[i] = spread(dst[i*stored*d:(i+1)*stored*d], n, d)
			}
			return samples, 0, err
		}}
	}
	before = append(before, all(Floor, "floor", "a second, independent reference set", e.StoredReference(),
		func(ctx context.Context, dst []float32, progress func(done, total int)) error {
			draws := family.Draws{First: first, Count: len(functions), Seed: e.Data.Seed, Scheme: e.Data.Reference, Purpose: "floor"}
			return f.Sample(ctx, dst, draws, o.Simulator, progress)
		}))
	for _, m := range e.Evaluation.MCMC {
		steps := m.Scheme.Steps(n / m.Scheme.Chains)
		note := fmt.Sprintf("Euler–Maruyama, dt %g, %d chains of %d steps, %d of them burn-in", m.Scheme.DT, m.Scheme.Chains, steps, m.Scheme.BurnIn)
		mcmc := all(MCMC, m.Name, note, n, func(ctx context.Context, dst []float32, progress func(done, total int)) error {
			return o.Simulator.Simulate(ctx, dst, simulate.Batch{
				First: first, Count: len(functions),
				System: func(i int) (sde.System, error) { return functions[i-first].function.System, nil },
				Scheme: m.Scheme, Seed: e.Data.Seed, Purpose: "mcmc/" + m.Name,
			}, progress)
		})
		mcmc.row.SimulatedSteps, mcmc.row.SequentialSteps = steps*m.Scheme.Chains, steps
		before = append(before, mcmc)
	}
	normals := func(kind Kind, name, note string, draw func(dst []float32, fn function)) method {
		return all(kind, name, note, n, func(ctx context.Context, dst []float32, progress func(done, total int)) error {
			return simulate.Each(ctx, len(functions), func(_ context.Context, i int) error {
				draw(dst[i*n*d:(i+1)*n*d], functions[i])
				return nil
			}, progress)
		})
	}
	standard, known := "N(0,1)", "a normal with the reference's mean and variance: knows the answer's first two moments"
	if d > 1 {
		standard, known = "N(0,I)", "a normal with the reference's mean and covariance: knows the answer's first two moments"
	}
	after = append(after,
		normals(Moments, "moment-matched normal", known, func(dst []float32, fn function) {
			matched(fn.reference, d).draw(dst, e.Seed, "evaluate/moments", fn.index)
		}),
		normals(Normal, standard, "what the flow starts from", func(dst []float32, fn function) {
			standardNormal(d).draw(dst, e.Seed, "evaluate/normal", fn.index)
		}))
	return before, after
}
