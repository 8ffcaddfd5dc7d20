package coordinator

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/leader"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// dialLeader is a client that begins at one coordinator.
func dialLeader(t *testing.T, at *server) wire.ControlClient {
	t.Helper()
	conn, err := leader.Dial(at.Control, insecure.NewCredentials())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return wire.NewControlClient(conn)
}

// A client that begins at any coordinator reaches the one that leads, also the next one.
func TestClientFollowsTheLeader(t *testing.T) {
	t.Parallel()
	list := several(t, 3)
	first := leading(t, list...)
	var clients []wire.ControlClient
	for _, s := range list {
		clients = append(clients, dialLeader(t, s))
	}
	ask := func() {
		t.Helper()
		for i, c := range clients {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			if _, err := c.Status(ctx, &wire.StatusRequest{}); err != nil {
				t.Errorf("client of coordinator %d: %v", i, err)
			}
			stream, err := c.Events(ctx, &wire.EventsRequest{})
			if err == nil {
				_, err = stream.Recv()
			}
			if err != nil {
				t.Errorf("client of coordinator %d: events: %v", i, err)
			}
			cancel()
		}
	}
	ask()
	if _, err := clients[0].Submit(t.Context(), &wire.SubmitRequest{Plan: plan, Until: wire.Stage_STAGE_TRAIN, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol}); err != nil {
		t.Error(err)
	}
	first.close()
	ask() // also from the address of the one that is gone
}

// Of a coordinator that is alone nothing changes: who does not answer is an error at once.
func TestClientOfOneCoordinator(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	c := dialLeader(t, s)
	if _, err := c.Status(t.Context(), &wire.StatusRequest{}); err != nil {
		t.Error(err)
	}
	stream, err := c.Events(t.Context(), &wire.EventsRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		t.Error(err)
	}
	s.close()
	if _, err := c.Status(t.Context(), &wire.StatusRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("a coordinator that is gone: %v", err)
	}
}
