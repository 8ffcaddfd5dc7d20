package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/model/compute/backend"
)

func backendCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "backend",
		Short:   "List and install compute backends",
		Example: "  ergoflow backend install cpu",
	}, backendListCommand(), backendInstallCommand())
}

func backendListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the compute backends, and whether each works here",
		Example: "  ergoflow backend list --json",
		Args:    exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			list := backend.List()
			if asJSON {
				return printJSON(list)
			}
			t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
			fmt.Fprintln(t, "backend\tworks\tversion\tdevice or problem")
			for _, b := range list {
				works, remark := "no", b.Problem
				if b.Works {
					works, remark = "yes", b.Device
				}
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", b.Backend, works, b.Version, remark)
			}
			return t.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}

func backendInstallCommand() *cobra.Command {
	var untested bool
	cmd := &cobra.Command{
		Use:   "install cpu|cuda",
		Short: "Install an XLA plugin with pip and check that it works",
		Long: `Downloads the pinned wheel with pip, which uses your index, proxies and
certificates. Checks its SHA-256, unpacks the plugin into the cache directory
and runs a small computation on it. Does nothing if the plugin is installed.`,
		Example: "  ergoflow backend install cpu\n  ERGOFLOW_CACHE=image/cache ergoflow backend install cuda --untested",
		Args:    exactly(1, "cpu or cuda"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if untested {
				return backend.InstallUntested(cmd.Context(), args[0], os.Stderr)
			}
			return backend.Install(cmd.Context(), args[0], os.Stderr)
		},
	}
	cmd.Flags().BoolVar(&untested, "untested", false, "do not compute with it: for an image, made where the device is not")
	return cmd
}
