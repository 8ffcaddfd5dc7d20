package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/model/experiment"
)

// addStart adds --start, for commands that train.
func addStart(cmd *cobra.Command, start *string) {
	cmd.Flags().StringVar(start, "start", "", "begin from the `CHECKPOINT` of a trained network instead of random parameters: "+checkpointUsage)
}

// startFrom makes e a warm start from the checkpoint that --start names, and returns the state
// at step 0 of its run. Without a name it returns e.
//
// The latest checkpoint of a directory may be of that very run, if the run trains there and
// was interrupted. Then e is that run, which continues: there is nothing to begin from.
func startFrom(ctx context.Context, e experiment.Experiment, name string) (experiment.Experiment, []byte, error) {
	if name == "" {
		return e, nil, nil
	}
	if e.Training.Start != nil {
		return e, nil, usagef("--start and training.start both name a state to begin from")
	}
	encoded, latest, err := readEncoded(ctx, name)
	if err != nil {
		return e, nil, err
	}
	trained, _, err := decodeState(name, encoded)
	if err != nil {
		return e, nil, err
	}
	own := e
	if own.Training.Start = trained.Training.Start; latest && own.Training.Start != nil && own.Hash() == trained.Hash() {
		return own, nil, nil
	}
	e, first, err := e.StartFrom(encoded)
	if errors.Is(err, experiment.ErrStart) {
		return e, nil, withHint(usage(fmt.Errorf("--start %s: %w", name, err)), "name a checkpoint of the same network, trained on none of the held-out functions")
	}
	if err != nil {
		return e, nil, err
	}
	s := e.Training.Start
	fmt.Fprintf(os.Stderr, "the run begins from run %.12s at step %d\n", s.Run, s.Step)
	return e, first, nil
}
