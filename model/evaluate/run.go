package evaluate

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/family"
	"github.com/ergoflow/ergoflow/data/shard"
	"github.com/ergoflow/ergoflow/data/simulate"
	"github.com/ergoflow/ergoflow/model/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/state"
)

// mixedBelow is the W2 distance between a reference set and the exact law up to
// which its chains count as mixed: means are also given over those functions
// alone, since elsewhere the reference is not the law.
const mixedBelow = 0.2

// Options of Run. All but Kinds and Progress are needed.
type Options struct {
	Experiment experiment.Experiment
	State      *state.State // to be judged; its normalisation serves the untrained network too
	Backend    *backend.Backend
	Store      *shard.Dir // has the held-out shard, or gets it
	Simulator  simulate.Simulator
	Kinds      []Kind // the rows that are made; none: all
	// Progress is told the stage ("mcmc: sample", "model: compare") and how many
	// functions of it are done, from one goroutine at a time.
	Progress func(stage string, done, total int)
}

// Run judges the state. The numbers depend on experiment and state alone, up to
// the rounding of the backend; the times do not. It stops soon after ctx does,
// with its error.
func Run(ctx context.Context, o Options) (*Results, []Percentile, error) {
	began := time.Now()
	e := o.Experiment
	if err := e.Validate(); err != nil {
		return nil, nil, err
	}
	f, err := family.ByName(e.Data.Family)
	if err != nil {
		return nil, nil, err
	}
	stage := func(name string) func(done, total int) {
		return func(done, total int) {
			if o.Progress != nil {
				o.Progress(name, done, total)
			}
		}
	}
	functions, err := heldOut(ctx, o, f, stage("reference: sample"))
	if err != nil {
		return nil, nil, err
	}
	hash := o.State.ParameterHash()
	r := &Results{
		Version:    ergoflow.Version,
		Experiment: e,
		Run:        cmp.Or(o.State.Run, e.Hash()),
		Step:       int(o.State.Step),
		Parameters: hex.EncodeToString(hash[:]),
		Backend:    o.Backend.Name + " (" + o.Backend.Device + ")",
		Dim:        f.Dim(),
		Functions:  len(functions),
		Samples:    e.Evaluation.Samples,
	}
	mixed := r.describeReference(functions)
	before, after := baselines(o, f, functions)
	methods := slices.Concat(before, networks(o, functions), after)
	drawn := map[Kind][][]float32{} // the last of each kind, to show
	for _, m := range methods {
		row := m.row
		if len(o.Kinds) > 0 && !slices.Contains(o.Kinds, row.Kind) {
			continue
		}
		start := time.Now()
		samples, setup, err := m.draw(ctx, stage(row.Name+": sample"))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", row.Name, err)
		}
		row.SetupSeconds, row.SolveSeconds = setup.Seconds(), (time.Since(start) - setup).Seconds()
		if row.Functions, err = judge(ctx, e.Evaluation, functions, samples, stage(row.Name+": compare")); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", row.Name, err)
		}
		row.summarise(mixed)
		r.Rows = append(r.Rows, row)
		drawn[row.Kind] = samples
	}
	r.Seconds = time.Since(began).Seconds()
	return r, r.percentiles(functions, drawn), nil
}

// describeReference measures the reference sets against the exact laws, where
// there are such, and returns which of them have mixed.
func (r *Results) describeReference(functions []function) (mixed []bool) {
	for _, f := range functions {
		if f.law == nil {
			return nil
		}
		d := w2Exact(f.reference, f.law)
		r.ReferenceToExact = append(r.ReferenceToExact, d)
		mixed = append(mixed, d < mixedBelow)
		if d < mixedBelow {
			r.Mixed++
		}
	}
	r.MixedBelow, r.Reference = mixedBelow, describe(r.ReferenceToExact)
	return mixed
}

// percentiles picks the functions at the 25th, 50th and 75th percentile of the
// model's Sinkhorn divergence.
func (r *Results) percentiles(functions []function, drawn map[Kind][][]float32) []Percentile {
	e := r.Experiment
	model, ok := r.Row(Model)
	if !ok {
		return nil
	}
	order := make([]int, len(functions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(model.Functions[a].Sinkhorn, model.Functions[b].Sinkhorn)
	})
	var shown []Percentile
	for _, percent := range []int{25, 50, 75} {
		i := order[int(math.Round(float64(percent)/100*float64(len(order)-1)))]
		p := Percentile{Percent: percent, Function: model.Functions[i],
			Reference: functions[i].reference, Model: drawn[Model][i]}
		if mcmc := drawn[MCMC]; mcmc != nil {
			last := e.Evaluation.MCMC[len(e.Evaluation.MCMC)-1]
			p.MCMC, p.MCMCName = mcmc[i], last.Name
		}
		if law := functions[i].law; law != nil {
			p.X, p.PDF, p.CDF = curves(law, p.Reference, p.MCMC, p.Model)
		}
		shown = append(shown, p)
	}
	return shown
}

// curves tabulates a law: closely between its 10⁻⁵ quantiles, coarsely from
// there to the ends of the samples that are shown with it.
func curves(law family.Law, samples ...[]float32) (x, pdf, cdf []float64) {
	const points, margin, tail = 801, 20, 1e-5
	lo, hi := law.Quantile(tail), law.Quantile(1-tail)
	from, to := lo, hi
	for _, set := range samples {
		for _, v := range set {
			from, to = min(from, float64(v)), max(to, float64(v))
		}
	}
	for i := range margin {
		x = append(x, from+(lo-from)*float64(i)/margin)
	}
	for i := range points {
		x = append(x, lo+(hi-lo)*float64(i)/(points-1))
	}
	for i := range margin {
		x = append(x, hi+(to-hi)*float64(i+1)/margin)
	}
	for _, v := range x {
		pdf, cdf = append(pdf, law.PDF(v)), append(cdf, law.CDF(v))
	}
	return x, pdf, cdf
}
