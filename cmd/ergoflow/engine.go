package main

import (
	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/simulator"
)

// addSimulator adds the flag of the simulation engine, for commands with a compute
// backend; see simulator.Choose.
func addSimulator(cmd *cobra.Command, engine *string) {
	cmd.Flags().StringVar(engine, "engine", backend.Auto, "simulation engine: auto, avx512, avx2, go or device")
}

// knownNames refuses unknown backends and engines, for commands that open them late.
// Whether there is a device is known only then.
func knownNames(compute, engine string) error {
	if err := backend.CheckName(compute); err != nil {
		return err
	}
	if engine == backend.Auto || engine == simulator.Engine {
		return nil
	}
	_, err := simulate.NewEngine(engine)
	return err
}
