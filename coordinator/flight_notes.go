package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/flight"
)

// What the coordinator tells the flight recorder, and what of it is an incident.

// noteEvent records an event of the fleet, but not those that come many times a second.
func (l *loop) noteEvent(e machine.Event) {
	switch e := e.(type) {
	case machine.Opened:
		w := e.Hello.Worker
		l.flight.Add(flight.Record{Kind: flight.Joined, Worker: w.ID, PID: w.PID, Text: fmt.Sprintf("%s at %s", w.Device, w.DataAddress)})
	case machine.Received:
		if s := l.sessions[e.Session]; s != nil {
			l.noteMessage(s, e.Message)
		}
	case machine.NotSaved:
		if e.Short != nil {
			l.flight.Add(flight.Record{Kind: flight.Full, Step: e.Step, Value: float64(e.Short.Bytes), Text: fmt.Sprintf("%s is not stored: %s", e.Short.What, e.Reason)})
		} else {
			l.flight.Add(flight.Record{Kind: flight.Failed, Step: e.Step, Text: fmt.Sprintf("the checkpoint at step %d is not stored: %s", e.Step, e.Reason)})
		}
		l.incident(fmt.Sprintf("the checkpoint at step %d is not stored", e.Step))
	case machine.Dead:
		l.flight.Add(flight.Record{Kind: flight.Failed, Text: fmt.Sprintf("shard %d cannot be made: %s", e.Shard, e.Reason)})
	}
}

func (l *loop) noteMessage(s *session, received message.FromWorker) {
	s.heard = time.Now()
	id := ergoflow.WorkerID(s.from)
	switch m := received.(type) {
	case message.Heartbeat:
		s.doing, s.heartbeat = m.Doing, m.Number
	case message.Progress:
		s.state = ergoflow.Mark{Generation: m.Generation, Step: m.Step}
		if s.state.Compare(l.newestStep) > 0 { // the first that tells of the step
			l.newestStep = s.state
			l.flight.Step(m.Generation, m.Step, m.Loss, flight.Phases(m.Timing))
		}
	case message.Complaint:
		l.flight.Add(flight.Record{Kind: flight.Complains, Worker: id, Peer: m.Peer, Generation: m.Generation, Step: m.Step, Text: m.Reason})
		for _, peer := range m.Silent {
			l.flight.Add(flight.Record{Kind: flight.Silent, Worker: id, Peer: peer, Generation: m.Generation, Step: m.Step})
		}
		l.incident(fmt.Sprintf("worker %s complains at step %d", id, m.Step))
	case message.Failed:
		l.flight.Add(flight.Record{Kind: flight.Unfit, Worker: id, Text: m.Reason})
		l.incident(fmt.Sprintf("worker %s cannot continue the run", id))
	case message.LinkChecked:
		l.flight.Add(flight.Record{Kind: flight.Checked, Worker: id, Peer: m.Peer, Text: m.Failure})
	case message.Drain:
		l.flight.Add(flight.Record{Kind: flight.Ordered, Worker: id, Text: "it asks to leave"})
	}
}

// noteReason records a decision of the fleet.
func (l *loop) noteReason(reason string) {
	l.flight.Add(flight.Record{Kind: flight.Decided, Generation: l.newestStep.Generation, Step: l.newestStep.Step, Text: reason})
}

// noteWarning records a warning of the fleet.
func (l *loop) noteWarning(e machine.Warn) {
	kind := flight.Failed
	if e.Stall {
		kind = flight.Stalled
	}
	l.flight.Add(flight.Record{Kind: kind, Generation: l.newestStep.Generation, Step: l.newestStep.Step, Text: e.Text})
	l.incident(e.Text)
}

// noteLost records that a worker is lost, and in the background what the operating system knows
// of its process, if that is on this host.
func (l *loop) noteLost(s *session, lost machine.Lost) {
	l.incident(fmt.Sprintf("worker %s is lost: %s", lost.Worker, lost.Reason))
	if s == nil {
		return // its stream ended in the same moment
	}
	e := flight.Record{Kind: flight.Lost, Worker: lost.Worker, PID: s.pid, Generation: s.state.Generation, Step: s.state.Step, Text: lost.Reason}
	if !s.heard.IsZero() {
		e.Seconds = time.Since(s.heard).Seconds()
	}
	l.flight.Add(e)
	if !s.visible {
		return
	}
	l.help(func(ctx context.Context) {
		for range 8 { // a process that ends closes its connections first
			if said := cmp.Or(flight.StateOf(s.pid), flight.EndOf(s.pid)); said != "" {
				l.flight.Add(flight.Record{Kind: flight.Process, Worker: e.Worker, PID: s.pid, Text: said})
				return
			}
			select {
			case <-time.After(settleTime / 10):
			case <-ctx.Done():
				return
			}
		}
	})
}

// timed records a write to the disk that took long.
func (l *loop) timed(what string, write func() error) error {
	begin := time.Now()
	err := write()
	if took := time.Since(begin); took >= slowWrite {
		l.flight.Add(flight.Record{Kind: flight.Slow, Seconds: took.Seconds(), Text: what})
		l.incident(fmt.Sprintf("%s took %v", what, took.Round(time.Millisecond)))
	}
	return err
}

// noteSaved records that a checkpoint was stored, and if that took long says so.
func (l *loop) noteSaved(h *wire.CheckpointHeader, took time.Duration, err error) {
	e := flight.Record{Kind: flight.Stored, Generation: ergoflow.Generation(h.Generation), Step: ergoflow.Step(h.Step), Value: float64(h.Size), Seconds: took.Seconds(), Text: "the checkpoint"}
	if err == nil { // otherwise an event follows
		l.flight.Add(e)
	}
	if took >= slowWrite {
		e.Kind, e.Text = flight.Slow, flight.SlowWrite+"the checkpoint to "+l.saved.Path()
		l.flight.Add(e)
		l.do(func() { l.incident(fmt.Sprintf("%s took %v", e.Text, took.Round(time.Millisecond))) })
	}
}

// noteBeginning makes room for dumps, and records how the last coordinator of the directory
// ended, where that was not in order.
func noteBeginning(k *flight.Keeper, before *Addresses) {
	store, err := k.Store()
	if err == nil {
		err = store.Reserve()
	}
	if err != nil {
		k.Log.Warn("no room for the flight recorder's dumps", "error", err)
	}
	if before == nil {
		return
	}
	k.Add(flight.Record{Kind: flight.Unclean, PID: before.PID,
		Text: fmt.Sprintf("the coordinator with pid %d did not end in order: it was killed, or its machine went down", before.PID)})
}

// noteEnd records why this coordinator ends. It stores a dump where that is an error.
func noteEnd(k *flight.Keeper, err error) {
	if err == nil {
		k.Add(flight.Record{Kind: flight.Ends, Text: "in order"})
		return
	}
	k.Add(flight.Record{Kind: flight.Ends, Text: err.Error()})
	k.Save("the coordinator ends with an error")
}
