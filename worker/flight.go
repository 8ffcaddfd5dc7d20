package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

const (
	dumpTimeout = 10 * time.Second // for the transfer of a dump
	maxPending  = 8                // dumps that wait for a session
	dumpPause   = 2 * time.Second  // a pause of the process for which it makes a dump by itself
)

// A dumpOrder asks for a dump, or for the transfer of those that wait.
type dumpOrder struct {
	occasion string // empty: none is made
	ordered  bool   // by the coordinator
	number   uint64 // of its request, if somebody waits for the answer; else 0
	stacks   bool   // of all goroutines, too
}

// orderDump has the keeper of dumps make one. It never waits: in a flood of orders some are lost.
func (w *worker) orderDump(o dumpOrder) {
	select {
	case w.dumps <- o:
	default:
	}
}

// keepFlight watches this process and carries out orders for dumps, until ctx ends. No step
// waits for it.
func (w *worker) keepFlight(ctx context.Context, asked <-chan os.Signal) {
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		w.flight.Watch(ctx, func(e flight.Record) {
			if e.Kind != flight.Paused || e.Seconds >= dumpPause.Seconds() {
				w.orderDump(dumpOrder{occasion: fmt.Sprintf("%s: %s", e.Kind, e.Text)})
			}
		})
	}()
	defer func() { <-watched }()
	var spacing flight.Spacing
	var pending []string
	for {
		select {
		case o := <-w.dumps:
			if o.occasion != "" && (o.ordered || spacing.Due(time.Now())) {
				pending = w.dump(ctx, o, pending)
			}
		case <-asked:
			pending = w.dump(ctx, dumpOrder{occasion: "SIGQUIT", stacks: true}, pending)
		case <-ctx.Done():
			return
		}
		pending = w.sendPending(ctx, pending)
	}
}

// dump makes a dump and sends it to the coordinator. Where that fails it stays in a file here,
// whose path is added to pending.
func (w *worker) dump(ctx context.Context, o dumpOrder, pending []string) []string {
	more := w.presently()
	if o.stacks {
		more = append(more, flight.Stacks()...)
	}
	header, encoded, err := w.flight.Take(o.occasion, o.number == 0, more...)
	if err != nil {
		w.log.Warn("cannot dump the flight recorder", "error", err)
		return pending
	}
	err = w.sendDump(ctx, encoded, o.number)
	if err == nil || o.number > 0 { // who waits for it does so for a moment
		return pending
	}
	w.log.Info("the coordinator has not taken the flight recorder's dump: it stays here", "reason", err)
	path, err := w.flight.Write(header, encoded)
	if err != nil {
		return pending
	}
	return append(pending[max(0, len(pending)-maxPending+1):], path)
}

// sendPending sends the dumps that wait, and returns those that still do.
func (w *worker) sendPending(ctx context.Context, pending []string) []string {
	for len(pending) > 0 && w.current.Load() != nil {
		encoded, err := os.ReadFile(pending[0])
		if err == nil {
			err = w.sendDump(ctx, encoded, 0)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return pending
		}
		w.flight.Forget(pending[0])
		pending = pending[1:]
	}
	return pending
}

var errNoSession = errors.New("there is no session with the coordinator")

// sendDump sends a dump to the coordinator. It has a connection of its own, so that heartbeats
// do not queue behind it.
func (w *worker) sendDump(ctx context.Context, encoded []byte, number uint64) error {
	s := w.current.Load()
	if s == nil {
		return errNoSession
	}
	ctx, cancel := context.WithTimeout(ctx, dumpTimeout)
	defer cancel()
	conn, err := secure.Client(s.address, secure.Dial(w.trust, trust.Coordinator))
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := wire.NewControlClient(conn).SaveFlight(ctx)
	if err != nil {
		return err
	}
	err = wire.SendFlight(stream.Send, &wire.FlightHeader{Worker: string(w.id), Number: number}, encoded)
	if err != nil && !errors.Is(err, io.EOF) { // after EOF the reply has the reason
		return err
	}
	_, err = stream.CloseAndRecv()
	return err
}
