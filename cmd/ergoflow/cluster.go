package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/coordinator"
)

// clusterFlags say where a running coordinator is: by its directory on this machine or
// by its control address.
type clusterFlags struct{ dir, addr string }

func (f *clusterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "dir", "", "directory of a coordinator on this machine")
	cmd.Flags().StringVar(&f.addr, "addr", "", "`HOST:PORT` of a running coordinator's control service")
	cmd.MarkFlagsMutuallyExclusive("dir", "addr")
}

// String is the cluster as commands take it.
func (f clusterFlags) String() string {
	if f.addr != "" {
		return "--addr " + f.addr
	}
	return "--dir " + f.dir
}

// address is the control address.
func (f clusterFlags) address() (string, error) {
	if f.addr != "" {
		return f.addr, nil
	}
	if f.dir == "" {
		return "", usagef("no cluster is given: want --dir DIR (of a coordinator on this machine) or --addr HOST:PORT")
	}
	a, err := coordinator.ReadAddresses(f.dir)
	if errors.Is(err, coordinator.ErrNotRunning) {
		return "", err
	}
	if err != nil {
		return "", withHint(err, "start the coordinator again, which writes that file, or give its --addr")
	}
	return a.Control, nil
}

// dial prepares a client of the coordinator.
func (f clusterFlags) dial() (*conduct.Client, error) {
	addr, err := f.address()
	if err != nil {
		return nil, err
	}
	return conduct.Dial(addr)
}
