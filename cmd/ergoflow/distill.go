package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/progress"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/distillation"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// distilled is the document of `distill --json`.
type distilled struct {
	Output      string             `json:"output"`
	Run         string             `json:"run"`
	Teacher     experiment.Teacher `json:"teacher"`
	Evaluations int                `json:"evaluations"`
	Solver      string             `json:"solver"`
	Steps       int                `json:"steps"`
	// LossFirst and LossLast are means over a twentieth of the updates.
	LossFirst float64 `json:"loss_first"`
	LossLast  float64 `json:"loss_last"`
	Seconds   float64 `json:"seconds"` // of this process
}

// distillFlags are the flags of distill.
type distillFlags struct {
	checkpoint, output, backend string
	config                      experiment.Distillation
	json                        bool
}

func distillCommand() *cobra.Command {
	var flags distillFlags
	cmd := &cobra.Command{
		Use:   "distill [--checkpoint C] --evaluations K -o FILE.safetensors",
		Short: "Train a copy of a model that samples in few evaluations",
		Long: `Trains a network of the same size to follow the flow of a trained one, its
teacher, in K evaluations, where sampling with rk4-4 takes 16. It learns the
mean velocity of the teacher's flow over each of K intervals of time, and is
sampled by euler-K: one evaluation costs a sixteenth of the teacher's time. It
needs no data: every update makes new functions of the experiment's family and
new noise.

The samples are at best those of the teacher. Fewer evaluations lose more;
` + "`ergoflow evaluate`" + ` measures how much, docs/results/solvers.md has tables. The
default batch and learning rate are those of the teacher's training.

The command saves the state every minute. The same command continues from it.`,
		Example: `  ergoflow distill --checkpoint ergoflow-runs/cn2d-scaled --evaluations 2 -o cn2d-2.safetensors
  ergoflow sample --checkpoint cn2d-2.safetensors --function 0 -o x.npy`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := flags.run(cmd.Context())
			if err != nil {
				return err
			}
			return printResult(out, flags.json, "")
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.checkpoint, "checkpoint", "", "the teacher: "+checkpointUsage+" (default: the only run in ergoflow-runs)")
	f.IntVar(&flags.config.Evaluations, "evaluations", 0, "`K`, evaluations of the network for a sample: 1, 2 or 4 (required)")
	f.StringVarP(&flags.output, "output", "o", "", "path of the .safetensors file to write (required)")
	f.IntVar(&flags.config.Steps, "steps", 6000, "number of updates")
	f.IntVar(&flags.config.BatchFunctions, "batch-functions", 0, "functions of an update (default: as the teacher's)")
	f.IntVar(&flags.config.BatchSamples, "batch-samples", 0, "paths of each function (default: as the teacher's)")
	f.Float64Var(&flags.config.LearningRate, "learning-rate", 0, "highest learning rate (default: the teacher's)")
	f.Uint64Var(&flags.config.Seed, "seed", 0, "seed of functions and noise")
	f.StringVar(&flags.backend, "backend", backend.Auto, "compute backend: auto, xla:cuda, xla:cpu or go")
	f.BoolVar(&flags.json, "json", false, "print JSON (docs/formats.md)")
	cmd.MarkFlagRequired("evaluations")
	cmd.MarkFlagRequired("output")
	return cmd
}

// run distils.
func (f *distillFlags) run(ctx context.Context) (out distilled, err error) {
	if err := backend.CheckName(f.backend); err != nil {
		return out, usage(err)
	}
	base, ok := strings.CutSuffix(f.output, ".safetensors")
	if !ok {
		return out, usagef("-o %s does not end in .safetensors", f.output)
	}
	for _, path := range []string{f.output, base + ".json"} {
		if err := writable(path); err != nil {
			return out, err
		}
	}
	if f.checkpoint, err = checkpointOrOnly(f.checkpoint); err != nil {
		return out, err
	}
	e, teacher, err := readState(ctx, f.checkpoint)
	if err != nil {
		return out, err
	}
	config := f.config
	config.BatchFunctions = cmp.Or(config.BatchFunctions, e.Training.BatchFunctions)
	config.BatchSamples = cmp.Or(config.BatchSamples, e.Training.BatchSamples)
	config.LearningRate = cmp.Or(config.LearningRate, e.Training.LearningRate)
	if e, err = e.Distilled(teacher, config); err != nil {
		var field *experiment.FieldError
		switch {
		case errors.As(err, &field):
			err = usage(err)
		case e.Distillation != nil:
			err = withHint(err, "distil the model that it follows: run %.12s at step %d", e.Distillation.Teacher.Run, e.Distillation.Teacher.Step)
		}
		return out, err
	}
	before, err := f.before(e)
	if err != nil {
		return out, err
	}
	b, err := backend.Open(f.backend)
	if err != nil {
		return out, err
	}
	defer b.Close()
	begin, done := time.Now(), 0
	if before != nil {
		done = int(before.Step)
	}
	bar := progress.New(os.Stderr, "distill", "updates", done, e.Steps())
	defer bar.End()
	st, err := distillation.Run(ctx, e, distillation.Options{
		Backend: b, Teacher: teacher, Student: before,
		Save: func(st *state.State) error {
			encoded, err := st.Encode()
			if err != nil {
				return err
			}
			return export(f.output, e, encoded)
		},
		Progress: func(step int, loss float64) { bar.Set(step, fmt.Sprintf("loss %.3g", loss)) },
	})
	if err != nil {
		return out, err
	}
	part := max(1, len(st.Losses)/20)
	return distilled{
		Output: f.output, Run: st.Run, Teacher: e.Distillation.Teacher, Evaluations: config.Evaluations, Solver: e.Evaluation.Solver,
		Steps: int(st.Step), LossFirst: stat.Mean(st.Losses[:part], nil), LossLast: stat.Mean(st.Losses[len(st.Losses)-part:], nil), Seconds: time.Since(begin).Seconds(),
	}, nil
}

// before is the state that an earlier process of the same distillation has saved; nil if there
// is none.
func (f *distillFlags) before(e experiment.Experiment) (*state.State, error) {
	if !exists(f.output) {
		return nil, nil
	}
	encoded, err := readExport(f.output)
	if err != nil {
		return nil, err
	}
	other, st, err := decodeState(f.output, encoded)
	if err == nil && other.Hash() != e.Hash() {
		err = fmt.Errorf("%s exists, and is of another run: %.12s instead of %.12s", f.output, other.Hash(), e.Hash())
	}
	if err != nil {
		return nil, withHint(err, "name another file, or remove this one")
	}
	return st, nil
}

// String is what distill prints.
func (d distilled) String() string {
	return fmt.Sprintf("%s: %d evaluations for a sample (%s), loss %.3g at first, %.3g at last, %s\n"+
		"compare    ergoflow evaluate measures what was lost",
		d.Output, d.Evaluations, d.Solver, d.LossFirst, d.LossLast, time.Duration(d.Seconds*float64(time.Second)).Round(time.Second))
}
