package worker

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

func TestReach(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	open := l.Addr().String()
	shut, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := shut.Addr().String()
	shut.Close()
	defer l.Close()
	for address, want := range map[string]codes.Code{
		open:                            codes.OK,
		closed:                          codes.FailedPrecondition,
		"":                              codes.InvalidArgument,
		"127.0.0.1":                     codes.InvalidArgument,
		strings.Repeat("x", 300) + ":1": codes.InvalidArgument,
	} {
		if _, err := new(peerServer).Reach(t.Context(), &wire.ReachRequest{DataAddress: address}); status.Code(err) != want {
			t.Errorf("%.20q: %v, want %v", address, err, want)
		}
	}
}

// A worker waits for as long as the peer cannot reach it, and not for one that is
// gone or knows nothing of the question.
func TestAwaitReach(t *testing.T) {
	var log strings.Builder
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	w := &worker{address: closed.Addr().String(), log: slog.New(slog.NewTextHandler(&log, nil))}
	w.awaitReach(t.Context(), message.Member{ID: "gone", DataAddress: w.address})
	w.awaitReach(t.Context(), serve(t, wire.UnimplementedPeerServer{}))
	if log.Len() > 0 {
		t.Errorf("log: %s", &log)
	}
	reached, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer reached.Close()
	there := &worker{address: reached.Addr().String(), log: w.log}
	there.awaitReach(t.Context(), serve(t, new(peerServer)))
	if log.Len() > 0 {
		t.Errorf("log of one that is reached: %s", &log)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.log = slog.New(slog.NewTextHandler(io.MultiWriter(&log, canceller(cancel)), nil))
	w.awaitReach(ctx, serve(t, failingPeer{}))
	if ctx.Err() == nil || strings.Count(log.String(), "not admitted") != 1 {
		t.Errorf("it did not wait, or the log is not one line: %s", &log)
	}
}

// failingPeer reaches nobody.
type failingPeer struct{ wire.UnimplementedPeerServer }

func (failingPeer) Reach(context.Context, *wire.ReachRequest) (*wire.ReachReply, error) {
	return nil, status.Error(codes.FailedPrecondition, "connection refused")
}

// canceller ends a context when something is written.
type canceller context.CancelFunc

func (c canceller) Write(b []byte) (int, error) { c(); return len(b), nil }
