// Package reproduce computes the paper's tables and figures and sets the paper's numbers
// beside ours. Package studies declares the tables: runs, evaluations of their states,
// rows, columns. Package evaluate has the paper's numbers.
//
//	Study ── runs ──► Plan: one planned run per run and seed
//	                    │ train, unless the state is there
//	                    │ evaluate, unless the results are there
//	                    ▼
//	          Directory: runs/HASH, evaluations/HASH
//	                    │
//	                    ▼
//	          Document ──► report/index.html, NAME.md, NAME/, reproduce.json
//
// Nothing runs twice: Make finds a trained state by the hash of its configuration, and
// an evaluation by that and the hash of its own settings. A reproduction that was
// killed continues where it stopped.
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

// Options of Make. All but Runs are needed.
type Options struct {
	Studies []studies.Study
	Preset  string
	Seeds   int      // 1 or more
	Runs    []string // of the studies, those to train and evaluate; none: all
	Dir     Directory
	Workers int // that Train uses on this machine; 0: Train uses other machines
	// Train trains an experiment to its end, continuing where an earlier attempt
	// stopped. It returns the encoded state and the wall times of its stages.
	Train func(context.Context, experiment.Experiment) ([]byte, []report.StageTime, error)
	// Open opens the backend and the simulator of evaluations. Make opens them before
	// the first evaluation of a run and closes them after the last, so that the next
	// training finds the device free.
	Open func() (*backend.Backend, simulate.Simulator, error)
	// Say gets a line for each part that begins or is found; Progress gets how far an
	// evaluation is.
	Say      func(line string)
	Progress func(stage string, done, total int)
}

// Make trains and evaluates what is missing. It writes the report after every planned
// run, so that a long reproduction can be read while it runs. It returns the final
// document, which has what other runs left in the directory too. The first error ends it;
// finished parts stay.
func Make(ctx context.Context, o Options) (*Document, error) {
	plan, err := Plan(o.Studies, o.Preset, o.Seeds)
	if err != nil {
		return nil, err
	}
	wanted, err := Only(plan, o.Runs)
	if err != nil {
		return nil, err
	}
	var doc *Document
	for i, planned := range wanted {
		name := fmt.Sprintf("%s/%s, seed %d (%d of %d)", planned.Run, o.Preset, planned.Seed, i+1, len(wanted))
		if err := o.run(ctx, name, planned); err != nil {
			return nil, fmt.Errorf("%s/%s, seed %d: %w", planned.Run, o.Preset, planned.Seed, err)
		}
		if doc, err = o.Dir.document(o.Studies, plan, o.Preset, o.Seeds); err != nil {
			return nil, err
		}
		if err := o.Dir.Write(ctx, doc); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
	}
	return doc, nil
}

// run trains and evaluates what is missing of a planned run. It trains again a state
// that it needs and that was not kept, as in docs/results/record.tar.xz.
func (o Options) run(ctx context.Context, name string, planned PlannedRun) error {
	hash := planned.Experiment.Hash()
	t, err := o.Dir.training(hash)
	if err != nil {
		return err
	}
	var missing []PlannedEvaluation
	for _, evaluation := range planned.Evaluations {
		done, err := o.Dir.storedEvaluation(evaluation.key())
		if err != nil {
			return err
		}
		if done == nil {
			missing = append(missing, evaluation)
		}
	}
	var st *state.State
	if !t.Finished.IsZero() {
		if len(missing) == 0 {
			o.Say(name + ": complete")
			return nil
		}
		if st, err = o.Dir.state(hash); err != nil {
			return err
		}
	}
	if st == nil {
		o.Say(name + ": train")
		if st, err = o.train(ctx, planned, t.Attempts+1); err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return o.evaluate(ctx, name, st, missing)
}

// train returns the trained state after writing it to the directory.
func (o Options) train(ctx context.Context, planned PlannedRun, attempt int) (*state.State, error) {
	e := planned.Experiment
	t := TrainingRecord{Experiment: e.Name, Preset: e.Preset, Run: e.Hash(), Seed: planned.Seed,
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
		return nil, fmt.Errorf("training ended with a state of run %.12s at step %d, want %.12s at step %d", st.Run, st.Step, t.Run, e.Steps())
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

// here describes this machine and its workers.
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

func (o Options) evaluate(ctx context.Context, name string, st *state.State, missing []PlannedEvaluation) error {
	b, simulator, err := o.Open()
	if err != nil {
		return err
	}
	defer b.Close()
	for _, evaluation := range missing {
		what := name + ": evaluate"
		if evaluation.Name != "" {
			what += " " + evaluation.Name
		}
		o.Say(what)
		began := time.Now()
		results, data, err := evaluate.Run(ctx, evaluate.Options{
			Experiment: evaluation.Experiment, State: st, Backend: b, Simulator: simulator,
			Store: shard.NewDir(o.Dir.Shards()), Kinds: evaluation.Kinds, Progress: o.Progress,
		})
		if err != nil {
			return err
		}
		key, environment, now := evaluation.key(), o.here(), time.Now().UTC()
		var losses []float64
		if evaluation.Name == "" { // the loss curve belongs to the run, which has one such evaluation
			losses = st.Losses
		}
		if _, err := report.Write(ctx, o.Dir.evaluation(key), report.Input{
			Results: results, FigureData: data, Losses: losses, Environment: environment, Created: now,
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
