package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/model/experiment"
)

// experimentFlags choose a configuration.
type experimentFlags struct {
	preset       string
	config       string
	sets         []string
	reproducible bool
}

func (f *experimentFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.preset, "preset", "", "size of the experiment: smoke, demo, scaled, best or full (default scaled)")
	cmd.Flags().StringVar(&f.config, "config", "", "YAML file whose fields override the preset's")
	cmd.Flags().StringArrayVar(&f.sets, "set", nil, "override one field with `path=value`, e.g. training.learning_rate=0.001 (repeatable)")
}

// addReproducible is for commands that train, or look for what was trained.
func (f *experimentFlags) addReproducible(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.reproducible, "reproducible", false, "train to bitwise identical parameters for any set of workers (slower)")
}

// addFull makes full the default preset where no file says another.
func (f *experimentFlags) addFull(cmd *cobra.Command) {
	f.add(cmd)
	cmd.Flags().Lookup("preset").Usage = "size of the experiment: smoke, demo, scaled, best or full (default full; with --config the file's, or scaled)"
}

// of reads the configuration of an experiment as load does, with what a trained one has of its
// making that flags need not repeat: the state that it began from, or the teacher of a distilled
// network and the solver that belongs to it.
func (f *experimentFlags) of(name string, trained experiment.Experiment) (experiment.Experiment, error) {
	flags := *f
	if trained.Distillation != nil {
		flags.sets = append([]string{"evaluation.solver=" + trained.Evaluation.Solver}, f.sets...)
	}
	e, err := flags.load(name)
	if err != nil {
		return e, err
	}
	if e.Training.Start == nil {
		e.Training.Start = trained.Training.Start
	}
	e.Distillation = trained.Distillation
	if err := e.Validate(); err != nil {
		return e, usage(err)
	}
	return e, nil
}

// load reads the configuration of an experiment.
func (f *experimentFlags) load(name string) (experiment.Experiment, error) {
	sets := f.sets
	if f.reproducible {
		sets = append(slices.Clone(sets), "training.reproducible=true")
	}
	e, err := experiment.Load(name, f.preset, f.config, sets)
	if err != nil && hintFor(err) == "" {
		hint := "docs/formats.md documents the settings, `ergoflow help` lists the experiments and presets"
		var unread *fs.PathError
		if errors.As(err, &unread) && unread.Path == f.config {
			hint = "give --config the path of a YAML file"
		}
		err = withHint(err, "%s", hint)
	}
	if err != nil {
		return e, usage(err)
	}
	return e, nil
}

// loadFull is load with the defaults of addFull.
func (f *experimentFlags) loadFull(name string) (experiment.Experiment, error) {
	if f.preset == "" && f.config == "" {
		f.preset = "full"
	}
	return f.load(name)
}

// loadTried is load for commands that generate data: it simulates a few functions first
// and refuses those whose data would be wrong.
func (f *experimentFlags) loadTried(ctx context.Context, name string) (experiment.Experiment, error) {
	e, err := f.load(name)
	if err != nil {
		return e, err
	}
	warnings, err := e.PilotRun(ctx)
	if err != nil {
		return e, usage(err)
	}
	warn(warnings)
	return e, nil
}

func experimentNames() string { return strings.Join(experiment.Names(), ", ") }

// runsDirectory has the runs without --dir.
const runsDirectory = "ergoflow-runs"

// defaultDir is the directory of a run without --dir.
func defaultDir(e experiment.Experiment) string {
	return filepath.Join(runsDirectory, e.Name+"-"+e.Preset)
}
