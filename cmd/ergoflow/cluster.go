package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/coordinator"
)

// clusterFlags say where a running coordinator is: by its directory on this machine, by its
// control address, or by a context. A secured one is shown the credentials of the context; in
// the coordinator's directory are some.
type clusterFlags struct{ dir, addr, context string }

func (f *clusterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "dir", "", "directory of a coordinator on this machine")
	cmd.Flags().StringVar(&f.addr, "addr", "", "`HOST:PORT` of a running coordinator's control service")
	cmd.MarkFlagsMutuallyExclusive("dir", "addr")
	addContext(cmd, &f.context)
}

// addContext adds the flag of a directory of credentials.
func addContext(cmd *cobra.Command, context *string) {
	cmd.Flags().StringVar(context, "context", "", "`DIR` with your credentials for a secured cluster, which ergoflow join makes (default: those in --dir)")
}

// given reports whether a cluster is named.
func (f clusterFlags) given() bool { return f.dir != "" || f.addr != "" || f.context != "" }

// String is the cluster as commands take it.
func (f clusterFlags) String() string {
	given := "--dir " + f.dir
	switch {
	case f.addr != "":
		given = "--addr " + f.addr
	case f.dir == "":
		return "--context " + f.context
	}
	if f.context != "" {
		given += " --context " + f.context
	}
	return given
}

// endpoint is the control service. The credentials of a context are renewed if they are due;
// where that fails, the command itself says why nobody answers.
func (f clusterFlags) endpoint(ctx context.Context) (conduct.Endpoint, error) {
	at, err := f.find()
	if err != nil {
		return at, err
	}
	if failed := at.KeepCurrent(ctx); failed != nil && time.Until(at.Credentials.Certificate().NotAfter) < soon {
		slog.Warn("your credentials end soon, and were not renewed", "context", f.context, "end", at.Credentials.Certificate().NotAfter, "error", failed)
	}
	return at, nil
}

// soon is when a person hears that credentials end.
const soon = 3 * 24 * time.Hour

func (f clusterFlags) find() (conduct.Endpoint, error) {
	switch {
	case f.addr != "" || f.dir == "" && f.context != "":
		return conduct.EndpointOf(f.context, f.addr)
	case f.dir == "":
		return conduct.Endpoint{}, usagef("no cluster is given: want --dir DIR (of a coordinator on this machine), --addr HOST:PORT or --context DIR")
	}
	at, err := conduct.EndpointIn(f.dir, f.context)
	if err == nil || errors.Is(err, coordinator.ErrNotRunning) {
		return at, err
	}
	return at, withHint(err, "start the coordinator again, which writes what is missing, or give --addr and --context")
}

// dial prepares a client of the coordinator.
func (f clusterFlags) dial(ctx context.Context) (*conduct.Client, error) {
	at, err := f.endpoint(ctx)
	if err != nil {
		return nil, err
	}
	return conduct.Dial(at)
}
