package retraining

import (
	"context"
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/registry"
	"github.com/ergoflow/ergoflow/model/registry/gate"
)

// maxJudgements bounds how often candidates are judged because somebody else changes the
// champion meanwhile.
const maxJudgements = 3

// promote judges the candidates, adds the best one to the registry, and makes it the champion
// if the gate says so. What a killed process has done of that is not done again: the registry
// knows the version and the promotion by the identity of the retraining.
func (r *run) promote(ctx context.Context) (Outcome, error) {
	for range maxJudgements {
		out, err := r.judgeAndPromote(ctx)
		if !errors.Is(err, registry.ErrChanged) {
			return out, err
		}
		r.warn("the champion was changed while the candidate was judged: it is judged again")
		if r.known, err = r.look(ctx); err != nil {
			return Outcome{}, err
		}
		r.journal.Champion = r.known.number()
		if err := r.note(); err != nil {
			return Outcome{}, err
		}
	}
	return Outcome{}, fmt.Errorf("%w: %d times while the candidate was judged", registry.ErrChanged, maxJudgements)
}

func (r *run) judgeAndPromote(ctx context.Context) (Outcome, error) {
	champion, err := r.champion(ctx)
	if err != nil {
		return Outcome{}, err
	}
	best, err := r.judge(ctx, champion)
	if err != nil {
		return Outcome{}, err
	}
	if best == nil {
		return r.outcome(OutOfBudget, "the budget ended training before its first checkpoint"), nil
	}
	r.reached("judged")
	decision := decided(best)
	added, err := r.add(ctx, best, decision)
	if err != nil {
		return Outcome{}, err
	}
	r.reached("added")
	if decision == Promoted {
		against := r.journal.Champion
		err := r.registry.Promote(ctx, registry.Promotion{
			Model: r.Config.Name, Number: added.Number, By: r.By, Reasons: best.verdict.Reasons,
			Fence: r.fence, Key: r.key(), Against: &against,
		})
		if err != nil {
			return Outcome{}, err
		}
	}
	r.reached("promoted")
	out := r.outcome(decision, best.verdict.Reasons...)
	out.judgement(best, added, champion)
	r.report(ctx, &out, best)
	return out, nil
}

// decided is the retraining's decision about the best candidate.
func decided(best *judged) Decision {
	switch {
	case best.verdict.Decision == gate.Promote:
		return Promoted
	case best.training.StoppedBy != "":
		return OutOfBudget
	case best.verdict.Decision == gate.Keep:
		return Kept
	}
	return Refused
}

// champion is the version that the candidates are judged against; nil if there is none.
func (r *run) champion(ctx context.Context) (*registry.Version, error) {
	if r.journal.Champion == 0 {
		return nil, nil
	}
	v, err := r.version(ctx, r.journal.Champion)
	return &v, err
}

func (r *run) version(ctx context.Context, number int) (registry.Version, error) {
	return r.registry.Get(ctx, fmt.Sprintf("%s@%d", r.Config.Name, number))
}

// key is the identity of the judgement: of the retraining against this champion.
func (r *run) key() string { return fmt.Sprintf("%s/%d", r.journal.ID, r.journal.Champion) }

// add adds the candidate to the registry.
func (r *run) add(ctx context.Context, best *judged, decision Decision) (registry.Version, error) {
	e, err := experiment.Parse(best.training.Experiment)
	if err != nil {
		return registry.Version{}, err
	}
	v := registry.Version{
		Model: r.Config.Name, Key: r.key(), Experiment: e.Name + "/" + e.Preset,
		Step: best.state.Step, Run: best.state.Run, Dataset: e.Data.Hash(), Config: best.training.Experiment,
		Inputs: r.journal.Inputs, HeldOut: heldOut(e.Data), Imports: hashes(e),
		Seeds:   map[string]uint64{"training": e.Seed, "data": e.Data.Seed},
		Metrics: metrics(best.table), Decision: string(decision), Reasons: best.verdict.Reasons, By: r.By,
	}
	if best.training.From == Warm {
		v.Parent = r.journal.Parent
	}
	return r.registry.Add(ctx, v, best.encoded)
}
