package retraining

import (
	"context"
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/evaluation/bootstrap"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/registry"
	"github.com/ergoflow/ergoflow/model/registry/gate"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// judged is a candidate with its evaluation and the gate's verdict.
type judged struct {
	training *training
	state    *state.State
	encoded  []byte
	results  *evaluate.Results
	verdict  gate.Verdict
	champion *evaluate.Results // nil: there is none
	table    gate.Table        // of results
}

// judge evaluates all candidates and the champion on the same held-out functions, and lets the
// gate decide about each. It returns the best candidate; nil if none has a state.
func (r *run) judge(ctx context.Context, version *registry.Version) (*judged, error) {
	champion, frame, err := r.judgeChampion(ctx, version)
	if err != nil {
		return nil, err
	}
	var all []*judged
	for i := range r.journal.Trained {
		t := &r.journal.Trained[i]
		st, encoded, err := r.trained(t)
		if err != nil {
			return nil, err
		}
		if st == nil {
			continue
		}
		j := &judged{training: t, state: st, encoded: encoded, champion: champion}
		e, err := experiment.Parse(t.Experiment)
		if err != nil {
			return nil, err
		}
		if err := proven(ctx, e, st); err != nil {
			return nil, err
		}
		e.Seed = r.Experiment.Seed // of the noise, the same for all
		j.results, err = r.evaluate(ctx, Evaluation{
			Experiment: e, State: st, Frame: frame, Store: r.Config.store(),
			Kinds: gate.Kinds(),
		})
		if err != nil {
			return nil, fmt.Errorf("evaluate the candidate from %s start: %w", t.From, err)
		}
		all = append(all, j)
	}
	c := r.Config.Gate
	if n := len(all); n > 1 { // the best of them is promoted: each has a part of the probability of error
		c.Confidence = 1 - (1-c.Confidence)/float64(n)
	}
	for _, j := range all {
		j.verdict = gate.Judge(c, j.results, champion)
		if j.table, err = gate.TableOf(j.results, evaluate.Model); err != nil {
			return nil, err
		}
	}
	return best(all), nil
}

// judgeChampion evaluates the champion with the data and the evaluation of the candidates. The
// frame is the champion's: in it distances of both are measured.
func (r *run) judgeChampion(ctx context.Context, version *registry.Version) (*evaluate.Results, flow.Frame, error) {
	if version == nil {
		return nil, nil, nil
	}
	encoded, err := r.registry.Load(ctx, *version)
	if err != nil {
		return nil, nil, fmt.Errorf("champion: %w", err)
	}
	e, st, err := experiment.DecodeState(encoded)
	if err != nil {
		return nil, nil, fmt.Errorf("champion %s: %w", version.Ref(), err)
	}
	f, err := e.Family()
	if err != nil {
		return nil, nil, err
	}
	frame, err := flow.FrameOf(st.Normalisation, f.Dim())
	if err != nil {
		return nil, nil, err
	}
	if frame == nil {
		frame = flow.Frame{} // raw states; nil would mean the candidate's
	}
	candidate, err := experiment.Parse(r.journal.Trained[0].Experiment)
	if err != nil {
		return nil, nil, err
	}
	e.Data, e.Evaluation, e.Seed = candidate.Data, candidate.Evaluation, r.Experiment.Seed
	results, err := r.evaluate(ctx, Evaluation{
		Experiment: e, State: st, Frame: frame, Store: r.Config.store(), Kinds: []evaluate.Kind{evaluate.Model},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("evaluate the champion %s: %w", version.Ref(), err)
	}
	return results, frame, nil
}

// evaluate evaluates a state. Where the shards are in a bucket, it copies the held-out one first;
// one that is not there the evaluation makes.
func (r *run) evaluate(ctx context.Context, e Evaluation) (*evaluate.Results, error) {
	if r.Depot != nil {
		err := r.Depot.Fetch(ctx, shard.NewDir(e.Store), e.Experiment.Data.Hash(), e.Experiment.Data.HeldOutShard())
		if err != nil && !errors.Is(err, shard.ErrNotFound) {
			return nil, err
		}
	}
	return r.Evaluate(ctx, e)
}

// proven proves from a state's ledger that it has learned from the functions of its window,
// each as often as the plan says, and so from none that it is judged on.
func proven(ctx context.Context, e experiment.Experiment, st *state.State) error {
	first, count := e.Data.ShardRange(e.Data.HeldOutShard())
	for k := range e.Data.Shards {
		if f, n := e.Data.ShardRange(k); f < first+count && first < f+n {
			return fmt.Errorf("shard %d has functions %d to %d, and functions %d to %d are held out", k, f, f+n-1, first, first+count-1)
		}
	}
	if _, err := st.Ledger.Verify(ctx, e.LedgerBatches(), st.Step); err != nil {
		return fmt.Errorf("ledger of the candidate: %w", err)
	}
	return nil
}

// best is the candidate that the gate promotes or, of equal decisions, the one with the
// smaller mean of the metric that decides.
func best(all []*judged) *judged {
	rank := map[gate.Decision]int{gate.Promote: 0, gate.Keep: 1, gate.Refuse: 2}
	var found *judged
	for _, j := range all {
		if found == nil || rank[j.verdict.Decision] < rank[found.verdict.Decision] ||
			rank[j.verdict.Decision] == rank[found.verdict.Decision] && j.deciding() < found.deciding() {
			found = j
		}
	}
	return found
}

// deciding is the mean of the metric that decides.
func (j *judged) deciding() float64 { return means(j.table)[j.verdict.Metric] }

// means are over the held-out functions.
func means(t gate.Table) map[string]float64 {
	all := make(map[string]float64)
	for _, m := range t.Metrics {
		sum := 0.
		for _, v := range m.Values {
			sum += v
		}
		all[m.Name] = sum / float64(len(m.Values))
	}
	return all
}

// metrics are a version's means with their confidence intervals over functions.
func metrics(t gate.Table) map[string]registry.Metric {
	all := make(map[string]registry.Metric)
	values := means(t)
	for _, m := range t.Metrics {
		v := registry.Metric{Value: values[m.Name], Low: values[m.Name], High: values[m.Name], Functions: len(m.Values)}
		if about, err := bootstrap.Mean(m.Values, t.Equations, 0); err == nil {
			v.Low, v.High, v.Level = about.Low, about.High, bootstrap.Level
		}
		all[m.Name] = v
	}
	return all
}
