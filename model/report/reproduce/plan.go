package reproduce

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/report/studies"
)

// format enters the key of every evaluation. Change it when the same configuration
// gives other numbers than before.
const format = "ergoflow/reproduce/1"

// PlannedRun is one run with one seed: a training and the evaluations of its state.
type PlannedRun struct {
	Study       string
	Run         string
	Seed        uint64
	Experiment  experiment.Experiment
	Evaluations []PlannedEvaluation
}

// PlannedEvaluation is one evaluation of a planned run's state.
type PlannedEvaluation struct {
	Name       string // name; empty: the preset's own
	Experiment experiment.Experiment
	Kinds      []evaluate.Kind
	// Paper has the paper's numbers for it; none for an evaluation of few functions.
	Paper []evaluate.PaperRow
}

// Plan lists the runs of the studies at a preset, with seeds 1 to n. The first run of a
// study, whose figures the report shows, computes every row with the first seed. Other
// runs compute the rows that tables name; other seeds, those of them that depend on the
// trained state.
func Plan(chosen []studies.Study, preset string, seeds int) ([]PlannedRun, error) {
	var runs []PlannedRun
	for _, s := range chosen {
		for _, r := range s.Runs {
			for seed := range seeds {
				planned, err := planRun(s, r, preset, uint64(seed+1))
				if err != nil {
					return nil, fmt.Errorf("%s, run %s: %w", s.Name, r.Name, err)
				}
				planned.Study = s.Name
				runs = append(runs, planned)
			}
		}
	}
	return runs, nil
}

// ErrUnknownRun is a name that no planned run has.
var ErrUnknownRun = errors.New("no run has that name")

// Only are the planned runs of these names; of none, all.
func Only(plan []PlannedRun, names []string) ([]PlannedRun, error) {
	if len(names) == 0 {
		return plan, nil
	}
	var known []string
	for _, p := range plan {
		if !slices.Contains(known, p.Run) {
			known = append(known, p.Run)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%w: %q (known: %s)", ErrUnknownRun, name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(plan), func(p PlannedRun) bool { return !slices.Contains(names, p.Run) }), nil
}

func planRun(s studies.Study, r studies.RunSpec, preset string, seed uint64) (PlannedRun, error) {
	set := append(r.Set[:len(r.Set):len(r.Set)], "seed="+strconv.FormatUint(seed, 10))
	e, err := experiment.Load(r.Experiment, preset, "", set)
	if err != nil {
		return PlannedRun{}, err
	}
	if e.Evaluation.MCMC, err = studies.MCMCRows(e.Evaluation, r.Budgets); err != nil {
		return PlannedRun{}, err
	}
	planned := PlannedRun{Run: r.Name, Seed: seed, Experiment: e}
	for _, v := range append([]studies.EvaluationSpec{{}}, r.Evaluations...) {
		first := v.Name == "" && r.Name == s.Runs[0].Name
		kinds, wanted := wantedKinds(s, r, v, seed, first)
		if !wanted {
			continue
		}
		evaluated, err := experiment.Load(r.Experiment, preset, "", append(set[:len(set):len(set)], v.Set...))
		if err != nil {
			return PlannedRun{}, fmt.Errorf("evaluation %s: %w", v.Name, err)
		}
		if v.Functions > 0 {
			evaluated.Evaluation.Functions = min(v.Functions, evaluated.Evaluation.Functions)
		}
		if v.Budgets == nil {
			v.Budgets = r.Budgets
		}
		if evaluated.Evaluation.MCMC, err = studies.MCMCRows(evaluated.Evaluation, v.Budgets); err != nil {
			return PlannedRun{}, fmt.Errorf("evaluation %s: %w", v.Name, err)
		}
		if evaluated.Hash() != e.Hash() {
			return PlannedRun{}, fmt.Errorf("evaluation %s changes the training", v.Name)
		}
		evaluation := PlannedEvaluation{Name: v.Name, Experiment: evaluated, Kinds: kinds}
		if v.Functions == 0 {
			evaluation.Paper = evaluate.Paper(evaluated, slices.Concat(r.Set, v.Set)...)
		}
		planned.Evaluations = append(planned.Evaluations, evaluation)
	}
	return planned, nil
}

// wantedKinds are the kinds of rows that an evaluation computes; none means all, and
// some is false where no row is needed.
func wantedKinds(s studies.Study, r studies.RunSpec, v studies.EvaluationSpec, seed uint64, first bool) (kinds []evaluate.Kind, some bool) {
	switch {
	case seed == 1 && first:
		return nil, true
	case seed == 1 && len(v.Kinds) > 0:
		return v.Kinds, true
	}
	named := namedKinds(s, r, v, seed)
	for _, k := range evaluate.Kinds() {
		if slices.Contains(named, k) && (seed == 1 || slices.Contains(studies.OfTrainedState, k)) {
			kinds = append(kinds, k)
		}
	}
	return kinds, len(kinds) > 0
}

// namedKinds are the kinds of rows that tables and figures need of an evaluation with a
// seed.
func namedKinds(s studies.Study, r studies.RunSpec, v studies.EvaluationSpec, seed uint64) (kinds []evaluate.Kind) {
	add := func(row studies.RowSpec, evaluation string) {
		if row.Once && seed > 1 {
			return
		}
		if of, ok := s.FindRun(row.Run); ok && of.Name == r.Name && evaluation == v.Name {
			kinds = append(kinds, row.Kind)
		}
	}
	for _, c := range s.Costs {
		for _, p := range c.Points {
			add(p.RowSpec, p.Evaluation)
		}
	}
	for _, row := range s.Spread {
		add(row, row.Evaluation)
	}
	for _, t := range s.Tables {
		for _, row := range append(t.Rows[:len(t.Rows):len(t.Rows)], t.BaseRow()) {
			for _, c := range t.Columns {
				add(row, c.EvaluationOf(row))
			}
		}
	}
	return kinds
}

// key is the hash of everything that the evaluation's numbers depend on.
func (t PlannedEvaluation) key() string {
	v := t.Experiment.Evaluation
	if len(t.Kinds) > 0 && !slices.Contains(t.Kinds, evaluate.MCMC) {
		v.MCMC = nil // not run
	}
	raw, err := json.Marshal(struct {
		Format     string                `json:"format"`
		Run        string                `json:"run"`
		Evaluation experiment.Evaluation `json:"evaluation"`
		Kinds      []evaluate.Kind       `json:"kinds"`
		Probes     *experiment.Probes    `json:"probes,omitempty"`
	}{format, t.Experiment.Hash(), v, t.Kinds, t.Experiment.UnlearnedProbes()})
	if err != nil {
		panic(fmt.Sprintf("reproduce: hash of an unvalidated configuration: %v", err))
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}
