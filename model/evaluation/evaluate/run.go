package evaluate

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/evaluation/observables"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// mixedBelow is the W2 distance between a reference set and the exact law below which
// its chains count as mixed, in the frame of the states like all distances. The table has
// means over those functions alone too, since elsewhere the reference is not a sample of
// the law.
const mixedBelow = 0.2

// Options of Run. All but Kinds and Progress are needed.
type Options struct {
	Experiment experiment.Experiment
	State      *state.State // trained; the untrained network uses its normalisation too
	Backend    *backend.Backend
	Store      *shard.Dir // has the held-out shard; Run generates it if it is missing
	Simulator  simulate.Simulator
	Kinds      []Kind // rows to compute; none: all
	// TrainedOn is the family that the state was trained on, if that of the experiment was chosen
	// for the evaluation (Experiment.Transferred). Distances are then in units of the held-out
	// samples, so that those of several networks can be compared.
	TrainedOn string
	// Frame has the coordinates in which distances are measured. Nil: those of the state. The
	// distances of two states can be compared only in one frame.
	Frame flow.Frame
	// Progress gets the stage ("mcmc: sample", "model: compare") and how many of its
	// functions are done. One goroutine at a time calls it.
	Progress func(stage string, done, total int)
}

// Run evaluates the state. The numbers depend on the experiment and the state alone,
// up to the rounding of the backend; the wall times do not. Run stops soon after ctx
// ends, and returns its error.
func Run(ctx context.Context, o Options) (*Results, FigureData, error) {
	began := time.Now()
	e := o.Experiment
	if err := e.Validate(); err != nil {
		return nil, FigureData{}, err
	}
	f, err := e.Family()
	if err != nil {
		return nil, FigureData{}, err
	}
	functions, err := heldOut(ctx, o, f, o.stage("reference: sample"))
	if err != nil {
		return nil, FigureData{}, err
	}
	unknown, err := laws(f, e.Data.Seed, functions)
	if err != nil {
		return nil, FigureData{}, err
	}
	methods, release, err := o.methods(ctx, f, functions)
	if err != nil {
		return nil, FigureData{}, err
	}
	defer release()
	r := o.newResults(pointDim(f), len(functions))
	r.LawUnknown = unknown
	for _, s := range functions[0].frame {
		r.Units = append(r.Units, s.Std)
	}
	mixed := r.describeReference(functions)
	r.ReferenceMixing = o.referenceMixing(f, functions)
	if r.ReferenceLaw, err = o.referenceLaw(ctx, f, functions); err != nil {
		return nil, FigureData{}, err
	}
	if r.ReferenceEnergy, err = o.referenceEnergy(ctx, f, functions); err != nil {
		return nil, FigureData{}, err
	}
	var data FigureData
	drawn := map[Kind][][]float32{} // the last row of each kind that figures show
	for _, m := range methods {
		if !o.wants(m.row.Kind) {
			continue
		}
		evaluated, err := m.evaluate(ctx, e.Evaluation, f, mixed, o.stage)
		if err != nil {
			return nil, FigureData{}, fmt.Errorf("%s: %w", m.row.Name, err)
		}
		if evaluated.row.Kind == Model {
			if evaluated.row.Verdicts, err = certify(ctx, f, e.Data.Seed, m.against, evaluated.samples); err != nil {
				return nil, FigureData{}, fmt.Errorf("%s: %w", m.row.Name, err)
			}
			if evaluated.row.Calibration, err = calibrate(f, e.Data.Seed, m.against, evaluated.samples, evaluated.observed); err != nil {
				return nil, FigureData{}, fmt.Errorf("%s: %w", m.row.Name, err)
			}
		}
		r.Rows = append(r.Rows, evaluated.row)
		if evaluated.row.Kind == Model && evaluated.row.Summary.Observables != nil {
			data.Kernels = kernels(m.against, evaluated.observed)
		}
		if shown(f) && (evaluated.row.Kind == Model || evaluated.row.Kind == MCMC) { // in many dimensions a row takes 100 MB
			drawn[evaluated.row.Kind] = evaluated.samples
		}
	}
	r.compareWithModel()
	if shown(f) {
		data.Percentiles = r.percentiles(functions, drawn)
	}
	if data.Evolutions, err = r.evolutions(f, functions, drawn[Model]); err != nil {
		return nil, FigureData{}, err
	}
	r.Seconds = time.Since(began).Seconds()
	return r, data, nil
}

// newResults describes an evaluation before its first row.
func (o Options) newResults(dim, functions int) *Results {
	hash := o.State.ParameterHash()
	return &Results{
		Version:    ergoflow.Version,
		TrainedOn:  o.TrainedOn,
		Experiment: o.Experiment,
		Run:        cmp.Or(o.State.Run, o.Experiment.Hash()),
		Step:       int(o.State.Step),
		Parameters: hex.EncodeToString(hash[:]),
		Backend:    o.Backend.Name + " (" + o.Backend.Device + ")",
		Dim:        dim,
		Functions:  functions,
		Samples:    o.Experiment.Evaluation.Samples,
	}
}

// stage reports the progress of a stage.
func (o Options) stage(name string) func(done, total int) {
	return func(done, total int) {
		if o.Progress != nil {
			o.Progress(name, done, total)
		}
	}
}

// evaluatedRow is a row with the samples and observables that figures show.
type evaluatedRow struct {
	row      Row
	samples  [][]float32
	observed []*observables.Observed // of particles
}

// evaluate draws the method's samples and compares them with the reference.
func (m method) evaluate(
	ctx context.Context, v experiment.Evaluation, f family.Family, mixed []bool, stage func(string) func(done, total int),
) (evaluatedRow, error) {
	row := m.row
	start := time.Now()
	samples, setup, err := m.draw(ctx, stage(row.Name+": sample"))
	if err != nil {
		return evaluatedRow{}, err
	}
	row.SetupSeconds, row.SolveSeconds = setup.Seconds(), (time.Since(start) - setup).Seconds()
	found, err := compare(ctx, v, m.against, samples, stage(row.Name+": compare"))
	if err != nil {
		return evaluatedRow{}, err
	}
	row.Functions = found.functions
	if pointDim(f) == 1 || row.Kind == MCMC {
		chains, err := diagnose(ctx, samples, found.observed, m.chains, f.Dim())
		if err != nil {
			return evaluatedRow{}, err
		}
		if pointDim(f) == 1 {
			m.heedChains(samples, chains, row.Functions)
		}
		if m.chains > 0 && row.Kind == MCMC {
			row.Mixing = mixing(chains)
		}
	}
	row.summarise(mixed, f)
	row.Components = byComponent(row.Functions, f)
	if timed, ok := f.(family.Timed); ok {
		row.Times = intervals(row.Functions, timed.Times())
	}
	if o := row.Summary.Observables; o != nil {
		if o.Pooled, err = pool(m.against, samples, found.observed); err != nil {
			return evaluatedRow{}, err
		}
	}
	return evaluatedRow{row, samples, found.observed}, nil
}

// wants reports whether the options ask for rows of that kind.
func (o Options) wants(k Kind) bool { return len(o.Kinds) == 0 || slices.Contains(o.Kinds, k) }

// describeReference compares the reference sets with the exact laws, where there are
// any, and returns which sets have mixed.
func (r *Results) describeReference(functions []heldOutFunction) (mixed []bool) {
	count := 0
	for _, f := range functions {
		if f.law == nil {
			return nil
		}
		d := f.w2Exact(f.reference)
		r.ReferenceToExact = append(r.ReferenceToExact, d)
		mixed = append(mixed, d < mixedBelow)
		if d < mixedBelow {
			count++
		}
	}
	r.MixedBelow, r.Mixed, r.Reference = mixedBelow, &count, describe(r.ReferenceToExact, nil)
	return mixed
}
