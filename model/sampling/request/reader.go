package request

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// A Reader reads requests for one model. It is safe for concurrent use.
type Reader struct {
	experiment experiment.Experiment
	family     family.Family
	trained    shard.Normalisation

	mu      sync.Mutex
	reading reading
	seen    []seen   // nil until the first formulas
	ranges  []ranges // nil until the first formulas, of a family without a grid
	// recent are targets of formulas by their requests, as text: the next request for the same
	// equation does not wait for its law.
	recent map[string]Target
}

// mostRecent is how many targets a reader keeps, of about 150 kB each.
const mostRecent = 256

// NewReader makes a reader of requests for a model of the experiment. f is its family, trained
// the normalisation of the model's state.
func NewReader(e experiment.Experiment, f family.Family, trained shard.Normalisation) *Reader {
	return &Reader{experiment: e, family: f, trained: trained}
}

// Resolve finds the equation that a request asks for.
func (m *Reader) Resolve(ctx context.Context, r Request) (Target, error) {
	p, err := m.Begin(ctx, r)
	if err != nil {
		return Target{}, err
	}
	return p.Target()
}

// Pending is a target whose samples can be drawn already, while its law is computed.
type Pending struct {
	Subject flow.Subject

	target Target
	err    error
	done   chan struct{}
}

// Begin finds the equation that a request asks for, and computes its law beside the caller.
func (m *Reader) Begin(ctx context.Context, r Request) (*Pending, error) {
	p := &Pending{done: make(chan struct{})}
	key := m.key(r)
	m.mu.Lock()
	t, known := m.recent[key]
	m.mu.Unlock()
	if known {
		p.Subject, p.target = t.Subject, t
		close(p.done)
		return p, nil
	}
	t, err := m.find(r)
	if err != nil {
		return nil, err
	}
	p.Subject = t.Subject
	go func() {
		defer close(p.done)
		if p.target, p.err = m.complete(ctx, t); p.err == nil {
			m.keep(key, p.target)
		}
	}()
	return p, nil
}

// key is a request as text; "" where its target is not kept.
func (m *Reader) key(r Request) string {
	if len(r.Drift) == 0 {
		return ""
	}
	text, err := json.Marshal(r)
	if err != nil {
		return ""
	}
	return string(text)
}

func (m *Reader) keep(key string, t Target) {
	if key == "" {
		return
	}
	// A target is used by several requests then, which append to its warnings.
	t.Warnings = slices.Clip(t.Warnings)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.recent == nil || len(m.recent) >= mostRecent {
		m.recent = make(map[string]Target)
	}
	m.recent[key] = t
}

// Target waits for the law.
func (p *Pending) Target() (Target, error) {
	<-p.done
	return p.target, p.err
}

// find finds the equation, without what takes longer.
func (m *Reader) find(r Request) (t Target, err error) {
	if len(r.Drift)+len(r.Diffusion) == 0 {
		t.Subject, err = function(m.family, m.experiment.Data.Seed, r.Function)
		if _, timed := m.family.(family.Timed); err == nil && !timed {
			system := t.Subject.Function.System
			if !m.experiment.Data.Has(r.Function) {
				first, count := m.experiment.Data.ShardRange(m.experiment.Data.HeldOutShard())
				t.Warnings = append(t.Warnings, fmt.Sprintf("function %d was neither trained on nor held out: the held-out functions are %d to %d", r.Function, first, first+count-1))
			}
			t.later = func(t *Target) {
				t.subject = certificate.ByFunction(m.family, m.experiment.Data.Seed, r.Function, system)
			}
		}
	} else {
		t, err = r.equation(m.family)
	}
	if err != nil {
		return Target{}, err
	}
	t.compare = len(r.Drift) > 0 && !t.inSpace
	t.table = t.Subject.Function
	return t, t.moveTo(m.family, r.Time)
}

// complete computes the law of a target, and compares formulas with the training set.
func (m *Reader) complete(ctx context.Context, t Target) (Target, error) {
	if t.later != nil {
		t.later(&t)
	}
	if t.inSpace {
		far, err := m.beyondTraining(t.Subject.Function.System.(sde.Space))
		if err != nil {
			return Target{}, err
		}
		t.Warnings = append(t.Warnings, far...)
	}
	if t.compare {
		far, unlearned, err := m.outOfRange(ctx, t.table, t.tabulated)
		if err != nil {
			return Target{}, err
		}
		t.Warnings = append(t.Warnings, far...)
		t.subject.Unlearned = unlearned
	}
	t.subject.Grid, _ = gridAndNodes(m.family)
	return t, nil
}

// Prepare makes the training set's values, which otherwise the first formulas wait for.
func (m *Reader) Prepare(ctx context.Context) error {
	if _, nodes := gridAndNodes(m.family); nodes == 0 {
		return nil // it reads no formulas
	}
	_, _, err := m.trainingSet(ctx)
	return err
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
