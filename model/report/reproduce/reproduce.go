// Package reproduce makes the paper's tables and figures again and puts ours
// beside them. What belongs to a table — the runs behind it, the evaluations of
// their states, the rows and columns — is declared as data (Studies), and what the
// paper prints there is in package evaluate; everything else follows:
//
//	Study ── runs ──► Plan: one job per run and seed
//	                    │ train, unless the state is there
//	                    │ evaluate, unless the results are there
//	                    ▼
//	          Directory: runs/HASH, evaluations/HASH
//	                    │
//	                    ▼
//	          Document ──► report/index.html, NAME.md, NAME/, reproduce.json
//
// Nothing is done twice: a trained state is found by the hash of its
// configuration, an evaluation by that and the hash of its own. A reproduction
// that was killed goes on where it was.
package reproduce

import (
	"context"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/report"
	"github.com/ergoflow/ergoflow/model/report/studies"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// Options of Make. All are needed.
type Options struct {
	Studies []studies.Study
	Preset  string
	Seeds   int // 1 or more
	Dir     Directory
	Workers int // that Train uses on this machine; 0: it uses others
	// Train brings an experiment to its end, going on where an earlier attempt
	// stopped, and returns the encoded state and how long the parts took.
	Train func(context.Context, experiment.Experiment) ([]byte, []report.StageTime, error)
	// Open gives what evaluations compute with. It is called when the first of a
	// job is due and closed after the last, so that a training between two jobs
	// finds the device free.
	Open func() (*backend.Backend, simulate.Simulator, error)
	// Say is told what begins or is found, a line each; Progress how far an
	// evaluation is.
	Say      func(line string)
	Progress func(stage string, done, total int)
}

// Make does what is missing and writes the report, again after every job, so
// that a long reproduction can be read while it goes on. It returns the final
// document; the error of a job that fails ends it, and what was done stays.
func Make(ctx context.Context, o Options) (*Document, error) {
	jobs, err := Plan(o.Studies, o.Preset, o.Seeds)
	if err != nil {
		return nil, err
	}
	var doc *Document
	for i, job := range jobs {
		name := fmt.Sprintf("%s/%s, seed %d (%d of %d)", job.Run, o.Preset, job.Seed, i+1, len(jobs))
		if err := o.job(ctx, name, job); err != nil {
			return nil, fmt.Errorf("%s/%s, seed %d: %w", job.Run, o.Preset, job.Seed, err)
		}
		if doc, err = o.Dir.document(o.Studies, jobs, o.Preset, o.Seeds); err != nil {
			return nil, err
		}
		if err := o.Dir.Write(ctx, doc); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
	}
	return doc, nil
}

// job trains and evaluates what is missing. A state that is needed and was not
// kept, as in docs/results/record.tar.xz, is trained again.
func (o Options) job(ctx context.Context, name string, job PlannedRun) error {
	hash := job.Experiment.Hash()
	t, err := o.Dir.training(hash)
	if err != nil {
		return err
	}
	var missing []PlannedEvaluation
	for _, task := range job.Evaluations {
		done, err := o.Dir.storedEvaluation(task.key())
		if err != nil {
			return err
		}
		if done == nil {
			missing = append(missing, task)
		}
	}
	var st *state.State
	if !t.Finished.IsZero() {
		if len(missing) == 0 {
			o.Say(name + ": all there")
			return nil
		}
		if st, err = o.Dir.state(hash); err != nil {
			return err
		}
	}
	if st == nil {
		o.Say(name + ": train")
		if st, err = o.train(ctx, job, t.Attempts+1); err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return o.evaluate(ctx, name, st, missing)
}

// train returns the trained state, which it has written down.
func (o Options) train(ctx context.Context, job PlannedRun, attempt int) (*state.State, error) {
	e := job.Experiment
	t := TrainingRecord{Experiment: e.Name, Preset: e.Preset, Run: e.Hash(), Seed: job.Seed,
		Attempts: attempt}
	if o.Workers > 0 {
		t.Environment = o.here()
	}
	if err := o.Dir.writeTraining(t); err != nil {
		return nil, err
	}
	encoded, stages, err := o.Train(ctx, e)
	if err != nil {
		return nil, err
	}
	_, st, err := experiment.DecodeState(encoded)
	if err != nil {
		return nil, err
	}
	if st.Run != t.Run || int(st.Step) != e.Steps() {
		return nil, fmt.Errorf("training ended with a state of run %.12s at step %d, not of %.12s at step %d", st.Run, st.Step, t.Run, e.Steps())
	}
	if err := o.Dir.writeState(t.Run, encoded); err != nil {
		return nil, err
	}
	for _, s := range stages {
		t.Stages = append(t.Stages, StageSeconds{s.Name, s.Took.Seconds()})
	}
	t.Loss = lastLosses(st.Losses)
	t.Finished = time.Now().UTC()
	return st, o.Dir.writeTraining(t)
}

// here is this machine and the workers that it has.
func (o Options) here() report.Environment {
	e := report.Here()
	e.Workers = o.Workers
	return e
}

// lastLosses is the mean over the last tenth of the steps, at most 250.
func lastLosses(losses []float64) float64 {
	n := max(1, min(250, len(losses)/10))
	if len(losses) < n {
		return 0
	}
	var sum float64
	for _, v := range losses[len(losses)-n:] {
		sum += v
	}
	return sum / float64(n)
}

func (o Options) evaluate(ctx context.Context, name string, st *state.State, tasks []PlannedEvaluation) error {
	b, simulator, err := o.Open()
	if err != nil {
		return err
	}
	defer b.Close()
	for _, task := range tasks {
		what := name + ": evaluate"
		if task.Name != "" {
			what += " " + task.Name
		}
		o.Say(what)
		began := time.Now()
		results, shown, err := evaluate.Run(ctx, evaluate.Options{
			Experiment: task.Experiment, State: st, Backend: b, Simulator: simulator,
			Store: shard.NewDir(o.Dir.Shards()), Kinds: task.Kinds, Progress: o.Progress,
		})
		if err != nil {
			return err
		}
		key, environment, now := task.key(), o.here(), time.Now().UTC()
		var losses []float64
		if task.Name == "" { // the curve belongs to the run, which has one such task
			losses = st.Losses
		}
		if _, err := report.Write(ctx, o.Dir.evaluation(key), report.Input{
			Results: results, FigureData: shown, Losses: losses, Environment: environment, Created: now,
			Stages: []report.StageTime{{Name: "evaluate", Took: time.Since(began), Note: fmt.Sprintf("%d functions", results.Functions)}},
		}); err != nil {
			return err
		}
		if err := o.Dir.writeCompletion(key, completion{environment, now}); err != nil {
			return err
		}
	}
	return nil
}
