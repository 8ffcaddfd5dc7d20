package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/progress"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/simulator"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/report"
	"github.com/ergoflow/ergoflow/model/training/state"
)

func evaluateCommand() *cobra.Command {
	var choose experimentFlags
	var dir, checkpoint, other, backendName, engine string
	var rows []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "evaluate EXPERIMENT",
		Short: "Evaluate a trained model on held-out equations",
		Long: `Samples held-out equations with the model and with the baselines, measures the
distances of all of them to reference samples and writes the table, the figures
and the report. --set may change settings of the evaluation.

With --family the held-out equations are of another family, which the network
has not seen. The other settings are those of the training.`,
		Example: "  ergoflow evaluate vn1d --preset demo --set evaluation.solver=rk4-16 --rows model,floor\n" +
			"  ergoflow evaluate anyd --preset demo --set data.family=planar.yaml --family neuron.yaml",
		Args: exactly(1, "an experiment: "+experimentNames()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := knownNames(backendName, engine); err != nil {
				return err
			}
			kinds, err := evaluate.KindsOf(rows)
			if err != nil {
				return usage(fmt.Errorf("--rows: %w", err))
			}
			e, err := choose.load(args[0])
			if err != nil {
				return err
			}
			if dir == "" {
				dir = defaultDir(e)
			}
			var trained experiment.Experiment
			var st *state.State
			if checkpoint == "" {
				trained, st, err = readStateOf(cmd.Context(), dir, e.Hash())
			} else {
				trained, st, err = readState(cmd.Context(), checkpoint)
			}
			if err != nil {
				return err
			}
			if e, err = choose.of(args[0], trained); err != nil {
				return err
			}
			if trained.Hash() != e.Hash() {
				return withHint(fmt.Errorf("the checkpoint is of another run than %s/%s: %s/%s, %.12s instead of %.12s",
					e.Name, e.Preset, trained.Name, trained.Preset, trained.Hash(), e.Hash()),
					"give the --preset, --config and --set of the training")
			}
			what := evaluation{
				experiment: e, state: st, rows: kinds,
				store: filepath.Join(dir, "shards"), out: filepath.Join(dir, "report"),
				backend: backendName, engine: engine, json: asJSON,
			}
			if other != "" {
				if err := what.transfer(cmd.Context(), other); err != nil {
					return err
				}
			}
			return evaluateAndReport(cmd.Context(), what)
		},
	}
	choose.add(cmd)
	choose.addReproducible(cmd)
	cmd.Flags().Lookup("reproducible").Usage = "evaluate the run that was trained with --reproducible"
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "", "directory of the run (default ergoflow-runs/NAME-PRESET)")
	f.StringVar(&checkpoint, "checkpoint", "", checkpointUsage+" (default: the run's latest)")
	f.StringSliceVar(&rows, "rows", nil, "`NAMES` of the rows to make, separated by commas, of "+strings.Join(evaluate.KindNames(), ", ")+" (default all)")
	f.StringVar(&other, "family", "", "evaluate on held-out equations of another family: a `FILE` with its definition, or a name")
	f.StringVar(&backendName, "backend", backend.Auto, "compute backend: auto, xla:cuda, xla:cpu or go")
	addSimulator(cmd, &engine)
	f.BoolVar(&asJSON, "json", false, "print the results as JSON (docs/formats.md)")
	return cmd
}

// An evaluation says what evaluateAndReport evaluates, and where it writes.
type evaluation struct {
	experiment experiment.Experiment
	state      *state.State
	rows       []evaluate.Kind // none: all
	trainedOn  string          // the state's family, if another one was chosen
	store, out string          // directories
	backend    string
	engine     string             // that simulates
	workers    int                // that trained; 0 if unknown
	stages     []report.StageTime // before the evaluation
	json       bool
}

// transfer makes the evaluation one of another family, after a pilot run of its data. The report has
// a directory of its own.
func (e *evaluation) transfer(ctx context.Context, reference string) error {
	trained := e.experiment
	other, err := trained.Transferred(reference, ".")
	if errors.Is(err, experiment.ErrTransfer) {
		return withHint(usage(fmt.Errorf("--family %s: %w", reference, err)), "name a family of the same dimension whose diffusion has no more numbers than that of the training")
	}
	if err != nil {
		return usage(fmt.Errorf("--family %s: %w", reference, err))
	}
	warnings, err := other.PilotRun(ctx)
	if err != nil {
		return usage(fmt.Errorf("--family %s: %w", reference, err))
	}
	warn(warnings)
	f, err := other.Family()
	if err != nil {
		return err
	}
	e.experiment, e.trainedOn = other, trained.Data.Family
	e.out += "-" + f.Name()
	return nil
}

// evaluateAndReport evaluates the state, prints the table and writes the report. It prints
// the results even where the report cannot be written.
func evaluateAndReport(ctx context.Context, e evaluation) error {
	if err := report.Writable(e.out); err != nil {
		return withHint(err, "make the directory `report` in the run's directory writable")
	}
	begin := time.Now()
	results, shown, err := evaluateOn(ctx, e.backend, e.engine, os.Stderr, evaluate.Options{
		Experiment: e.experiment, State: e.state, Kinds: e.rows, TrainedOn: e.trainedOn, Store: shard.NewDir(e.store),
	})
	if err != nil {
		return err
	}
	environment := report.Here()
	environment.Workers = e.workers
	page, err := report.Write(ctx, e.out, report.Input{
		Results: results, FigureData: shown, Losses: e.state.Losses,
		Stages:      append(e.stages, report.StageTime{Name: "evaluate", Took: time.Since(begin), Note: fmt.Sprintf("%d functions", results.Functions)}),
		Environment: environment, Created: time.Now(),
	})
	if e.json {
		return errors.Join(err, printJSON(results))
	}
	fmt.Fprintln(stdout, results.Table().Text())
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "report   %s\nfigures  %s\n", page, filepath.Join(e.out, "*.png"))
	return nil
}

// evaluateOn evaluates with a backend and an engine that simulates, and shows the progress on out.
func evaluateOn(ctx context.Context, backendName, engine string, out *os.File, o evaluate.Options) (*evaluate.Results, evaluate.FigureData, error) {
	b, err := backend.Open(backendName)
	if err != nil {
		return nil, evaluate.FigureData{}, err
	}
	defer b.Close()
	o.Backend = b
	if o.Simulator, err = simulator.Choose(b, engine); err != nil {
		return nil, evaluate.FigureData{}, err
	}
	bars := progress.Stages{Out: out}
	defer bars.End()
	o.Progress = func(stage string, done, total int) {
		bars.Show(fmt.Sprintf("%-30s", stage), "functions", done, total, "")
	}
	return evaluate.Run(ctx, o)
}
