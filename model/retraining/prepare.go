package retraining

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/registry"
)

// prepare decides what to do. An outcome means that there is nothing.
func (r *run) prepare(ctx context.Context) (*Outcome, error) {
	c := r.Config
	j, err := readJournal(c.Dir)
	if err != nil {
		return nil, err
	}
	if j != nil && j.Outcome != nil && r.Scheduled != "" && j.Schedule == r.Schedule && j.Scheduled == r.Scheduled {
		return j.Outcome, nil // it was started twice for one time
	}
	what, reason, cold, err := r.decide(ctx, j, r.collect)
	if err != nil {
		return nil, err
	}
	r.Log.Info(reason)
	switch what {
	case nothing:
		out := r.outcome(Nothing, reason)
		return &out, nil
	case resume:
		r.journal, r.before = j, j.Spent
		return nil, nil
	}
	if j != nil && j.Outcome == nil {
		if err := os.RemoveAll(runDir(c.Dir, j.ID)); err != nil {
			return nil, fmt.Errorf("remove the retraining that is given up: %w", err)
		}
	}
	warnings, err := cold.PilotRun(ctx) // before data are made of which nobody would look at one
	if err != nil {
		return nil, err
	}
	return nil, r.newJournal(ctx, cold, warnings)
}

// decide says what to do and why, and which experiment would be trained cold. imports adds the
// own samples to the configured one.
func (r *run) decide(ctx context.Context, j *journal, imports func(context.Context, experiment.Experiment) (experiment.Experiment, error)) (
	what step, reason string, cold experiment.Experiment, err error,
) {
	if r.known, err = r.look(ctx); err != nil {
		return what, "", cold, err
	}
	if err := r.known.holdsOut(r.Experiment.Data); err != nil {
		return what, "", cold, err
	}
	base, err := imports(ctx, r.Experiment)
	if err != nil {
		return what, "", cold, err
	}
	if cold, err = r.Config.window(base, r.known); err != nil {
		return what, "", cold, err
	}
	what, reason = next(j, r.known, r.Experiment, cold, r.Config.Start, r.Force)
	return what, reason, cold, nil
}

// newJournal begins a retraining. warnings are those of its data.
func (r *run) newJournal(ctx context.Context, cold experiment.Experiment, warnings []string) error {
	now := inputs(cold, r.Config.Start)
	r.journal = &journal{
		Format: journalFormat, ID: identity(r.began, now), Schedule: r.Schedule, Scheduled: r.Scheduled, Began: r.began.UTC(),
		Inputs: now, Configured: inputs(r.Experiment, r.Config.Start), Champion: r.known.number(),
	}
	champion, err := r.warm(ctx)
	if err != nil {
		return err
	}
	if r.journal.Trained, err = r.Config.trainings(cold, r.known, champion); err != nil {
		return err
	}
	r.journal.Parent = r.known.number()
	for _, w := range warnings {
		r.warn("%s", w)
	}
	has := shard.NewDir(r.Config.store()).Has
	if r.Depot != nil { // data are not on this disk
		has = func(string, int) bool { return true }
	}
	if err := r.Config.Budget.fits(r.Config.Dir, has, r.journal.Trained); err != nil {
		return err
	}
	if err := atomicfile.MakeDirs(runDir(r.Config.Dir, r.journal.ID)); err != nil {
		return err
	}
	return r.note()
}

// warm reads the state that a warm start begins from; nil if none does.
func (r *run) warm(ctx context.Context) ([]byte, error) {
	if r.known.champion == nil || r.Config.Start.From == Cold {
		return nil, nil
	}
	encoded, err := r.registry.Load(ctx, *r.known.champion)
	if err != nil {
		return nil, fmt.Errorf("champion: %w", err)
	}
	return encoded, nil
}

// look asks the registry about the model.
func (r *run) look(ctx context.Context) (known, error) {
	var k known
	all, err := r.registry.List(ctx, r.Config.Name)
	if errors.Is(err, registry.ErrNotFound) || errors.Is(err, registry.ErrNoRegistry) {
		return k, nil
	}
	if err != nil || len(all) == 0 {
		return k, err
	}
	last, err := r.registry.Get(ctx, all[len(all)-1].Ref())
	if err != nil {
		return k, err
	}
	k.last = &last
	champion, err := r.registry.Get(ctx, r.Config.Name)
	if errors.Is(err, registry.ErrNotFound) {
		return k, nil
	}
	if err != nil {
		return k, err
	}
	k.champion = &champion
	return k, nil
}
