package main

import (
	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/device"
)

// addSimulator adds the flag that says what simulates in a command with a
// compute backend; see device.Choose.
func addSimulator(cmd *cobra.Command, engine *string) {
	cmd.Flags().StringVar(engine, "engine", backend.Auto, "what simulates: auto, avx512, avx2, go or device")
}

// knownNames refuses backends and engines that there are not, for commands that
// open them late. Whether there is a device shows then.
func knownNames(compute, engine string) error {
	if err := backend.Known(compute); err != nil {
		return err
	}
	if engine == backend.Auto || engine == device.Engine {
		return nil
	}
	_, err := simulate.NewEngine(engine)
	return err
}
