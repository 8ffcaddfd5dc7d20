package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
)

func checkpointsExportCommand() *cobra.Command {
	var dir, output string
	cmd := &cobra.Command{
		Use:   "export ID|latest --dir DIR -o FILE.safetensors",
		Short: "Export a checkpoint as safetensors, with its configuration as JSON",
		Long: `Writes FILE.safetensors, which Python's safetensors package reads, and
FILE.json, the configuration of the training. FILE.safetensors has its own
checksum, by which import, sample and evaluate detect damage.`,
		Example: "  ergoflow checkpoints export latest --dir ergoflow-runs/vn1d-demo -o vn1d.safetensors",
		Args:    exactly(1, "a checkpoint's ID, or latest"),
		RunE: reading(&dir, func(_ context.Context, store *checkpoint.Store, args []string) error {
			base, ok := strings.CutSuffix(output, ".safetensors")
			if !ok {
				return usagef("-o %s does not end in .safetensors", output)
			}
			for _, path := range []string{output, base + ".json"} {
				if err := writable(path); err != nil {
					return err
				}
			}
			info, encoded, err := store.Read(args[0])
			if err != nil {
				return err
			}
			e, _, err := experiment.DecodeState(encoded)
			if err != nil {
				return err
			}
			if err := export(output, e, encoded); err != nil {
				return err
			}
			fmt.Fprintf(stdout, "%s at step %d: %s, %s.json\n", info.ID, info.Step, output, base)
			return nil
		}),
	}
	requireDir(cmd, &dir)
	cmd.Flags().StringVarP(&output, "output", "o", "", "path of the .safetensors file to write (required)")
	cmd.MarkFlagRequired("output")
	return cmd
}

// export writes an encoded state to FILE.safetensors with its own checksum, and its experiment to
// FILE.json.
func export(path string, e experiment.Experiment, encoded []byte) error {
	config, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	if encoded, err = state.Seal(encoded); err != nil {
		return err
	}
	return writeBoth(path, encoded, strings.TrimSuffix(path, ".safetensors")+".json", append(config, '\n'))
}

// writeBoth writes two files that belong together. The second is complete under a
// temporary name before the first is written, so that either both change or none.
func writeBoth(first string, content []byte, second string, beside []byte) error {
	f, err := atomicfile.Create(second)
	if err != nil {
		return fmt.Errorf("write %s: %w", second, err)
	}
	defer f.Abort()
	if _, err := f.Write(beside); err != nil {
		return fmt.Errorf("write %s: %w", second, err)
	}
	if err := atomicfile.Write(first, content); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return fmt.Errorf("write %s: %w", second, err)
	}
	return nil
}

// writeCheckpoints opens the store for writing, and prints its warning. It fails while a
// coordinator has the store open.
func writeCheckpoints(dir string) (*checkpoint.Store, error) {
	store, err := checkpoint.Open(coordinator.CheckpointPath(dir), false)
	if errors.Is(err, checkpoint.ErrLocked) {
		return nil, withHint(err, "end the run or coordinator in %s first: this command writes", dir)
	}
	if err == nil {
		warn(said(store.Warning()))
	}
	return store, err
}

func checkpointsImportCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "import FILE.safetensors --dir DIR",
		Short:   "Import an exported checkpoint, so that a run can continue from it",
		Example: "  ergoflow checkpoints import vn1d.safetensors --dir ergoflow-runs/again",
		Args:    exactly(1, "a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			encoded, err := readExport(args[0])
			if err != nil {
				return err
			}
			info, encoded, err := opened(encoded)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			info, newest, err := put(dir, info, encoded)
			if err != nil {
				return err
			}
			fmt.Fprintf(stdout, "%s: %s at step %d\n", info.ID, info.Experiment, info.Step)
			if newest.ID != info.ID {
				fmt.Fprintf(stdout, "the run continues from %s at step %d, of a later generation or step: import into another --dir to continue from this one\n",
					newest.ID, newest.Step)
			}
			return nil
		},
	}
	requireDir(cmd, &dir)
	return cmd
}

// opened is an exported checkpoint without its seal, and what a store keeps about it. It
// needs the normalisation of all inputs of its network.
func opened(export []byte) (info checkpoint.Info, encoded []byte, err error) {
	e, st, err := experiment.DecodeState(export)
	if err != nil {
		return info, nil, err
	}
	if encoded, err = state.Unseal(export, st.Layout); err == nil { // the store has checksums of its own
		var f family.Family
		if f, err = e.Family(); err == nil {
			_, err = e.Conditioner(f, st.Normalisation)
		}
	}
	if err != nil {
		return info, nil, fmt.Errorf("%w: %w", state.ErrCorrupt, err)
	}
	sum := sha256.Sum256(encoded)
	info = checkpoint.Info{
		Run: st.Run, Experiment: e.Name + "/" + e.Preset, Step: st.Step, Time: time.Now(),
		Size: int64(len(encoded)), SHA256: hex.EncodeToString(sum[:]),
	}
	if n := len(st.Ledger.Stretches); n > 0 {
		info.Generation = st.Ledger.Stretches[n-1].Generation // later generations count from it
	}
	if n := len(st.Losses); n > 0 {
		info.Loss = checkpoint.Loss(st.Losses[n-1])
	}
	return info, encoded, nil
}

// put saves a checkpoint in a directory's store. It returns the checkpoint as it is stored,
// and the run's newest. If it fails it removes the file and the directories that it made.
func put(dir string, info checkpoint.Info, encoded []byte) (saved, newest checkpoint.Info, err error) {
	made := missing(coordinator.CheckpointPath(dir))
	defer func() {
		if err != nil && !errors.Is(err, checkpoint.ErrLocked) { // then another process was faster
			for _, path := range made {
				os.Remove(path) // of directories only empty ones
			}
		}
	}()
	if err := atomicfile.MakeDirs(dir); err != nil {
		return info, info, err
	}
	store, err := writeCheckpoints(dir)
	if err != nil {
		return info, info, err
	}
	defer store.Close()
	if info, err = store.Save(info, encoded); err != nil {
		return info, info, err
	}
	own, err := store.Run(info.Run)
	if err != nil {
		return info, info, err
	}
	return info, own[0], nil
}

// missing are the path and its parents that do not exist, the longest first.
func missing(path string) (all []string) {
	for {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return all
		}
		all = append(all, path)
		path = filepath.Dir(path)
	}
}

func checkpointsPruneCommand() *cobra.Command {
	var dir string
	var keep, best int
	cmd := &cobra.Command{
		Use:     "prune --dir DIR",
		Short:   "Delete all but the newest and the best checkpoints of each run",
		Example: "  ergoflow checkpoints prune --dir ergoflow-runs/vn1d-demo --keep 1 --best 0",
		Args:    exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if keep < 0 || best < 0 || keep+best < 1 {
				return usagef("--keep %d --best %d keeps no checkpoint", keep, best)
			}
			if _, err := checkpointsIn(dir); err != nil {
				return err
			}
			store, err := writeCheckpoints(dir)
			if err != nil {
				return err
			}
			defer store.Close()
			deleted, err := store.Prune(keep, best)
			if err != nil {
				return err
			}
			fmt.Fprintf(stdout, "%d checkpoints deleted\n", len(deleted))
			return nil
		},
	}
	requireDir(cmd, &dir)
	cmd.Flags().IntVar(&keep, "keep", 3, "number of newest checkpoints to keep of each run")
	cmd.Flags().IntVar(&best, "best", 1, "number of checkpoints with the lowest loss to keep of each run")
	return cmd
}
