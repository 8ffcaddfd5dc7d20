package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/progress"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

func shardsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "shards",
		Short:   "List and verify shards of training data",
		Example: "  ergoflow shards verify --dir ergoflow-runs/vn1d-demo",
	}, shardsListCommand(), shardsVerifyCommand())
}

// openStore returns the shard store of a run's directory and its manifests. An error may
// come with manifests: it names those that cannot be read.
func openStore(dir string) (*shard.Dir, []shard.Manifest, error) {
	root := filepath.Join(dir, "shards")
	if _, err := os.Stat(root); err != nil {
		return nil, nil, withHint(fmt.Errorf("no shard store in %s: %w", dir, err), "name the directory of a run, such as ergoflow-runs/vn1d-demo")
	}
	store := shard.NewDir(root)
	list, err := store.List()
	return store, list, err
}

func shardsListCommand() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list --dir DIR",
		Short:   "List the shards of a run",
		Example: "  ergoflow shards list --dir ergoflow-runs/vn1d-demo",
		Args:    exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			store, list, bad := openStore(dir)
			if bad != nil && len(list) == 0 {
				return bad
			}
			if asJSON {
				return errors.Join(bad, printJSON(list))
			}
			if len(list) == 0 {
				fmt.Fprintf(stdout, "no shards in %s\n", store.Root())
				return nil
			}
			t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
			fmt.Fprintln(t, "data set\tshard\tpurpose\tfunctions\tsamples\tsize")
			for _, m := range list {
				fmt.Fprintf(t, "%s-%.12s\t%d\t%s\t%d…%d\t%d\t%s\n", m.Family, m.Dataset, m.Shard, m.Purpose,
					m.First, m.First+m.Count-1, m.Samples, humanize.IBytes(uint64(m.Bytes)))
			}
			return errors.Join(bad, t.Flush())
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the run (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the manifests as JSON (docs/formats.md)")
	cmd.MarkFlagRequired("dir")
	return cmd
}

func shardsVerifyCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "verify --dir DIR",
		Short:   "Verify the checksum of every shard of a run",
		Example: "  ergoflow shards verify --dir ergoflow-runs/vn1d-demo",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, list, bad := openStore(dir)
			if bad != nil && len(list) == 0 {
				return bad
			}
			if len(list) == 0 {
				return withHint(fmt.Errorf("no shards in %s", store.Root()), "name the directory of a run that has made its data, such as ergoflow-runs/vn1d-demo")
			}
			bar := progress.New(os.Stderr, "verify", "shards", 0, len(list))
			for i, m := range list {
				if err := cmd.Context().Err(); err != nil {
					return err
				}
				if err := store.Verify(cmd.Context(), m.Dataset, m.Shard); err != nil {
					bad = errors.Join(bad, err)
				}
				bar.Set(i+1, "")
			}
			bar.End()
			if bad != nil {
				return bad
			}
			fmt.Fprintf(stdout, "%d shards are whole\n", len(list))
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the run (required)")
	cmd.MarkFlagRequired("dir")
	return cmd
}
