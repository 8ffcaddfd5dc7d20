package reproduce

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/ergoflow/ergoflow/data/simulate"
	"github.com/ergoflow/ergoflow/model/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// format enters the key of every evaluation: it changes when the same
// configuration comes to mean other numbers.
const format = "ergoflow/reproduce/1"

// Job is one run with one seed: a training and the evaluations of its state.
type Job struct {
	Study      string
	Run        string
	Seed       uint64
	Experiment experiment.Experiment
	Tasks      []Task
}

// Task is one evaluation of a job's state.
type Task struct {
	Evaluation string // name; empty: the preset's own
	Experiment experiment.Experiment
	Kinds      []evaluate.Kind
}

// trained are the rows that depend on the trained state, and so on the seed:
// for the others one seed says everything.
var trained = []evaluate.Kind{evaluate.Model, evaluate.Shuffled, evaluate.Untrained}

// Plan lists the jobs of the studies at a preset, seeds 1 to n. Of a study's
// first run everything is evaluated, of its others what the tables show of them;
// with the first seed all of that, with others what depends on the state.
func Plan(studies []Study, preset string, seeds int) ([]Job, error) {
	var jobs []Job
	for _, s := range studies {
		for i, r := range s.Runs {
			var shown []evaluate.Kind
			if i > 0 {
				shown = s.kinds(r.Name)
			}
			for seed := range seeds {
				job, err := r.job(preset, uint64(seed+1), shown)
				if err != nil {
					return nil, fmt.Errorf("%s, run %s: %w", s.Name, r.Name, err)
				}
				job.Study = s.Name
				jobs = append(jobs, job)
			}
		}
	}
	return jobs, nil
}

// kinds are the rows of a run's own evaluation that the study's tables show.
func (s Study) kinds(run string) []evaluate.Kind {
	var kinds []evaluate.Kind
	for _, t := range s.Tables {
		for _, r := range t.Rows {
			if r.Run == run && r.Evaluation == "" && !slices.Contains(kinds, r.Kind) {
				kinds = append(kinds, r.Kind)
			}
		}
	}
	return kinds
}

// job is the run with one seed; shown are the rows of its own evaluation, all of
// them if there are none.
func (r Run) job(preset string, seed uint64, shown []evaluate.Kind) (Job, error) {
	set := append(r.Set[:len(r.Set):len(r.Set)], "seed="+strconv.FormatUint(seed, 10))
	e, err := experiment.Load(r.Experiment, preset, "", set)
	if err != nil {
		return Job{}, err
	}
	if e.Evaluation.MCMC, err = budgets(e.Evaluation, r.Budgets); err != nil {
		return Job{}, err
	}
	job := Job{Run: r.Name, Seed: seed, Experiment: e}
	for _, v := range append([]Evaluation{{Kinds: shown}}, r.Evaluations...) {
		kinds := v.Kinds
		if seed > 1 {
			if kinds = dependent(kinds); len(kinds) == 0 {
				continue
			}
		}
		judged, err := experiment.Load(r.Experiment, preset, "", append(set[:len(set):len(set)], v.Set...))
		if err != nil {
			return Job{}, fmt.Errorf("evaluation %s: %w", v.Name, err)
		}
		if v.Budgets == nil {
			v.Budgets = r.Budgets
		}
		if judged.Evaluation.MCMC, err = budgets(judged.Evaluation, v.Budgets); err != nil {
			return Job{}, fmt.Errorf("evaluation %s: %w", v.Name, err)
		}
		if judged.Hash() != e.Hash() {
			return Job{}, fmt.Errorf("evaluation %s changes what is trained", v.Name)
		}
		job.Tasks = append(job.Tasks, Task{v.Name, judged, kinds})
	}
	return job, nil
}

// dependent are the kinds of a list that depend on the trained state; of the
// empty list, which means all, there are some.
func dependent(kinds []evaluate.Kind) []evaluate.Kind {
	var some []evaluate.Kind
	for _, k := range trained {
		if len(kinds) == 0 || slices.Contains(kinds, k) {
			some = append(some, k)
		}
	}
	return some
}

// budgets are the MCMC rows of an evaluation: the preset's where there are no
// others. The samples of a chain are spread over the steps after its burn-in,
// the first and the last included.
func budgets(v experiment.Evaluation, wanted []Budget) ([]experiment.MCMC, error) {
	if len(wanted) == 0 {
		return v.MCMC, nil
	}
	rows := make([]experiment.MCMC, len(wanted))
	for i, b := range wanted {
		chains := min(budgetChains, v.Samples)
		perChain := v.Samples / chains
		burnIn := b.Steps / 5
		if perChain < 2 || b.Steps-burnIn < perChain-1 {
			return nil, fmt.Errorf("budget %s: %d steps are too few for %d samples of each of %d chains", b.Name, b.Steps, perChain, chains)
		}
		rows[i] = experiment.MCMC{Name: b.Name, Scheme: simulate.Scheme{
			DT: b.DT, BurnIn: burnIn, Thin: (b.Steps - burnIn) / (perChain - 1), Chains: chains}}
	}
	return rows, nil
}

// key names the evaluation by everything its numbers depend on.
func (t Task) key() string {
	v := t.Experiment.Evaluation
	if len(t.Kinds) > 0 && !slices.Contains(t.Kinds, evaluate.MCMC) {
		v.MCMC = nil // not run
	}
	raw, err := json.Marshal(struct {
		Format     string                `json:"format"`
		Run        string                `json:"run"`
		Evaluation experiment.Evaluation `json:"evaluation"`
		Kinds      []evaluate.Kind       `json:"kinds"`
	}{format, t.Experiment.Hash(), v, t.Kinds})
	if err != nil {
		panic(fmt.Sprintf("reproduce: hash of an unvalidated configuration: %v", err))
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}
