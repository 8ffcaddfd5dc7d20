package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/progress"
	"github.com/ergoflow/ergoflow/data/imports"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
)

func shardsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "shards",
		Short:   "List and verify shards of training data, import samples",
		Example: "  ergoflow shards verify --dir ergoflow-runs/vn1d-demo",
	}, shardsListCommand(), shardsVerifyCommand(), shardsImportCommand())
}

// openStore returns the shards in a directory and their manifests. An error may come with
// manifests: it names those that cannot be read.
func openStore(root string) (*shard.Dir, []shard.Manifest, error) {
	if _, err := os.Stat(root); err != nil {
		return nil, nil, withHint(fmt.Errorf("no shard store in %s: %w", filepath.Dir(root), err), "name the directory of a run, such as ergoflow-runs/vn1d-demo")
	}
	store := shard.NewDir(root)
	list, err := store.List()
	return store, list, err
}

// importsOf lists the imports of all names. An error may come with records, as of openStore.
func importsOf(store *shard.Dir) ([]imports.Record, error) {
	names, err := imports.Names(store)
	if err != nil {
		return nil, err
	}
	all := []imports.Record{}
	var bad []error
	for _, name := range names {
		list, err := imports.List(store, name)
		all, bad = append(all, list...), append(bad, err)
	}
	return all, errors.Join(bad...)
}

func shardsListCommand() *cobra.Command {
	var flags storeFlags
	var asJSON, onlyImports bool
	cmd := &cobra.Command{
		Use:   "list --dir DIR | --store LOCATION",
		Short: "List the shards and imports of a run",
		Long: `Lists what the manifests say, of a directory or of a bucket. Warns of data in a
bucket that no manifest names.`,
		Example: "  ergoflow shards list --dir ergoflow-runs/vn1d-demo\n  ergoflow shards list --store 's3://shards/lab?endpoint=https://10.0.0.9:9000'",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := flags.location()
			if err != nil {
				return err
			}
			if l.Scheme != store.File {
				return listBucket(cmd.Context(), flags, l, asJSON, onlyImports)
			}
			in, list, bad := openStore(l.Dir)
			if in == nil {
				return bad
			}
			imported, unread := importsOf(in)
			switch {
			case onlyImports && asJSON:
				return errors.Join(unread, printJSON(imported))
			case onlyImports:
				return errors.Join(unread, printImports(in.Root(), imported))
			case bad != nil && len(list) == 0:
				return bad
			case asJSON:
				return errors.Join(bad, printJSON(list))
			}
			if err := printShards(in.Root(), list); err != nil {
				return err
			}
			if len(imported) > 0 {
				fmt.Fprintln(stdout)
				bad = errors.Join(bad, printImports(in.Root(), imported))
			}
			return errors.Join(bad, unread)
		},
	}
	flags.add(cmd, "location of the shards")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the manifests as JSON (docs/formats.md)")
	cmd.Flags().BoolVar(&onlyImports, "imports", false, "list the imports instead of the shards")
	return cmd
}

func printShards(store string, list []shard.Manifest) error {
	if len(list) == 0 {
		fmt.Fprintf(stdout, "no shards in %s\n", store)
		return nil
	}
	t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "data set\tshard\tpurpose\tfunctions\tsamples\tsize")
	for _, m := range list {
		fmt.Fprintf(t, "%s-%.12s\t%d\t%s\t%d…%d\t%d\t%s\n", m.Family, m.Dataset, m.Shard, m.Purpose,
			m.First, m.First+m.Count-1, m.Samples, humanize.IBytes(uint64(m.Bytes)))
	}
	return t.Flush()
}

func printImports(store string, list []imports.Record) error {
	if len(list) == 0 {
		fmt.Fprintf(stdout, "no imports in %s\n", store)
		return nil
	}
	t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "imports\thash\tfamily\tfunctions\tsamples\tsize\taccepted\tfile")
	for _, r := range list {
		fmt.Fprintf(t, "%s\t%.12s\t%s\t%d\t%d\t%s\t%s\t%s\n", r.Name, r.Hash, r.Family, r.Functions, r.Samples,
			humanize.IBytes(uint64(r.Bytes)), r.Accepted.Format(time.DateTime), r.File)
	}
	return t.Flush()
}

func shardsVerifyCommand() *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "verify --dir DIR | --store LOCATION",
		Short: "Verify the checksum of every shard and import of a run",
		Long: `Reads all data of a directory or of a bucket, and compares them with their
manifests. Ends with code 1 and names what is damaged or missing.`,
		Example: "  ergoflow shards verify --dir ergoflow-runs/vn1d-demo\n  ergoflow shards verify --store 's3://shards/lab?endpoint=https://10.0.0.9:9000'",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := flags.location()
			if err != nil {
				return err
			}
			if l.Scheme != store.File {
				return verifyBucket(cmd.Context(), flags, l)
			}
			in, list, bad := openStore(l.Dir)
			if in == nil {
				return bad
			}
			imported, unread := importsOf(in)
			bad = errors.Join(bad, unread)
			if len(list)+len(imported) == 0 {
				if bad != nil {
					return bad
				}
				return withHint(fmt.Errorf("no shards in %s", in.Root()), "name the directory of a run that has made its data, such as ergoflow-runs/vn1d-demo")
			}
			ctx := cmd.Context()
			bar := progress.New(os.Stderr, "verify", "shards", 0, len(list)+len(imported))
			verified := func(n int, err error) error {
				bad = errors.Join(bad, err)
				bar.Set(n, "")
				return ctx.Err()
			}
			for i, m := range list {
				if err := verified(i+1, in.Verify(ctx, m.Dataset, m.Shard)); err != nil {
					return err
				}
			}
			for i, r := range imported {
				if err := verified(len(list)+i+1, verifyImport(ctx, in, r)); err != nil {
					return err
				}
			}
			bar.End()
			if bad != nil {
				return bad
			}
			printWhole(len(list), len(imported))
			return nil
		},
	}
	flags.add(cmd, "location of the shards")
	return cmd
}

func printWhole(shards, imports int) {
	and := ""
	if imports > 0 {
		and = fmt.Sprintf(" and %d imports", imports)
	}
	fmt.Fprintf(stdout, "%d shards%s are whole\n", shards, and)
}

func verifyImport(ctx context.Context, store *shard.Dir, r imports.Record) error {
	im, err := r.Open(store)
	if err != nil {
		return err
	}
	return errors.Join(im.Verify(ctx), im.Close())
}
