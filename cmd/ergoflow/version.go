package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  ergoflow version",
		Args:    exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintf(stdout, "ergoflow %s %s %s/%s\n", ergoflow.Build(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
