package reproduce

import (
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/report/studies"
)

// runEvaluation identifies an evaluation of a run; its state exists once per seed.
type runEvaluation struct{ run, evaluation string }

// collection has the outcomes of a study that exist, one per seed.
type collection struct {
	made map[runEvaluation][]studies.Outcome
	// The paper's numbers for an evaluation, whether that exists or not.
	printed map[runEvaluation][]evaluate.PaperRow
}

func newCollection() collection {
	return collection{map[runEvaluation][]studies.Outcome{}, map[runEvaluation][]evaluate.PaperRow{}}
}

// collect adds the outcomes of a planned run and describes it. main is the preset's own
// evaluation, nil if it is missing.
func (d Directory) collect(j PlannedRun, into collection) (fact RunFact, main *storedEvaluation, err error) {
	e := j.Experiment
	fact = RunFact{Run: j.Run, Updates: e.Steps(), Parameters: e.Velocity().Layout().Size()}
	if fact.TrainingRecord, err = d.training(e.Hash()); err != nil {
		return fact, nil, err
	}
	fact.TrainingRecord.Run, fact.Seed = e.Hash(), j.Seed
	for _, t := range j.Evaluations {
		k := runEvaluation{j.Run, t.Name}
		into.printed[k] = t.Paper
		found, err := d.storedEvaluation(t.key())
		if err != nil {
			return fact, nil, err
		}
		if found == nil {
			continue
		}
		if t.Name == "" {
			main = found
		}
		fact.Evaluations = append(fact.Evaluations, EvaluationFact{t.Name, t.key(), found.Results.Seconds, found.Results.Backend, found.Created, found.Environment})
		into.made[k] = append(into.made[k], studies.Outcome{Results: &found.Results, TrainSeconds: fact.seconds("train"), LastLoss: fact.Loss})
	}
	return fact, main, nil
}

// foundRow is a row with its outcome.
type foundRow struct {
	of  studies.Outcome
	row evaluate.Row
}

// rows finds a declared row in the outcome of every seed that has it.
func (o collection) rows(s studies.Study, named studies.RowSpec, evaluation string) []foundRow {
	run, ok := s.FindRun(named.Run)
	if !ok {
		panic(fmt.Sprintf("reproduce: %s has no run %q", s.Name, named.Run))
	}
	var all []foundRow
	for _, outcome := range o.made[runEvaluation{run.Name, evaluation}] {
		i := slices.IndexFunc(outcome.Results.Rows, func(r evaluate.Row) bool {
			return r.Kind == named.Kind && (named.Label == "" || r.Name == named.Label)
		})
		if i >= 0 {
			all = append(all, foundRow{outcome, outcome.Results.Rows[i]})
		}
	}
	return all
}
