package peer

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/addresstest"
)

func TestReach(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	open := l.Addr().String()
	closed := addresstest.Free(t)
	defer l.Close()
	for address, want := range map[string]codes.Code{
		open:                            codes.OK,
		closed:                          codes.FailedPrecondition,
		"":                              codes.InvalidArgument,
		"127.0.0.1":                     codes.InvalidArgument,
		strings.Repeat("x", 300) + ":1": codes.InvalidArgument,
	} {
		if _, err := (&Server{Rings: plain}).Reach(t.Context(), &wire.ReachRequest{DataAddress: address}); status.Code(err) != want {
			t.Errorf("%.20q: %v, want %v", address, err, want)
		}
	}
}

// A worker waits as long as the member cannot reach it, and not for a member that is
// gone or does not know the question.
func TestAwaitReach(t *testing.T) {
	reached, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer reached.Close()
	unreachable, reachable := addresstest.Free(t), reached.Addr().String()
	for name, c := range map[string]struct {
		member  message.Member
		address string
	}{
		"it is gone":                    {message.Member{ID: "gone", DataAddress: unreachable}, unreachable},
		"it does not know the question": {serve(t, wire.UnimplementedPeerServer{}), unreachable},
		"it reaches the worker":         {serve(t, &Server{Rings: plain}), reachable},
	} {
		AwaitReach(t.Context(), plain, c.member, c.address, slog.New(slog.NewTextHandler(failOnWrite{t}, nil)), func(reason string) {
			t.Errorf("%s: %s", name, reason)
		})
	}

	ctx, cancel := context.WithCancel(t.Context())
	var log strings.Builder
	var reasons []string
	AwaitReach(ctx, plain, serve(t, failingPeer{}), unreachable, slog.New(slog.NewTextHandler(&log, nil)), func(reason string) {
		reasons = append(reasons, reason)
		cancel()
	})
	if len(reasons) != 1 || !strings.Contains(reasons[0], unreachable) || !strings.Contains(reasons[0], "connection refused") {
		t.Errorf("reasons %q", reasons)
	}
	if strings.Count(log.String(), "not admitted") != 1 {
		t.Errorf("the log is not one line: %s", &log)
	}
}

// failOnWrite fails a test when something is logged.
type failOnWrite struct{ t *testing.T }

func (f failOnWrite) Write(b []byte) (int, error) {
	f.t.Errorf("log: %s", b)
	return len(b), nil
}

// failingPeer reaches nobody.
type failingPeer struct{ wire.UnimplementedPeerServer }

func (failingPeer) Reach(context.Context, *wire.ReachRequest) (*wire.ReachReply, error) {
	return nil, status.Error(codes.FailedPrecondition, "connection refused")
}

// A link works where the peer answers and reaches back.
func TestCheckLink(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ours, nobody := l.Addr().String(), addresstest.Free(t)
	peer := serve(t, &Server{Rings: plain})
	if err := CheckLink(t.Context(), plain, peer, ours); err != nil {
		t.Error(err)
	}
	if err := CheckLink(t.Context(), plain, peer, nobody); err == nil || !strings.Contains(err.Error(), nobody) {
		t.Errorf("a peer that does not reach this worker: %v", err)
	}
	if err := CheckLink(t.Context(), plain, message.Member{ID: "gone", DataAddress: nobody}, ours); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("a peer that is not reached: %v", err)
	}
	request := &wire.ReachRequest{DataAddress: ours, Padding: make([]byte, paddingBytes+1)}
	if _, err := (&Server{Rings: plain}).Reach(t.Context(), request); status.Code(err) != codes.InvalidArgument {
		t.Errorf("too much padding: %v", err)
	}
	request.Padding = []byte{1, 2}
	if reply, err := (&Server{Rings: plain}).Reach(t.Context(), request); err != nil || string(reply.Padding) != string(request.Padding) {
		t.Errorf("%v came back, %v", reply.GetPadding(), err)
	}
}

// A call fails as silent where there is no way to the member, and as it did otherwise.
func TestWatchLink(t *testing.T) {
	failed := errors.New("the stream broke")
	for address, silent := range map[string]bool{"255.255.255.255:1": true, "127.0.0.1:1": false} {
		ctx, w := watchLink(t.Context(), plain, message.Member{ID: "a", DataAddress: address})
		if err := w.explain(failed); errors.Is(err, allreduce.ErrSilent) != silent || errors.Is(err, failed) == silent {
			t.Errorf("%s: %v", address, err)
		}
		if silent {
			<-ctx.Done() // the watch ends the call
			if cause := context.Cause(ctx); !errors.Is(cause, allreduce.ErrSilent) {
				t.Errorf("%s: the call was ended: %v", address, cause)
			}
		}
		w.end()
	}
}
