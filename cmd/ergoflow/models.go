package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/model/registry"
)

func modelsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "models",
		Short: "Versions of trained models: list, promote, roll back",
		Long: `A registry is a directory with trained models. A model has numbered versions;
an alias, such as champion, names one of them. --checkpoint takes a version as
REGISTRY/NAME@ALIAS or REGISTRY/NAME@NUMBER, and REGISTRY/NAME for its champion.`,
		Example: "  ergoflow models list --registry models",
	}, modelsListCommand(), modelsShowCommand(), modelsDiffCommand(), modelsHistoryCommand(),
		modelsAddCommand(), modelsPromoteCommand(), modelsRollbackCommand(), modelsAliasCommand(),
		modelsTagCommand(), modelsPinCommand(), modelsPruneCommand(),
		modelsExportCommand(), modelsImportCommand(), modelsVerifyCommand())
}

// registryFlags are those of all commands below models.
type registryFlags struct {
	dir  string
	json bool
}

func (f *registryFlags) register(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.dir, "registry", "", "directory of the registry, or s3://BUCKET/PREFIX?endpoint=URL (required)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON (docs/formats.md)")
	cmd.MarkFlagRequired("registry")
	return cmd
}

// with is the RunE of a command on the registry. It prints the registry's warnings.
func (f *registryFlags) with(run func(ctx context.Context, r *registry.Registry, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		r, err := registry.Open(f.dir)
		if err != nil {
			return err
		}
		err = run(cmd.Context(), r, args)
		warn(r.Warnings())
		return damageHint(err)
	}
}

// damageHint is the hint of a registry's damage; that of checkpoints.db would be another.
func damageHint(err error) error {
	if errors.Is(err, registry.ErrCorrupt) && !errors.Is(err, registry.ErrExport) {
		return withHint(err, "`ergoflow models verify` names all that is damaged; restore it from a copy, or import an export")
	}
	return err
}

// shownVersion is the document of commands that print a version.
type shownVersion struct {
	registry.Version
	Warnings []string `json:"warnings"`
}

// shownEntry is the document of commands that move an alias.
type shownEntry struct {
	Name string `json:"name"`
	registry.Entry
	Warnings []string `json:"warnings"`
}

// print prints a version: its document, or else a text of it.
func (f *registryFlags) print(r *registry.Registry, v registry.Version, text string, args ...any) error {
	if f.json {
		return printJSON(shownVersion{v, warningsOf(r)})
	}
	_, err := fmt.Fprintf(stdout, text, args...)
	return err
}

// warningsOf are the registry's warnings, never null in JSON.
func warningsOf(r *registry.Registry) []string { return append([]string{}, r.Warnings()...) }

// caller is who changes a registry by a command.
func caller() string {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname() // an unknown one is left out
	return strings.TrimSuffix(name+"@"+host, "@")
}

func modelsListCommand() *cobra.Command {
	var flags registryFlags
	return flags.register(&cobra.Command{
		Use:     "list [NAME] --registry DIR",
		Short:   "List the versions of all models, or of one, oldest first",
		Example: "  ergoflow models list vn1d --registry models",
		Args:    cobra.MaximumNArgs(1),
		RunE: flags.with(func(ctx context.Context, r *registry.Registry, args []string) error {
			all, err := r.List(ctx, strings.Join(args, ""))
			if err != nil {
				return err
			}
			if flags.json {
				return printRows(all)
			}
			if len(all) == 0 {
				fmt.Fprintf(stdout, "no versions in %s\n", r.Dir())
				return nil
			}
			out := bufio.NewWriter(stdout) // the table writes cell by cell
			t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(t, "version\taliases\tmetrics\tparent\tstep\tdecision\tsize\tage")
			for _, v := range all {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", v.Ref(), aliasesOf(v), metricsOf(v), orNone(v.Parent), v.Step,
					v.Decision, humanize.IBytes(uint64(v.Weights.Bytes)), humanize.Time(v.Created))
			}
			return errors.Join(t.Flush(), out.Flush())
		}),
	})
}

func aliasesOf(v registry.Version) string {
	names := v.Aliases
	if v.Pinned {
		names = append(names, "(pinned)")
	}
	return strings.Join(names, " ")
}

func metricsOf(v registry.Version) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(v.Metrics)) {
		all = append(all, fmt.Sprintf("%s %.4g", name, v.Metrics[name].Value))
	}
	return strings.Join(all, ", ")
}

func modelsShowCommand() *cobra.Command {
	var flags registryFlags
	return flags.register(&cobra.Command{
		Use:     "show NAME[@ALIAS|@NUMBER] --registry DIR",
		Short:   "Show a version: its model card, or all as JSON",
		Example: "  ergoflow models show vn1d@champion --registry models",
		Args:    exactly(1, "a version"),
		RunE: flags.with(func(ctx context.Context, r *registry.Registry, args []string) error {
			v, err := r.Get(ctx, args[0])
			if err != nil {
				return err
			}
			return flags.print(r, v, "%s", v.Card())
		}),
	})
}

func modelsDiffCommand() *cobra.Command {
	var flags registryFlags
	return flags.register(&cobra.Command{
		Use:     "diff A B --registry DIR",
		Short:   "List the fields in which two versions differ",
		Example: "  ergoflow models diff vn1d@champion vn1d@7 --registry models",
		Args:    exactly(2, "two versions"),
		RunE: flags.with(func(ctx context.Context, r *registry.Registry, args []string) error {
			a, err := r.Get(ctx, args[0])
			if err != nil {
				return err
			}
			b, err := r.Get(ctx, args[1])
			if err != nil {
				return err
			}
			differences, err := registry.Diff(a, b)
			if err != nil {
				return err
			}
			if flags.json {
				return printJSON(struct {
					A           string                `json:"a"`
					B           string                `json:"b"`
					Differences []registry.Difference `json:"differences"`
					Warnings    []string              `json:"warnings"`
				}{a.Ref(), b.Ref(), differences, warningsOf(r)})
			}
			t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
			fmt.Fprintf(t, "field\t%s\t%s\n", a.Ref(), b.Ref())
			for _, d := range differences {
				fmt.Fprintf(t, "%s\t%s\t%s\n", d.Field, d.A, d.B)
			}
			return t.Flush()
		}),
	})
}

func modelsHistoryCommand() *cobra.Command {
	var flags registryFlags
	var alias string
	cmd := flags.register(&cobra.Command{
		Use:     "history NAME --registry DIR",
		Short:   "List what the aliases of a model named over time, by whom and why",
		Example: "  ergoflow models history vn1d --alias champion --registry models",
		Args:    exactly(1, "the name of a model"),
		RunE: flags.with(func(ctx context.Context, r *registry.Registry, args []string) error {
			entries, err := r.History(ctx, args[0], alias)
			if err != nil {
				return err
			}
			if flags.json {
				return printJSON(append([]registry.Entry{}, entries...))
			}
			t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
			fmt.Fprintln(t, "time\talias\tversion\tbefore\taction\tby\treasons")
			for _, e := range entries {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Time.Format("2006-01-02 15:04:05Z"), e.Alias, orNone(e.Version), orNone(e.Before),
					e.Action, e.By, strings.Join(e.Reasons, "; "))
			}
			return t.Flush()
		}),
	})
	cmd.Flags().StringVar(&alias, "alias", "", "the entries of one alias alone")
	return cmd
}

// orNone is a version's number in a table.
func orNone(number int) string {
	if number == 0 {
		return "-"
	}
	return fmt.Sprint(number)
}
