package retraining

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/registry"
)

// known is what the registry says of a model when a retraining begins.
type known struct {
	champion *registry.Version // nil: none
	last     *registry.Version // the newest version, promoted or not; nil: none
}

// A step says what a retraining does next.
type step int

const (
	begin   step = iota // a new retraining
	resume              // the one in the journal
	nothing             // there is nothing new to learn
)

// next decides what to do. base is the configured experiment, cold the same with its present
// window and imports. reason is a sentence for people.
func next(j *journal, k known, base, cold experiment.Experiment, start Start, force bool) (s step, reason string) {
	unfinished := j != nil && j.Outcome == nil
	switch {
	case unfinished && j.Configured == inputs(base, start):
		return resume, fmt.Sprintf("retraining %s goes on", j.ID)
	case unfinished:
		return begin, fmt.Sprintf("the configuration has changed, so retraining %s is given up", j.ID)
	case k.last == nil:
		return begin, "the model has no version yet"
	case force:
		return begin, "--force"
	case k.last.Inputs != inputs(cold, start):
		return begin, fmt.Sprintf("the experiment, its data or its start have changed since version %d", k.last.Number)
	case k.last.Decision == string(OutOfBudget):
		return begin, fmt.Sprintf("the budget ended the training of version %d", k.last.Number)
	}
	return nothing, fmt.Sprintf("nothing has changed since version %d, which was %s", k.last.Number, k.last.Decision)
}

// window is the experiment that a new retraining trains cold: the data of the last version
// move on by the growth.
func (c Config) window(base experiment.Experiment, k known) (experiment.Experiment, error) {
	if c.Data.Grow == 0 || k.last == nil {
		return base, nil
	}
	last, err := experiment.Parse(k.last.Config)
	if err != nil {
		return base, fmt.Errorf("configuration of version %d: %w", k.last.Number, err)
	}
	base.Data.First = last.Data.First + c.Data.Grow
	return base, base.Validate()
}

// trainings are the candidates of a retraining. champion is the state that a warm one begins
// from, encoded; nil if there is none.
func (c Config) trainings(cold experiment.Experiment, k known, champion []byte) ([]training, error) {
	var all []training
	for _, from := range c.Start.begins(champion != nil) {
		e, planned := cold, cold.Steps()
		if from == Warm {
			e.Seed += uint64(k.last.Number) // with the parent's it would repeat the parent's batches
			e.Training.LearningRate *= c.Start.LearningRate
			planned = max(int(float64(planned)*c.Start.Steps), 1)
		}
		steps, _ := c.Budget.steps(planned)
		if steps != e.Steps() {
			e.Training.Steps = steps
			e.Training.CheckpointEvery = min(e.Training.CheckpointEvery, steps)
		}
		if err := e.Validate(); err != nil {
			return nil, fmt.Errorf("%s start: %w", from, err)
		}
		if from == Warm {
			var err error
			if e, _, err = e.StartFrom(champion); err != nil {
				return nil, fmt.Errorf("warm start from version %d: %w", k.number(), err)
			}
		}
		raw, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		all = append(all, training{From: from, Experiment: raw, Run: e.Hash(), Planned: steps})
	}
	return all, nil
}

// identity names a retraining: when it began, and what it learns from.
func identity(began time.Time, inputs string) string {
	return began.UTC().Format("20060102T150405Z") + "-" + inputs[:8]
}

// number is that of the champion; 0 if there is none.
func (k known) number() int {
	if k.champion == nil {
		return 0
	}
	return k.champion.Number
}
