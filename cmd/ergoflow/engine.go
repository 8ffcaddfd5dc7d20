package main

import (
	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/model/backend"
)

// addSimulator adds the flag that says what simulates in a command with a
// compute backend; see device.Choose.
func addSimulator(cmd *cobra.Command, engine *string) {
	cmd.Flags().StringVar(engine, "engine", backend.Auto, "what simulates: auto, avx512, avx2, go or device")
}
