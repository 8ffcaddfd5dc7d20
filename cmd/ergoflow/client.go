package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// A cluster says where a running coordinator is: by its directory on this
// machine or by its control address.
type clusterFlags struct{ dir, addr string }

// String is the cluster as commands take it.
func (f clusterFlags) String() string {
	if f.addr != "" {
		return "--addr " + f.addr
	}
	return "--dir " + f.dir
}

// dial connects to the coordinator's control service.
func (f clusterFlags) dial() (*grpc.ClientConn, wire.ControlClient, error) {
	addr := f.addr
	if addr == "" {
		if f.dir == "" {
			return nil, nil, usagef("say which cluster: --dir DIR (of a coordinator on this machine) or --addr HOST:PORT")
		}
		a, err := coordinator.ReadAddresses(f.dir)
		if errors.Is(err, coordinator.ErrNotRunning) {
			return nil, nil, err
		}
		if err != nil {
			return nil, nil, withHint(err, "start the coordinator again, which writes that file; or give its --addr")
		}
		addr = a.Control
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, usagef("address %q: %v", addr, err)
	}
	return conn, wire.NewControlClient(conn), nil
}

// errUnreachable means that nobody answers at a coordinator's address.
var errUnreachable = errors.New("the coordinator does not answer")

// rpcError says what failed and why, without gRPC's wrapping.
func rpcError(what string, err error) error {
	st, ok := grpcstatus.FromError(err)
	switch {
	case !ok:
		return fmt.Errorf("%s: %w", what, err)
	case st.Code() == codes.Canceled:
		return fmt.Errorf("%s: %w", what, context.Canceled)
	case st.Code() == codes.Unavailable:
		return fmt.Errorf("%s: %w (%s)", what, errUnreachable, st.Message())
	case st.Code() == codes.DeadlineExceeded:
		return fmt.Errorf("%s: %w (it was waited for %v)", what, errUnreachable, answerWait)
	}
	return fmt.Errorf("%s: %s", what, st.Message())
}

// answerWait is how long a coordinator may take to answer: it may be stopped, or on a
// host that is gone, of which the connection learns nothing.
const answerWait = 10 * time.Second

// status asks the coordinator what it is doing.
func status(ctx context.Context, control wire.ControlClient) (st coordinator.Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	reply, err := control.Status(ctx, &wire.StatusRequest{})
	if err != nil {
		return st, rpcError("ask the coordinator for its status", err)
	}
	if err := json.Unmarshal(reply.Json, &st); err != nil {
		return st, fmt.Errorf("read the coordinator's status: %w", err)
	}
	return st, nil
}

// loadCheckpoint fetches the latest checkpoint of a run.
func loadCheckpoint(ctx context.Context, control wire.ControlClient, run string) ([]byte, error) {
	stream, err := control.LoadCheckpoint(ctx, &wire.LoadRequest{Run: run})
	if err != nil {
		return nil, rpcError("load checkpoint", err)
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, rpcError("load checkpoint", err)
	}
	encoded, err := wire.ReadCheckpoint(first.GetHeader(), stream.Recv)
	if err != nil {
		return nil, rpcError("load checkpoint", err)
	}
	return encoded, nil
}
