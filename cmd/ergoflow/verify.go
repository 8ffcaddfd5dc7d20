package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/model/experiment"
)

func verifyCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "verify",
		Short:   "Verify which samples a run has learned from",
		Example: "  ergoflow verify run --dir ergoflow-runs/vn1d-demo",
	}, verifyRunCommand())
}

// verified is the document of `verify run` about one run.
type verified struct {
	Run        string            `json:"run"`
	Experiment string            `json:"experiment"`
	Checkpoint string            `json:"checkpoint"`
	Step       ergoflow.Step     `json:"step"`
	Proven     bool              `json:"proven"`
	Proof      *ledger.Proof     `json:"proof"`     // null where not proven
	Violation  *ledger.Violation `json:"violation"` // null where proven
	// Start is the state from which the run began; absent: random parameters. What that one
	// has learned from is in its own ledger.
	Start *experiment.Start `json:"start,omitempty"`
	// Warnings say what of the directory may be missing or was not verified.
	Warnings []string `json:"warnings,omitempty"`
}

func verifyRunCommand() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "run [--dir DIR]",
		Short: "Prove that a run used every sample exactly once",
		Long: `Reads the newest checkpoint of each run in the directory and proves from its
ledger that the state has learned from every (epoch, function, block of samples)
exactly once, across all membership changes. Ends with code 1 where a block is
missing or repeated, and names it. Also reads all of coordinator.db, where no
coordinator has it open, and ends with code 1 if it is damaged.`,
		Example: "  ergoflow verify run --dir ergoflow-runs/vn1d-demo",
		Args:    exactly(0, "no arguments"),
		RunE: reading(&dir, func(ctx context.Context, store *checkpoint.Store, _ []string) error {
			infos, err := newestOfRuns(store)
			if err != nil {
				return err
			}
			unread, err := verifyLedger(dir)
			if err != nil {
				return fmt.Errorf("verify run: %w", err)
			}
			warnings := said(store.Warning(), unread)
			results := []verified{}
			var violations []error
			for _, info := range infos {
				v, err := verifyRun(ctx, store, info)
				if err != nil {
					return fmt.Errorf("verify run %.12s: %w", info.Run, err)
				}
				v.Warnings = warnings
				results = append(results, v)
				if v.Violation != nil {
					violations = append(violations, fmt.Errorf("verify run %.12s: %w", info.Run, v.Violation))
				} else if !asJSON {
					fmt.Fprint(stdout, v)
				}
			}
			if asJSON {
				if err := printJSON(results); err != nil {
					return err
				}
			}
			if len(violations) > 0 {
				return withHint(errors.Join(violations...), "do not use this state: train again in another --dir, and report the output of --json")
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "directory of the run or coordinator")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}

// newestOfRuns has the checkpoint of every run that the run would continue from.
func newestOfRuns(store *checkpoint.Store) ([]checkpoint.Info, error) {
	all, err := store.List()
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, withHint(fmt.Errorf("verify run: %w in %s", checkpoint.ErrNotFound, store.Path()), "wait for the first checkpoint, after training.checkpoint_every steps")
	}
	newest := make(map[string]int)
	var infos []checkpoint.Info
	for _, info := range all {
		i, ok := newest[info.Run]
		if !ok {
			newest[info.Run] = len(infos)
			infos = append(infos, info)
		} else if info.Mark().Compare(infos[i].Mark()) >= 0 {
			infos[i] = info
		}
	}
	return infos, nil
}

// verifyRun proves one checkpoint, or returns what contradicts the proof.
func verifyRun(ctx context.Context, store *checkpoint.Store, info checkpoint.Info) (verified, error) {
	v := verified{Run: info.Run, Experiment: info.Experiment, Checkpoint: info.ID, Step: info.Step}
	_, encoded, err := store.Read(info.ID)
	if err != nil {
		return v, err
	}
	e, st, err := experiment.DecodeState(encoded)
	if err != nil {
		return v, err
	}
	if st.Step != info.Step || st.Run != info.Run || e.Hash() != st.Run {
		return v, fmt.Errorf("%w: checkpoint %s holds step %d of run %.12s, configured as run %.12s", checkpoint.ErrCorrupt, info.ID, st.Step, st.Run, e.Hash())
	}
	v.Start = e.Training.Start
	proof, err := st.Ledger.Verify(ctx, e.LedgerBatches(), st.Step)
	if errors.As(err, &v.Violation) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.Proven, v.Proof = true, &proof
	return v, nil
}

// String is what `verify run` prints of a run that is proven.
func (v verified) String() string {
	p, begins := v.Proof, ""
	if s := v.Start; s != nil {
		begins = fmt.Sprintf("it began from run %.12s at step %d, which has a ledger of its own\n", s.Run, s.Step)
	}
	return fmt.Sprintf("run %.12s (%s): %s updates by %d workers in %d generations\n"+
		"each of %s (epoch, function, block) was used exactly once: %s samples, %d epochs complete\n%s",
		v.Run, v.Experiment, humanize.Comma(int64(p.Steps)), p.Workers, p.Generations,
		humanize.Comma(p.Blocks), humanize.Comma(p.Samples), p.Epochs, begins)
}
