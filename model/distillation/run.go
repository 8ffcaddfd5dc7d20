package distillation

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// Options say how to run a distillation.
type Options struct {
	Backend *backend.Backend
	Teacher *state.State
	// Student is a state that Save got earlier in the same distillation; nil: none.
	Student *state.State
	// Save keeps a state: every minute, at the end, and before Run fails because ctx ended.
	Save func(*state.State) error
	// Progress hears of every update, with the loss before it.
	Progress func(step int, loss float64)
}

// saveEvery is the time of training between two saves.
const saveEvery = time.Minute

// Run trains the student of the experiment to its end and returns its state.
func Run(ctx context.Context, e experiment.Experiment, o Options) (*state.State, error) {
	config, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode experiment %s: %w", e.Name, err)
	}
	st := &state.State{
		Run: e.Hash(), Layout: o.Teacher.Layout, Normalisation: o.Teacher.Normalisation,
		Config: config, Ledger: ledger.Ledger{}, // it learns from no stored sample
	}
	s, err := New(o.Backend, e, o.Teacher, o.Student)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	save := func() error {
		if err := s.State(st); err != nil {
			return err
		}
		return o.Save(st)
	}
	saved := time.Now()
	for s.Steps() < e.Steps() {
		loss, err := s.Step(ctx)
		if ctx.Err() != nil {
			if err := save(); err != nil {
				return nil, err
			}
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		o.Progress(s.Steps(), loss)
		if time.Since(saved) > saveEvery {
			if err := save(); err != nil {
				return nil, err
			}
			saved = time.Now()
		}
	}
	return st, save()
}
