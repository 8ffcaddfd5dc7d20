package request

import (
	"context"
	"sync"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// A Reader reads requests for one model. It is safe for concurrent use.
type Reader struct {
	experiment experiment.Experiment
	family     family.Family
	trained    shard.Normalisation

	mu      sync.Mutex
	reading reading
	seen    []seen // nil until the first formulas
}

// NewReader makes a reader of requests for a model of the experiment. f is its family, trained
// the normalisation of the model's state.
func NewReader(e experiment.Experiment, f family.Family, trained shard.Normalisation) *Reader {
	return &Reader{experiment: e, family: f, trained: trained}
}

// Resolve finds the equation that a request asks for.
func (m *Reader) Resolve(ctx context.Context, r Request) (Target, error) {
	var t Target
	var err error
	_, timed := m.family.(family.Timed)
	if len(r.Drift)+len(r.Diffusion) == 0 {
		t.Subject, err = function(m.family, m.experiment.Data.Seed, r.Function)
		if err == nil && !timed {
			t.subject = ofFunction(m.family, m.experiment.Data.Seed, r.Function, t.Subject.Function.System)
		}
	} else {
		t, err = r.equation(ctx, m)
	}
	if err != nil {
		return Target{}, err
	}
	t.subject.Grid, _ = gridAndNodes(m.family)
	err = t.moveTo(m.family, r.Time)
	return t, err
}

// trainingSet is what functions of the training set have in the tables that the network reads.
func (m *Reader) trainingSet(ctx context.Context) (reading, []seen, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen != nil {
		return m.reading, m.seen, nil
	}
	_, nodes := gridAndNodes(m.family)
	r, err := newReading(m.experiment, m.family, m.trained, nodes)
	if err != nil {
		return r, nil, err
	}
	all, err := r.seenIn(ctx, m.experiment, m.family, nodes)
	if err != nil {
		return r, nil, err
	}
	m.reading, m.seen = r, all
	return r, all, nil
}
