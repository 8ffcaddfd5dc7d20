package worker

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/worker/protocol"
)

// A worker that joins can reach those who train, but they may not reach it: it
// listens on an address of another network, or behind a firewall. A generation with
// it would break, and all wait until it has. So it asks a member to connect, and is
// not admitted before that succeeds.

const (
	// answerTime is how long a member's answer is waited for: longer than it tries to
	// connect, and not for ever, since it may have stopped.
	answerTime = 5 * time.Second
	// dialPause is between two questions.
	dialPause = 5 * time.Second
	// maxAddressBytes bounds an address that is asked for.
	maxAddressBytes = 256
)

// Reach connects to who asks.
func (p *peerServer) Reach(ctx context.Context, request *wire.ReachRequest) (*wire.ReachReply, error) {
	if _, _, err := net.SplitHostPort(request.DataAddress); err != nil || len(request.DataAddress) > maxAddressBytes {
		return nil, status.Error(codes.InvalidArgument, "want an address as host:port")
	}
	if err := allreduce.Reach(ctx, request.DataAddress); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return new(wire.ReachReply), nil
}

// awaitReach waits until the peer reaches this worker's data port, or ctx ends. A
// peer that does not answer decides nothing.
func (w *worker) awaitReach(ctx context.Context, peer message.Member) {
	conn, err := dialPeer(peer)
	if err != nil {
		return
	}
	defer conn.Close()
	var said string
	for {
		asking, cancel := context.WithTimeout(ctx, answerTime)
		_, err := wire.NewPeerClient(conn).Reach(asking, &wire.ReachRequest{DataAddress: w.address})
		cancel()
		if status.Code(err) != codes.FailedPrecondition {
			return
		}
		reason := fmt.Sprintf("it cannot connect to %s, where this worker takes gradients: %s (see --listen)", w.address, status.Convert(err).Message())
		if reason != said {
			w.log.Warn("not admitted before a member reaches this worker", "peer", peer.ID, "error", reason)
			said = reason
		}
		if s := w.current.Load(); s != nil {
			s.post(protocol.Refused{From: string(peer.ID), Reason: reason})
		}
		select {
		case <-time.After(dialPause):
		case <-ctx.Done():
			return
		}
	}
}
