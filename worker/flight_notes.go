package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/model/training/trainer"
	"github.com/ergoflow/ergoflow/worker/protocol"
)

// What a worker tells the flight recorder. Beside this, ranks record their steps (rank.go).

// presently are records of what is so at this moment: how far the ring is.
func (w *worker) presently() []flight.Record {
	ring, members := w.meter.generation()
	if ring == nil {
		return nil
	}
	return ringRecords(ring.Progress(), members)
}

// ringRecords describe how far a ring is, whose members have these ids by rank.
func ringRecords(p allreduce.Progress, members []ergoflow.WorkerID) (records []flight.Record) {
	if c := p.Waits; c != nil {
		records = append(records, flight.Record{Kind: flight.Waits, Generation: p.Generation, Step: c.Chunk.Step, Chunk: c.Chunk.Number, Rank: c.From, Worker: members[c.From],
			Seconds: time.Since(c.Since).Seconds(), Text: chunkText(&c.Chunk)})
	}
	for _, l := range p.Links {
		e := flight.Record{Kind: flight.Link, Generation: p.Generation, Rank: l.Rank, Worker: members[l.Rank], Seconds: l.Quiet.Seconds(), Value: float64(l.Repeated),
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
		said := flight.LinkWorks
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
