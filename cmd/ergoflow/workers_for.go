package main

import (
	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow"
)

// workersFor is the flag --workers-for.
type workersFor string

func (w *workersFor) add(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar((*string)(w), "workers-for", "", usage)
}

// value are the bounds; zero where the flag is missing.
func (w workersFor) value() (ergoflow.WorkerBounds, error) {
	if w == "" {
		return ergoflow.WorkerBounds{}, nil
	}
	b, err := ergoflow.ParseWorkerBounds(string(w))
	if err != nil {
		return b, withHint(usagef("--workers-for: %w", err), "give N, MIN:MAX, MIN: or :MAX, as in 2:4")
	}
	return b, nil
}
