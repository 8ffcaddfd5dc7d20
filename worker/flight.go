package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"github.com/ergoflow/ergoflow/model/training/trainer"
	"github.com/ergoflow/ergoflow/worker/protocol"
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
	err = stream.Send(&wire.FlightPart{Part: &wire.FlightPart_Header{Header: &wire.FlightHeader{Worker: string(w.id), Number: number, Size: int64(len(encoded))}}})
	for part := range slices.Chunk(encoded, partBytes) {
		if err != nil {
			break
		}
		err = stream.Send(&wire.FlightPart{Part: &wire.FlightPart_Data{Data: part}})
	}
	if err != nil && !errors.Is(err, io.EOF) { // after EOF the reply has the reason
		return err
	}
	_, err = stream.CloseAndRecv()
	return err
}

// presently are records of what is so at this moment: how far the ring is.
func (w *worker) presently() []flight.Record {
	ring := w.ring.Load()
	if ring == nil {
		return nil
	}
	return ringRecords(ring.Progress(), w.members.Load())
}

// ringRecords describe how far a ring is, whose members have these ids by rank.
func ringRecords(p allreduce.Progress, members *[]ergoflow.WorkerID) (records []flight.Record) {
	id := func(rank int) ergoflow.WorkerID {
		if members == nil || rank >= len(*members) {
			return ""
		}
		return (*members)[rank]
	}
	if c := p.Waits; c != nil {
		records = append(records, flight.Record{Kind: flight.Waits, Generation: p.Generation, Step: c.Chunk.Step, Chunk: c.Chunk.Number, Rank: c.From, Worker: id(c.From),
			Seconds: time.Since(c.Since).Seconds(), Text: chunkText(&c.Chunk)})
	}
	for _, l := range p.Links {
		e := flight.Record{Kind: flight.Link, Generation: p.Generation, Rank: l.Rank, Worker: id(l.Rank), Seconds: l.Quiet.Seconds(), Value: float64(l.Repeated),
			Text: fmt.Sprintf("sent %s, received %s", chunkText(l.Sent), chunkText(l.Received))}
		if l.Unreachable {
			e.Text += ", there is no way to it"
		}
		records = append(records, e)
	}
	return records
}

func chunkText(c *allreduce.Chunk) string {
	if c == nil {
		return "nothing"
	}
	return fmt.Sprintf("chunk %d of segment %d, bucket %d, step %d", c.Number, c.Segment, c.Bucket, c.Step)
}

// note records events of a session, but not those that come many times a second.
func (w *worker) note(e protocol.Event) {
	switch e := e.(type) {
	case protocol.Received:
		switch m := e.Message.(type) {
		case nil, message.Ping:
		case message.Assign:
			var ids []string
			for _, member := range m.Members {
				ids = append(ids, string(member.ID))
			}
			w.flight.Add(flight.Record{Kind: flight.Assigned, Generation: m.Generation, Rank: m.Rank, Members: strings.Join(ids, " "), Step: m.Source.State.Step})
		case message.Prepare:
			w.flight.Run(m.Plan.Run)
			w.flight.Add(flight.Record{Kind: flight.Ordered, Text: m.String()})
		case message.Generate:
			w.flight.Run(m.Plan.Run)
			w.flight.Add(flight.Record{Kind: flight.Ordered, Text: m.String()})
		default:
			w.flight.Add(flight.Record{Kind: flight.Ordered, Generation: generationOf(m), Text: m.String()})
		}
	case protocol.Joined:
		w.flight.Add(flight.Record{Kind: flight.Sent, Step: e.Step, Text: "the ring is connected"})
	case protocol.Drain:
		w.flight.Add(flight.Record{Kind: flight.Sent, Text: "asked to leave"})
	case protocol.Refused:
		w.flight.Add(flight.Record{Kind: flight.Sent, Text: "refused a stream of " + e.From + ": " + e.Reason})
	case protocol.LinkChecked:
		said := "it works"
		if e.Err != nil {
			said = e.Err.Error()
		}
		w.flight.Add(flight.Record{Kind: flight.Checked, Peer: e.Peer, Text: said})
	case protocol.NotSaved:
		w.flight.Add(flight.Record{Kind: flight.Failed, Text: "the checkpoint did not arrive: " + e.Err.Error()})
	}
}

// generationOf is the generation that a message is about; 0: none.
func generationOf(m message.FromCoordinator) ergoflow.Generation {
	switch m := m.(type) {
	case message.Form:
		return m.Generation
	case message.Go:
		return m.Generation
	case message.Abort:
		return m.Generation
	case message.Save:
		return m.Generation
	}
	return 0
}

// broke records why a rank's part in a generation ended, and how far its ring was.
func (r *rank) broke(ctx context.Context, err error) {
	w := r.session.w
	e := flight.Record{Kind: flight.Broken, Generation: r.assign.Generation, Rank: r.assign.Rank, Step: r.step, Text: err.Error()}
	if errors.Is(err, context.Canceled) {
		e.Text = fmt.Sprint(context.Cause(ctx))
	}
	if errors.Is(err, trainer.ErrDiverged) {
		e.Kind = flight.Diverged
	}
	if blame, ok := errors.AsType[*protocol.Blame](err); ok {
		e.Worker = blame.Peer
		for _, id := range blame.Silent {
			w.flight.Add(flight.Record{Kind: flight.Silent, Generation: e.Generation, Step: e.Step, Worker: w.id, Peer: id})
		}
	}
	w.flight.Add(e)
	for _, of := range w.presently() {
		w.flight.Add(of)
	}
}
