package peer

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

// A worker that joins can reach the members, but they may not reach it: it listens
// on an address of another network, or behind a firewall. A generation with it would
// wait for the ring and then end. So the worker asks a member to connect, and is not
// admitted before that succeeds.

const (
	// answerTimeout bounds the wait for a member's answer, since the member may have
	// stopped. It is longer than the member tries to connect.
	answerTimeout = 5 * time.Second
	// askPause is between an answer and the next question.
	askPause = 5 * time.Second
	// checkTimeout bounds a check of a link, in both directions. TCP repeats a lost first
	// packet after one second and after three: a new check is sooner than the third.
	checkTimeout = 2 * time.Second
	// paddingBytes makes a question longer than any packet: single packets may pass where
	// no gradient does.
	paddingBytes = 16 << 10
	// maxAddressBytes bounds the address in a question.
	maxAddressBytes = 256
)

// Reach connects to the caller's data port, and answers whether that succeeded.
func (s *Server) Reach(ctx context.Context, request *wire.ReachRequest) (*wire.ReachReply, error) {
	if len(request.Padding) > paddingBytes {
		return nil, status.Errorf(codes.InvalidArgument, "padding of more than %d bytes", paddingBytes)
	}
	if _, _, err := net.SplitHostPort(request.DataAddress); err != nil || len(request.DataAddress) > maxAddressBytes {
		return nil, status.Error(codes.InvalidArgument, "want an address as host:port")
	}
	identity := "" // by a local socket
	if id, ok := secure.Caller(ctx); ok {
		identity = id.String()
	} else if secure.IsPlaintext(ctx) {
		identity = string(trust.Plaintext)
	}
	if err := s.Rings.Reach(ctx, request.DataAddress, identity); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return &wire.ReachReply{Padding: request.Padding}, nil
}

// CheckLink finds out whether this worker, which listens at dataAddress, and another reach
// each other's data ports, and whether more than single packets pass.
func CheckLink(ctx context.Context, rings *allreduce.Server, member message.Member, dataAddress string) error {
	conn, err := dial(rings, member)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	request := &wire.ReachRequest{DataAddress: dataAddress, Padding: make([]byte, paddingBytes)}
	if _, err := wire.NewPeerClient(conn).Reach(ctx, request); err != nil {
		return fmt.Errorf("reach worker %s at %s: %w", member.ID, member.DataAddress, err)
	}
	return nil
}

// AwaitReach waits until the member reaches this worker's data port, or ctx ends.
// It gives onFailure the reason of every attempt that failed. It returns at once
// where the member does not answer: that says nothing about this worker's port.
func AwaitReach(ctx context.Context, rings *allreduce.Server, member message.Member, dataAddress string, log *slog.Logger, onFailure func(reason string)) {
	conn, err := dial(rings, member)
	if err != nil {
		return
	}
	defer conn.Close()
	var logged string
	for {
		asking, cancel := context.WithTimeout(ctx, answerTimeout)
		_, err := wire.NewPeerClient(conn).Reach(asking, &wire.ReachRequest{DataAddress: dataAddress})
		cancel()
		if status.Code(err) != codes.FailedPrecondition {
			return
		}
		reason := fmt.Sprintf("it cannot connect to %s, this worker's data port: %s (see --listen)", dataAddress, status.Convert(err).Message())
		if reason != logged {
			log.Warn("not admitted before a member reaches this worker", "peer", member.ID, "error", reason)
			logged = reason
		}
		onFailure(reason)
		select {
		case <-time.After(askPause):
		case <-ctx.Done():
			return
		}
	}
}
