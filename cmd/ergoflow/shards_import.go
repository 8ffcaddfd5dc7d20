package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/imports"
)

// collected is the document of `shards import --json`.
type collected struct {
	Name  string `json:"name"`
	Store string `json:"store"`
	imports.Result
	// Imports are all of that name that the experiment can use, the newest last, as data.imports
	// takes them.
	Imports []data.Import `json:"imports"`
}

// importFlags are the flags of shards import.
type importFlags struct {
	experimentFlags
	storeFlags
	experiment, name string
	json             bool
}

func shardsImportCommand() *cobra.Command {
	var flags importFlags
	cmd := &cobra.Command{
		Use:   "import DIR|FILE --name NAME --experiment NAME --dir RUN",
		Short: "Import your own equations and samples",
		Long: `Imports equations with samples of their invariant laws, so that training uses
them in place of functions that it would generate. A file x.safetensors has the
tensor samples [functions, samples, dimension], and the equations: as the fields
of the experiment's family (drift, diffusion) on its grid, with the grid in the
metadata, or as formulas, in the metadata or in x.json or x.yaml beside it. So
has x.npy, with x.drift.npy and x.diffusion.npy for fields. docs/formats.md has
the layout, and an example in Python.

Checks shapes, types and values, and refuses equations that occur twice or are
held out. What is accepted is stored under the hash of its content; importing it
again changes nothing. Files of a directory that are rejected are moved to its
folder rejected, with the reason beside them, and the command ends with code 1
after the others. Warns of samples that contradict their equations. The last
line is what data.imports takes.

With a bucket as --store, its imports of that name are copied to this machine
first, and what is accepted is copied there.`,
		Example: "  ergoflow shards import samples --name lab --experiment vn1d --preset demo --dir ergoflow-runs/vn1d-demo",
		Args:    exactly(1, "a directory or a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.run(cmd.Context(), args[0])
		},
	}
	cmd.Flags().StringVar(&flags.name, "name", "", "name of the imports in the store (required)")
	cmd.Flags().StringVar(&flags.experiment, "experiment", "", "experiment that will learn from them, e.g. vn1d (default: the one that --config names)")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print JSON (docs/formats.md)")
	flags.experimentFlags.add(cmd)
	flags.storeFlags.add(cmd, "location that takes them")
	cmd.MarkFlagRequired("name")
	cmd.MarkFlagsOneRequired("experiment", "config")
	return cmd
}

func (f *importFlags) run(ctx context.Context, path string) error {
	if err := imports.CheckName(f.name); err != nil {
		return usage(err)
	}
	e, err := f.load(f.experiment)
	if err != nil {
		return err
	}
	family, err := e.Family()
	if err != nil {
		return err
	}
	if err := imports.Supported(family); err != nil {
		return withHint(usage(err), "choose an experiment on the line or in the plane")
	}
	l, err := f.location()
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return withHint(usage(err), "name a directory with .safetensors or .npy files, or one of them")
	}
	into, done, err := f.openImports(ctx, l, f.name)
	if err != nil {
		return err
	}
	result, err := imports.Collect(ctx, into, f.name, path, e.Data.ImportSpec(family))
	others, failed := done(err == nil)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	result.Warnings = append(result.Warnings, others...)
	list, err := imports.List(into, f.name)
	if err != nil {
		return err
	}
	with, unused := e.Data.WithImports(list, family)
	result.Warnings = append(result.Warnings, unused...)
	warn(result.Warnings)
	if f.json {
		if err := printJSON(collected{f.name, l.Public(), result, append([]data.Import{}, with.Imports...)}); err != nil {
			return err
		}
	} else {
		printCollected(path, result, with.Imports)
	}
	if n := len(result.Rejected); n > 0 {
		hint := "correct the file: docs/formats.md has the layout"
		if result.Rejected[0].Moved != "" {
			hint = "correct the files in " + filepath.Dir(result.Rejected[0].Moved) + " and move them back: docs/formats.md has the layout"
		}
		return withHint(fmt.Errorf("shards import: %d of %d files rejected, first %s: %s", n, n+len(result.Accepted)+len(result.Known)+len(result.Waiting),
			result.Rejected[0].File, result.Rejected[0].Reason), "%s", hint)
	}
	return nil
}

func printCollected(path string, r imports.Result, use []data.Import) {
	if len(r.Accepted)+len(r.Known)+len(r.Rejected)+len(r.Waiting) == 0 {
		fmt.Fprintf(stdout, "nothing to import in %s\n", path)
	}
	for _, a := range r.Accepted {
		fmt.Fprintf(stdout, "accepted  %s: %d functions with %d samples, import %.12s\n", a.File, a.Functions, a.Samples, a.Hash)
	}
	for _, k := range r.Known {
		fmt.Fprintf(stdout, "known     %s: its content is import %.12s\n", k.File, k.Hash)
	}
	for _, w := range r.Waiting {
		fmt.Fprintf(stdout, "left      %s: %s\n", w.File, w.Reason)
	}
	for _, b := range r.Rejected {
		fmt.Fprintf(stdout, "rejected  %s: %s\n", b.File, b.Reason)
	}
	if len(use) > 0 {
		fmt.Fprint(stdout, "data.imports=[")
		for i, im := range use {
			if i > 0 {
				fmt.Fprint(stdout, ", ")
			}
			fmt.Fprintf(stdout, "{hash: %q, functions: %d}", im.Hash, im.Functions)
		}
		fmt.Fprintln(stdout, "]")
	}
}
