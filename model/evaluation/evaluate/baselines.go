package evaluate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/evaluation/controls"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// method draws one row's samples of every function.
type method struct {
	row     Row               // kind, name, note, steps
	against []heldOutFunction // what its samples are compared with
	draw    draw
	chains  int // that its samples are of, one after the other; 0 for other samples
}

// draw returns samples [n, d] of every function, and what of its time is set-up.
// progress gets the number of functions that are done.
type draw func(ctx context.Context, progress func(done, total int)) (samples [][]float32, setup time.Duration, err error)

// methods are all rows in the order of the table; release frees what they hold.
func (o Options) methods(ctx context.Context, f family.Family, functions []heldOutFunction) (rows []method, release func(), err error) {
	b := baselines{o, f, functions}
	before := []method{b.floor()}
	if o.wants(Split) {
		halves, err := b.split(ctx)
		if err != nil {
			return nil, nil, err
		}
		before = append(before, halves...)
	}
	for _, m := range o.Experiment.Evaluation.MCMC {
		before = append(before, b.mcmc(m))
	}
	learned, release, err := networks(o, f, functions)
	if err != nil {
		return nil, nil, err
	}
	return slices.Concat(before, learned, b.invariant(), b.normals()), release, nil
}

// baselines draws the rows that need no network.
type baselines struct {
	Options
	family    family.Family
	functions []heldOutFunction // consecutive
}

// all is a row that samples all functions in one call: sample draws stored samples of
// each, and the row keeps as many of them as the evaluation uses, at even distances.
func (b baselines) all(row Row, stored int, sample func(ctx context.Context, dst []float32, progress func(done, total int)) error) method {
	d, n := b.family.Dim(), b.Experiment.Evaluation.Samples
	return method{row: row, against: b.functions, draw: func(ctx context.Context, progress func(done, total int)) ([][]float32, time.Duration, error) {
		dst := make([]float32, len(b.functions)*stored*d)
		err := sample(ctx, dst, progress)
		samples := make([][]float32, len(b.functions))
		for i := range samples {
			samples[i] = subsample(dst[i*stored*d:(i+1)*stored*d], n, d)
		}
		return samples, 0, err
	}}
}

func (b baselines) floor() method {
	e := b.Experiment
	drawn := b.all(Row{Kind: Floor, Name: "floor", Note: "a second, independent reference set: the best possible distance"}, e.Data.StoredReference(),
		func(ctx context.Context, dst []float32, progress func(done, total int)) error {
			draws := e.Data.SampleSpec("floor", b.functions[0].index, len(b.functions))
			return family.Sample(ctx, b.family, dst, draws, b.Simulator, progress)
		})
	drawn.chains = b.referenceChains(b.family)
	return drawn
}

// split compares the second half of the reference's chains with the first: the
// paper's floor. It needs an even number of chains with equally many samples.
func (b baselines) split(ctx context.Context) ([]method, error) {
	d, n, chains := b.family.Dim(), b.Experiment.Evaluation.Samples, b.Experiment.Data.Reference.Chains
	if chains < 2 || chains%2 != 0 || n%chains != 0 {
		return nil, nil
	}
	half := b.referenceChains(b.family) / 2 // of the chains
	against, samples := slices.Clone(b.functions), make([][]float32, len(b.functions))
	for i := range against {
		f := &against[i]
		first, second, err := controls.SplitChains(f.reference, chains, d)
		if err != nil {
			return nil, err
		}
		f.compareWith(first)
		samples[i] = second
		if f.potential != nil {
			if err := f.observe(*f.potential); err != nil {
				return nil, fmt.Errorf("half of the reference of function %d: %w", f.index, err)
			}
		}
	}
	if err := diagnoseReferences(ctx, against, half); err != nil {
		return nil, err
	}
	note := fmt.Sprintf("half of the reference's %d chains against the other half, %d samples each: not independent of the reference, and noisier than the floor", chains, n/2)
	if b.Experiment.Data.ReferenceDraws == data.Exact {
		note = fmt.Sprintf("half of the reference against the other half, %d samples each: noisier than the floor", n/2)
	}
	return []method{{row: Row{Kind: Split, Name: "target split", Note: note}, against: against, chains: half,
		draw: func(_ context.Context, progress func(done, total int)) ([][]float32, time.Duration, error) {
			progress(len(samples), len(samples))
			return samples, 0, nil
		}}}, nil
}

func (b baselines) mcmc(m experiment.MCMC) method {
	n, first := b.Experiment.Evaluation.Samples, b.functions[0].index
	steps := m.Scheme.Steps(n / m.Scheme.Chains)
	note := fmt.Sprintf("%s, dt %g, %d chains of %d steps, %d of them burn-in", m.Scheme.Integrator.Title(), m.Scheme.DT, m.Scheme.Chains, steps, m.Scheme.BurnIn)
	if t := m.Scheme.Tempering; t.On() {
		note += fmt.Sprintf(", at %v", t)
	}
	row := Row{Kind: MCMC, Name: m.Name, Note: note, SimulatedSteps: steps * m.Scheme.Chains * m.Scheme.Tempering.Replicas(), SequentialSteps: steps}
	drawn := b.all(row, n, func(ctx context.Context, dst []float32, progress func(done, total int)) error {
		return b.Simulator.Simulate(ctx, dst, simulate.Batch{
			First: first, Count: len(b.functions),
			System: func(i int) (sde.System, error) { return b.functions[i-first].function.System, nil },
			Scheme: m.Scheme, Seed: b.Experiment.Data.Seed, Purpose: "mcmc/" + m.Name,
		}, progress)
	})
	if _, timed := b.family.(family.Timed); !timed { // their chains give one sample, not of an equilibrium
		drawn.chains = m.Scheme.Chains
	}
	return drawn
}

// normals are the normal laws with the reference's moments, and N(0, I). On the line
// the pooled Gaussian is the moment-matched normal, so it has no row.
func (b baselines) normals() []method {
	d, n, seed := b.family.Dim(), b.Experiment.Evaluation.Samples, b.Experiment.Seed
	normal := func(kind Kind, name, note string, sample func(dst []float32, fn heldOutFunction) error) method {
		return b.all(Row{Kind: kind, Name: name, Note: note}, n, func(ctx context.Context, dst []float32, progress func(done, total int)) error {
			return simulate.Each(ctx, len(b.functions), func(_ context.Context, i int) error {
				return sample(dst[i*n*d:(i+1)*n*d], b.functions[i])
			}, progress)
		})
	}
	standard, matchedNote := "N(0,1)", "the normal law with the reference's mean and variance, which the model does not get"
	var rows []method
	if d > 1 {
		standard, matchedNote = "N(0,I)", "the normal law with the reference's mean and covariance, which the model does not get"
		rows = append(rows, normal(Pooled, "pooled Gaussian", "independent normal coordinates with the reference's means and variances", func(dst []float32, fn heldOutFunction) error {
			return controls.PooledGaussian(dst, fn.reference, d, seed, fn.index)
		}))
	}
	return append(rows,
		normal(Moments, "moment-matched normal", matchedNote, func(dst []float32, fn heldOutFunction) error {
			matched(fn.reference, d).draw(dst, seed, "evaluate/moments", fn.index)
			return nil
		}),
		normal(Normal, standard, "the law that the flow starts from", func(dst []float32, fn heldOutFunction) error {
			standardNormal(d).draw(dst, seed, "evaluate/normal", fn.index)
			fn.frame.Restore(dst)
			return nil
		}))
}
