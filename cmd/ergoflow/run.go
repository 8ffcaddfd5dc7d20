package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/hostport"
	"github.com/ergoflow/ergoflow/model/experiment"
)

func runCommand() *cobra.Command {
	var choose experimentFlags
	var local localFlags
	var start string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "run EXPERIMENT",
		Short: "Generate, train, evaluate and report, all on this machine",
		Long: `Starts a coordinator and worker processes on this machine, generates the
training data, trains, evaluates on held-out equations and writes a table,
figures and a report. After an interruption the same command continues where the
run stopped, and reuses shards that exist.`,
		Example: "  ergoflow run vn1d --preset demo\n  ergoflow run rare1d --preset smoke --workers 3 --set training.learning_rate=0.0005",
		Args:    exactly(1, "an experiment: "+experimentNames()),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := checkAddresses(cmd, "http"); err != nil {
				return err
			}
			if local.http != "" && !hostport.IsLoopback(local.http) {
				return withHint(usagef("--http %s is not on loopback", local.http), "the processes of `run` speak plain text: give 127.0.0.1:PORT, and reach it from elsewhere by `ssh -L`")
			}
			e, err := choose.loadTried(ctx, args[0])
			if err != nil {
				return err
			}
			e, first, err := startFrom(ctx, e, start)
			if err != nil {
				return err
			}
			result, err := local.run(ctx, e, wire.Stage_STAGE_TRAIN, first)
			if err != nil {
				return err
			}
			_, st, err := experiment.DecodeState(result.Checkpoint)
			if err != nil {
				return err
			}
			store, err := local.heldOut(ctx, e)
			if err != nil {
				return err
			}
			return evaluateAndReport(ctx, evaluation{
				experiment: e, state: st,
				store: store, out: filepath.Join(local.dir, "report"),
				backend: local.backend, engine: local.engine, workers: local.workers, stages: result.Stages, json: asJSON,
			})
		},
	}
	choose.add(cmd)
	choose.addReproducible(cmd)
	addStart(cmd, &start)
	local.add(cmd)
	cmd.Flags().StringVar(&local.http, "http", "", "address on loopback of a page that shows the run (default: none)")
	local.addStore(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the results as JSON (docs/formats.md)")
	return cmd
}
