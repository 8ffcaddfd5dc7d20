package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/model/network/velocity"
)

// modelSummary is the document of `model --json`.
type modelSummary struct {
	Experiment string           `json:"experiment"`
	Preset     string           `json:"preset"`
	Parameters int              `json:"parameters"`
	Layers     []velocity.Layer `json:"layers"`
	StepFLOPs  float64          `json:"step_flops"` // gradient of one whole batch
}

func modelCommand() *cobra.Command {
	choose := experimentFlags{}
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "model EXPERIMENT",
		Short:   "Print the layers, shapes and parameters of a network",
		Example: "  ergoflow model vn1d",
		Args:    exactly(1, "an experiment: "+experimentNames()),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := choose.loadFull(args[0])
			if err != nil {
				return err
			}
			model := e.Velocity()
			s := modelSummary{
				Experiment: e.Name, Preset: e.Preset,
				Parameters: model.Layout().Size(),
				Layers:     model.Summary(),
				StepFLOPs:  e.Trainer().FLOPs(e.Training.BatchFunctions),
			}
			if asJSON {
				return printJSON(s)
			}
			t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
			fmt.Fprintln(t, "layer\tkind\toutput\tper\tparameters")
			for _, l := range s.Layers {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", l.Name, l.Kind, strings.Trim(fmt.Sprint(l.Output), "[]"), l.Per, humanize.Comma(int64(l.Parameters)))
			}
			if err := t.Flush(); err != nil {
				return err
			}
			points := ""
			if n := e.Training.Points; n > 0 {
				points = fmt.Sprintf(" at %d shared points", n)
			}
			fmt.Fprintf(stdout, "\n%s parameters; a step of %d functions × %d samples%s takes %.3g GFLOP\n",
				humanize.Comma(int64(s.Parameters)), e.Training.BatchFunctions, e.Training.BatchSamples, points, s.StepFLOPs/1e9)
			return nil
		},
	}
	choose.addFull(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}
