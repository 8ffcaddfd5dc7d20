package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"github.com/ergoflow/ergoflow/worker/protocol"
)

// The pause between attempts to reach a coordinator is a quarter of the time since
// it was lost. So the pause prolongs its absence by a quarter at most.
const (
	minPause = 50 * time.Millisecond
	maxPause = 2 * time.Second
)

// holdSessions holds one session after another, until the worker leaves or ctx
// ends. After a session that breaks it looks for the coordinator again, which may
// be restarting.
func (w *worker) holdSessions(ctx context.Context, members *gossip.Gossip) error {
	var lost time.Time // end of the last session that was longer than maxPause, or that began a term
	var term uint64    // of that session's coordinator
	var pause time.Duration
	var avoid string    // the coordinator that held no session
	var distrusted bool // whether the log has why, since the last session
	var leader string   // that a coordinator which does not lead has named; empty: ask the gossip
	for {
		control, named := leader, leader != ""
		if leader = ""; !named {
			var err error
			if control, err = w.findCoordinator(ctx, members, pause, avoid); err != nil {
				w.log.Info("leaving", "reason", err)
				return err
			}
		}
		begin := time.Now()
		held, err := w.session(ctx, control)
		switch {
		case errors.Is(err, protocol.ErrLeft), errors.Is(err, protocol.ErrRefused), ctx.Err() != nil:
			return err
		case errors.Is(err, protocol.ErrTransferred):
			w.log.Info("forgetting the run; opening a session for another", "reason", err)
			w.drop()
			lost, pause, avoid = time.Time{}, 0, ""
			continue
		}
		avoid = control
		if address, other := wire.Leader(err); other && !named { // one that is named twice in a row is asked after the pause
			leader = address
		}
		if held {
			avoid, distrusted = "", false
			w.flight.Add(flight.Record{Kind: flight.Left, Seconds: time.Since(begin).Seconds(), Text: err.Error()})
			w.orderDump(dumpOrder{occasion: err.Error()})
		}
		if lost.IsZero() || time.Since(begin) > maxPause || w.term > term {
			lost, term = time.Now(), w.term
			w.log.Warn("session ended; looking for the coordinator again", "coordinator", control, "reason", err)
		} else if errors.Is(err, secure.ErrUntrusted) && !distrusted {
			distrusted = true // trying again helps only if somebody starts one of the two otherwise
			w.log.Warn("no session; trying again", "coordinator", control, "reason", err)
		}
		pause = min(max(time.Since(lost)/4, minPause), maxPause)
	}
}

// latestTerm is the latest in which the gossip has a coordinator that leads; 0: it has none of several.
func (w *worker) latestTerm() uint64 {
	members := w.gossip.Load()
	if members == nil {
		return 0
	}
	return members.Term()
}

// findCoordinator waits for the pause, and then until gossip names a coordinator. A
// drain ends it: without a coordinator the worker has nothing to hand over.
func (w *worker) findCoordinator(ctx context.Context, members *gossip.Gossip, pause time.Duration, avoid string) (string, error) {
	ctx, cancel := w.untilDrain(ctx)
	defer cancel()
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	address, err := members.Coordinator(ctx, avoid)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return address, err
}

// connectTimeout bounds an attempt to connect to the coordinator. After a network
// failure a new attempt succeeds sooner than TCP's retransmissions, whose intervals
// grow.
const connectTimeout = 3 * time.Second

// connect waits until the connection is up or has failed, or the worker drains.
func (w *worker) connect(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := w.untilDrain(ctx)
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, connectTimeout)
	defer stop()
	conn.Connect()
	for {
		state := conn.GetState()
		if state == connectivity.Ready || state == connectivity.TransientFailure { // opening the session gives the reason
			return nil
		}
		if !conn.WaitForStateChange(ctx, state) {
			return context.Cause(ctx)
		}
	}
}

// untilDrain is ctx with an earlier end when the worker drains: ErrLeft.
func (w *worker) untilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-w.drain:
			cancel(fmt.Errorf("%w: it was told to, and without a coordinator it has nothing to hand over", protocol.ErrLeft))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}
