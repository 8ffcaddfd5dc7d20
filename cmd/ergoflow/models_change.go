package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/model/registry"
)

// resolve is registry.Resolve for references that name a version: a command that changes
// something does not take a model's name alone for its champion.
func resolve(ctx context.Context, r *registry.Registry, ref string) (model string, number int, err error) {
	if !strings.Contains(ref, "@") {
		return "", 0, usagef("%.80s names no version: write NAME@NUMBER or NAME@ALIAS", ref)
	}
	return r.Resolve(ctx, ref)
}

// printAlias prints the last change of an alias.
func (f *registryFlags) printAlias(ctx context.Context, r *registry.Registry, model, alias string) error {
	entries, err := r.History(ctx, model, alias)
	if err != nil || len(entries) == 0 {
		return err
	}
	return f.printEntry(r, model, entries[len(entries)-1])
}

func (f *registryFlags) printEntry(r *registry.Registry, model string, e registry.Entry) error {
	if f.json {
		return printJSON(shownEntry{model, e, warningsOf(r)})
	}
	switch {
	case e.Version == 0:
		fmt.Fprintf(stdout, "%s@%s is removed; it was version %d\n", model, e.Alias, e.Before)
	case e.Before == 0:
		fmt.Fprintf(stdout, "%s@%s is version %d\n", model, e.Alias, e.Version)
	default:
		fmt.Fprintf(stdout, "%s@%s is version %d; it was version %d\n", model, e.Alias, e.Version, e.Before)
	}
	return nil
}

func modelsPromoteCommand() *cobra.Command {
	var flags registryFlags
	var alias string
	var reasons []string
	cmd := flags.register(&cobra.Command{
		Use:   "promote NAME@NUMBER --registry DIR",
		Short: "Make a version the champion",
		Long: `Moves the alias in one step and notes it in the history. The gate of retrain is
not asked: this is a person's decision.`,
		Example: `  ergoflow models promote vn1d@7 --reason "smoother tails" --registry models`,
		Args:    exactly(1, "a version"),
		RunE: flags.with(func(ctx context.Context, r *registry.Registry, args []string) error {
			model, number, err := resolve(ctx, r, args[0])
			if err != nil {
				return err
			}
			if err := r.Promote(ctx, registry.Promotion{Model: model, Number: number, Alias: alias, By: caller(), Reasons: reasons}); err != nil {
				return err
			}
			return flags.printAlias(ctx, r, model, alias)
		}),
	})
	cmd.Flags().StringVar(&alias, "alias", registry.Champion, "alias to move")
	cmd.Flags().StringArrayVar(&reasons, "reason", nil, "why, for the history (repeatable)")
	return cmd
}

func modelsRollbackCommand() *cobra.Command {
	var flags registryFlags
	var alias string
	cmd := flags.register(&cobra.Command{
		Use:   "rollback NAME --registry DIR",
		Short: "Make the champion the version that it was before",
		Long: `Moves the alias back to the version that it named before, and notes it in the
history. Done again it goes further back.`,
		Example: "  ergoflow models rollback vn1d --registry models",
		Args:    exactly(1, "the name of a model"),
		RunE: flags.with(func(ctx context.Context, r *registry.Registry, args []string) error {
			e, err := r.Rollback(ctx, args[0], alias, caller())
			if err != nil {
				return err
			}
			return flags.printEntry(r, args[0], e)
		}),
	})
	cmd.Flags().StringVar(&alias, "alias", registry.Champion, "alias to move")
	return cmd
}

func modelsAliasCommand() *cobra.Command {
	var flags registryFlags
	var remove bool
	cmd := flags.register(&cobra.Command{
		Use:   "alias NAME@NUMBER ALIAS --registry DIR",
		Short: "Make an alias name a version, or remove it",
		Example: `  ergoflow models alias vn1d@7 production --registry models
  ergoflow models alias vn1d production --remove --registry models`,
		Args: exactly(2, "a version and an alias"),
		RunE: flags.with(func(ctx context.Context, r *registry.Registry, args []string) error {
			model, alias := args[0], args[1]
			if remove {
				if err := r.RemoveAlias(ctx, model, alias, caller()); err != nil {
					return err
				}
				return flags.printAlias(ctx, r, model, alias)
			}
			model, number, err := resolve(ctx, r, args[0])
			if err != nil {
				return err
			}
			if err := r.SetAlias(ctx, model, number, alias, caller()); err != nil {
				return err
			}
			return flags.printAlias(ctx, r, model, alias)
		}),
	})
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the alias of the model NAME")
	return cmd
}

func modelsTagCommand() *cobra.Command {
	var flags registryFlags
	return flags.register(&cobra.Command{
		Use:     "tag NAME@NUMBER KEY=VALUE... --registry DIR",
		Short:   "Set tags of a version; KEY= removes one",
		Example: "  ergoflow models tag vn1d@7 customer=acme --registry models",
		Args:    cobra.MinimumNArgs(2),
		RunE: flags.with(func(ctx context.Context, r *registry.Registry, args []string) error {
			tags := make(map[string]string)
			for _, arg := range args[1:] {
				key, value, found := strings.Cut(arg, "=")
				if !found {
					return usagef("%.60q is not KEY=VALUE", arg)
				}
				tags[key] = value
			}
			model, number, err := resolve(ctx, r, args[0])
			if err != nil {
				return err
			}
			if err := r.Tag(ctx, model, number, tags); err != nil {
				return err
			}
			return flags.printVersion(ctx, r, model, number, "tagged")
		}),
	})
}

func modelsPinCommand() *cobra.Command {
	var flags registryFlags
	var remove bool
	cmd := flags.register(&cobra.Command{
		Use:     "pin NAME@NUMBER --registry DIR",
		Short:   "Keep a version from being pruned, or let it be pruned again",
		Example: "  ergoflow models pin vn1d@7 --registry models",
		Args:    exactly(1, "a version"),
		RunE: flags.with(func(ctx context.Context, r *registry.Registry, args []string) error {
			model, number, err := resolve(ctx, r, args[0])
			if err != nil {
				return err
			}
			if err := r.Pin(ctx, model, number, !remove); err != nil {
				return err
			}
			done := "pinned"
			if remove {
				done = "not pinned"
			}
			return flags.printVersion(ctx, r, model, number, done)
		}),
	})
	cmd.Flags().BoolVar(&remove, "remove", false, "let the version be pruned again")
	return cmd
}

// printVersion prints what a command did to a version.
func (f *registryFlags) printVersion(ctx context.Context, r *registry.Registry, model string, number int, done string) error {
	if !f.json {
		fmt.Fprintf(stdout, "%s@%d is %s\n", model, number, done)
		return nil
	}
	v, err := r.Get(ctx, fmt.Sprintf("%s@%d", model, number))
	if err != nil {
		return err
	}
	return printJSON(shownVersion{v, warningsOf(r)})
}

func modelsPruneCommand() *cobra.Command {
	var flags registryFlags
	var keep int
	var dryRun bool
	cmd := flags.register(&cobra.Command{
		Use:   "prune --registry DIR",
		Short: "Delete old versions, and weights that no version has",
		Long: `Keeps the newest versions of each model, those that an alias names or would name
after a rollback, and those that are pinned.`,
		Example: "  ergoflow models prune --keep 20 --dry-run --registry models",
		Args:    exactly(0, "no arguments"),
		RunE: flags.with(func(ctx context.Context, r *registry.Registry, _ []string) error {
			if keep < 1 {
				return usagef("--keep is %d, fewer than one", keep)
			}
			removed, err := r.Prune(ctx, keep, dryRun)
			if err != nil {
				return err
			}
			versions := []string{}
			for _, v := range removed.Versions {
				versions = append(versions, v.Ref())
			}
			if flags.json {
				return printJSON(struct {
					DryRun   bool     `json:"dry_run"`
					Versions []string `json:"versions"`
					Files    []string `json:"files"`
					Bytes    int64    `json:"bytes"`
					Warnings []string `json:"warnings"`
				}{dryRun, versions, append([]string{}, removed.Files...), removed.Bytes, warningsOf(r)})
			}
			verb := "deleted"
			if dryRun {
				verb = "would be deleted"
			}
			fmt.Fprintf(stdout, "%d versions and %d files (%s) %s\n", len(versions), len(removed.Files), humanize.IBytes(uint64(removed.Bytes)), verb)
			if len(versions) > 0 {
				fmt.Fprintln(stdout, strings.Join(versions, " "))
			}
			return nil
		}),
	})
	cmd.Flags().IntVar(&keep, "keep", 20, "number of newest versions to keep of each model")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be deleted, and delete nothing")
	return cmd
}
