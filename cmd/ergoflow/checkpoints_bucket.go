package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/progress"
	"github.com/ergoflow/ergoflow/coordinator/archive"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/data/store"
)

// archivedCheckpoint is one of `checkpoints list --store --json`.
type archivedCheckpoint struct {
	Cluster string `json:"cluster"`
	checkpoint.Info
}

// inArchive calls do with the checkpoints in a bucket, of a cluster and run the oldest first.
func inArchive(ctx context.Context, flags storeFlags, do func(s store.Store, all []archive.Entry) error) (err error) {
	l, err := flags.location()
	if err != nil {
		return err
	}
	if l.Scheme == store.File {
		return withHint(usagef("--store %s is a directory: coordinators copy checkpoints into buckets alone", l.Dir), "name the directory of the coordinator with --dir")
	}
	s, err := flags.open(ctx, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	all, err := archive.All(ctx, s)
	if err != nil {
		return err
	}
	slices.Reverse(all)
	return do(s, slices.DeleteFunc(all, func(e archive.Entry) bool { return l.Cluster != "" && e.Cluster != l.Cluster }))
}

func listArchive(ctx context.Context, flags storeFlags, asJSON bool) error {
	return inArchive(ctx, flags, func(s store.Store, all []archive.Entry) error {
		list := []archivedCheckpoint{}
		var bad error
		for _, e := range all {
			info, err := archive.Describe(ctx, s, e)
			if err != nil && !errors.Is(err, archive.ErrCorrupt) {
				return err
			}
			if err != nil {
				bad = errors.Join(bad, err)
				continue
			}
			list = append(list, archivedCheckpoint{e.Cluster, info})
		}
		if asJSON {
			return errors.Join(bad, printJSON(list))
		}
		t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
		fmt.Fprintln(t, "cluster\t"+checkpointColumns)
		for _, c := range list {
			fmt.Fprintf(t, "%s\t%s\n", c.Cluster, checkpointRow(c.Info))
		}
		return errors.Join(bad, t.Flush())
	})
}

func verifyArchive(ctx context.Context, flags storeFlags) error {
	return inArchive(ctx, flags, func(s store.Store, all []archive.Entry) (bad error) {
		bar := progress.New(os.Stderr, "verify", "checkpoints", 0, len(all))
		for i, e := range all {
			_, _, err := archive.Read(ctx, s, e)
			if err != nil && !errors.Is(err, archive.ErrCorrupt) {
				return errors.Join(bad, err)
			}
			bad = errors.Join(bad, err)
			bar.Set(i+1, "")
		}
		bar.End()
		if bad == nil {
			fmt.Fprintf(stdout, "%d checkpoints are whole\n", len(all))
		}
		return bad
	})
}
