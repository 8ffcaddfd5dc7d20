package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/registry"
	"github.com/ergoflow/ergoflow/model/training/state"
)

func modelsAddCommand() *cobra.Command {
	var flags registryFlags
	var checkpoint string
	cmd := flags.register(&cobra.Command{
		Use:   "add NAME --checkpoint C --registry DIR",
		Short: "Add a checkpoint of a run as a new version of a model",
		Long: `Copies the checkpoint into the registry, which is made where it is missing. The
version has no metrics, since nobody judged it here, and no alias.`,
		Example: "  ergoflow models add vn1d --checkpoint ergoflow-runs/vn1d-demo --registry models",
		Args:    exactly(1, "the name of a model"),
		RunE: flags.with(func(ctx context.Context, r *registry.Registry, args []string) error {
			encoded, _, err := readEncoded(ctx, checkpoint)
			if err != nil {
				return err
			}
			e, st, err := decodeState(checkpoint, encoded)
			if err != nil {
				return err
			}
			v, err := r.Add(ctx, version(args[0], e, st), encoded)
			if err != nil {
				return err
			}
			return flags.print(r, v, "%s: %s at step %d, %s\n", v.Ref(), v.Experiment, v.Step, humanize.IBytes(uint64(v.Weights.Bytes)))
		}),
	})
	cmd.Flags().StringVar(&checkpoint, "checkpoint", "", checkpointUsage+" (required)")
	cmd.MarkFlagRequired("checkpoint")
	return cmd
}

func modelsExportCommand() *cobra.Command {
	var flags registryFlags
	var output string
	cmd := flags.register(&cobra.Command{
		Use:   "export NAME[@ALIAS|@NUMBER] -o DIR --registry DIR",
		Short: "Export a version as a directory with a model card",
		Long: `Makes a directory with the weights, which Python reads with numpy and
safetensors alone, all that is known of the version as JSON, and a model card in
Markdown: what it was trained on, how it was judged, where it ends.`,
		Example: "  ergoflow models export vn1d@champion -o vn1d-champion --registry models",
		Args:    exactly(1, "a version"),
		RunE: flags.with(func(ctx context.Context, r *registry.Registry, args []string) error {
			v, err := r.Get(ctx, args[0])
			if err != nil {
				return err
			}
			if err := r.Export(ctx, v, output); err != nil {
				return err
			}
			files := []string{registry.WeightsFile, registry.VersionFile, registry.CardFile}
			if flags.json {
				return printJSON(struct {
					Name     string   `json:"name"`
					Version  int      `json:"version"`
					Dir      string   `json:"dir"`
					Files    []string `json:"files"`
					Warnings []string `json:"warnings"`
				}{v.Model, v.Number, output, files, warningsOf(r)})
			}
			fmt.Fprintf(stdout, "%s: %s with %s\n", v.Ref(), output, strings.Join(files, ", "))
			return nil
		}),
	})
	cmd.Flags().StringVarP(&output, "output", "o", "", "directory to make (required)")
	cmd.MarkFlagRequired("output")
	return cmd
}

func modelsImportCommand() *cobra.Command {
	var flags registryFlags
	var name string
	cmd := flags.register(&cobra.Command{
		Use:     "import DIR --registry DIR",
		Short:   "Import an exported version",
		Example: "  ergoflow models import vn1d-champion --registry models",
		Args:    exactly(1, "an exported directory"),
		RunE: flags.with(func(ctx context.Context, r *registry.Registry, args []string) error {
			v, err := r.Import(ctx, args[0], name, caller())
			if err != nil {
				return err
			}
			return flags.print(r, v, "%s: was %s\n", v.Ref(), v.Origin)
		}),
	})
	cmd.Flags().StringVar(&name, "name", "", "model that it becomes a version of (default: the model that it was exported from)")
	return cmd
}

func modelsVerifyCommand() *cobra.Command {
	var flags registryFlags
	return flags.register(&cobra.Command{
		Use:   "verify --registry DIR",
		Short: "Verify all records, aliases and weights",
		Long: `Reads the whole registry. Ends with code 1 and names what is damaged. Names
files that no version has; prune deletes them.`,
		Example: "  ergoflow models verify --registry models",
		Args:    exactly(0, "no arguments"),
		RunE: flags.with(func(ctx context.Context, r *registry.Registry, _ []string) error {
			found, damage := r.Verify(ctx)
			if flags.json {
				text := []string{}
				if damage != nil {
					text = strings.Split(damage.Error(), "\n")
				}
				return errors.Join(damage, printJSON(struct {
					registry.Verified
					Damage   []string `json:"damage"`
					Warnings []string `json:"warnings"`
				}{found, text, warningsOf(r)}))
			}
			if damage != nil {
				return damage
			}
			fmt.Fprintf(stdout, "%d versions of %d models are whole, with %d files of weights (%s)\n", found.Versions, found.Models, found.Weights, humanize.IBytes(uint64(found.Bytes)))
			for _, name := range found.LeftOver {
				fmt.Fprintf(stdout, "left over: weights/%s\n", name)
			}
			return nil
		}),
	})
}

// version is what is known of a checkpoint that a person adds. The same checkpoint, added
// again, is the same version.
func version(model string, e experiment.Experiment, st *state.State) registry.Version {
	hash := st.ParameterHash()
	return registry.Version{
		Model: model, Key: fmt.Sprintf("checkpoint %s %d %x", st.Run, st.Step, hash[:8]), Experiment: e.Name + "/" + e.Preset, Step: st.Step, Run: st.Run, Dataset: e.Data.Hash(),
		Seeds: map[string]uint64{"training": e.Seed, "data": e.Data.Seed}, By: caller(),
	}
}
