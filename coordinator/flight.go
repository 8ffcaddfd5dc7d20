package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/flight"
)

const (
	// settleTime is how long after an incident the dumps are made: by then all members have
	// noticed it.
	settleTime = time.Second
	// incidentEvery is the least time between two dumps that nobody asked for.
	incidentEvery = 5 * time.Second
	// slowWrite is the time of a write to the disk that is remarkable.
	slowWrite = time.Second
	// answerTime is how long a request for dumps waits for the workers.
	answerTime = 2 * time.Second
)

// flights are the dumps of the cluster: the coordinator's own, and those that workers send.
type flights struct {
	keeper *flight.Keeper
	limit  *rate.Limiter // of dumps that come, which are written to the disk

	mu      sync.Mutex
	number  uint64
	awaited map[uint64]*collection
}

// A collection are the dumps that come in answer to a request.
type collection struct {
	missing map[ergoflow.WorkerID]bool
	got     map[ergoflow.WorkerID][]byte
	done    chan struct{} // closed when none is missing
}

// maxBurst is how many dumps may come at once: one of each of many workers.
const maxBurst = 256

func newFlights(k *flight.Keeper) *flights {
	return &flights{keeper: k, limit: rate.NewLimiter(4, maxBurst), awaited: make(map[uint64]*collection)}
}

// await begins a collection of the dumps of workers, and returns its number.
func (f *flights) await(workers []ergoflow.WorkerID) (uint64, *collection) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.number++
	c := &collection{missing: make(map[ergoflow.WorkerID]bool), got: make(map[ergoflow.WorkerID][]byte), done: make(chan struct{})}
	for _, id := range workers {
		c.missing[id] = true
	}
	if len(workers) == 0 {
		close(c.done)
	}
	f.awaited[f.number] = c
	return f.number, c
}

// arrived adds a dump to the collection of that number, if it still waits for it.
func (f *flights) arrived(number uint64, id ergoflow.WorkerID, encoded []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.awaited[number]
	if c == nil || !c.missing[id] {
		return
	}
	delete(c.missing, id)
	c.got[id] = encoded
	if len(c.missing) == 0 {
		close(c.done)
	}
}

// end ends a collection and returns what it has, and who did not answer.
func (f *flights) end(number uint64) (got map[ergoflow.WorkerID][]byte, missing []ergoflow.WorkerID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.awaited[number]
	delete(f.awaited, number)
	for id := range c.missing {
		missing = append(missing, id)
	}
	return c.got, missing
}

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
		s.doing = m.Doing
	case message.Progress:
		s.state = ergoflow.Mark{Generation: m.Generation, Step: m.Step}
		if s.state.Compare(l.newestStep) > 0 { // the first that tells of the step
			l.newestStep = s.state
			t := m.Timing
			l.flight.Step(m.Generation, m.Step, m.Loss, flight.Phases{Data: float32(t.Data), Gradient: float32(t.Gradient), Copy: float32(t.Copy),
				Ring: float32(t.Ring), Update: float32(t.Update), Other: float32(t.Other)})
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

// noteReason records a decision of the fleet, and what is remarkable in it.
func (l *loop) noteReason(reason string) {
	l.flight.Add(flight.Record{Kind: flight.Decided, Generation: l.newestStep.Generation, Step: l.newestStep.Step, Text: reason})
	if lost, why := machine.LostWorker(reason); lost != "" {
		l.incident(fmt.Sprintf("worker %s is lost: %s", lost, why))
	}
}

// noteWarning records a warning of the fleet.
func (l *loop) noteWarning(text string) {
	kind := flight.Failed
	if machine.IsStall(text) {
		kind = flight.Stalled
	}
	l.flight.Add(flight.Record{Kind: kind, Generation: l.newestStep.Generation, Step: l.newestStep.Step, Text: text})
	l.incident(text)
}

// noteLost records that a session has ended, and in the background what the operating system
// knows of the worker's process, if that is on this host.
func (l *loop) noteLost(s *session, reason string) {
	if s.number == 0 {
		return // it was never open
	}
	e := flight.Record{Kind: flight.Lost, Worker: ergoflow.WorkerID(s.from), PID: s.pid, Generation: s.state.Generation, Step: s.state.Step, Text: reason}
	if !s.heard.IsZero() {
		e.Seconds = time.Since(s.heard).Seconds()
	}
	l.flight.Add(e)
	if !s.visible {
		return
	}
	l.help(func(context.Context) {
		if said := cmp.Or(flight.StateOf(s.pid), flight.EndOf(s.pid)); said != "" {
			l.flight.Add(flight.Record{Kind: flight.Process, Worker: e.Worker, PID: s.pid, Text: said})
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
		e.Kind, e.Text = flight.Slow, "writing the checkpoint to "+l.saved.Path()
		l.flight.Add(e)
		l.do(func() { l.incident(fmt.Sprintf("%s took %v", e.Text, took.Round(time.Millisecond))) })
	}
}

// incident has all processes dump their recorders soon: once, however many incidents come
// together.
func (l *loop) incident(occasion string) {
	if l.incidentDue {
		return
	}
	l.incidentDue = true
	wait := max(settleTime, time.Until(l.dumped.Add(incidentEvery)))
	l.help(func(ctx context.Context) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		l.do(func() {
			l.incidentDue, l.dumped = false, time.Now()
			l.dumpAll(occasion)
		})
	})
}

// dumpAll stores the coordinator's dump, and asks all workers for theirs.
func (l *loop) dumpAll(occasion string, more ...flight.Record) {
	l.orderDumps(message.Dump{Occasion: occasion})
	more = append(more, l.presently()...)
	l.help(func(context.Context) {
		header, encoded, err := l.flight.Take(occasion, true, more...)
		if err != nil {
			l.log.Warn("cannot dump the flight recorder", "error", err)
			return
		}
		_, _ = l.flight.Write(header, encoded) // it logs why not
	})
}

// orderDumps asks all workers for their dumps and returns their ids.
func (l *loop) orderDumps(order message.Dump) (workers []ergoflow.WorkerID) {
	for _, s := range l.sessions {
		if !s.closed {
			s.send(l.messages.ToWorker(order))
			workers = append(workers, ergoflow.WorkerID(s.from))
		}
	}
	return workers
}

// presently are records of what is so at this moment: when each worker was heard.
func (l *loop) presently() (records []flight.Record) {
	for _, s := range l.sessions {
		e := flight.Record{Kind: flight.Session, Worker: ergoflow.WorkerID(s.from), PID: s.pid, Generation: s.state.Generation, Step: s.state.Step, Text: s.doing}
		if !s.heard.IsZero() {
			e.Seconds = time.Since(s.heard).Seconds()
		}
		records = append(records, e)
		if s.visible {
			if said := flight.StateOf(s.pid); said != "" {
				records = append(records, flight.Record{Kind: flight.Process, Worker: e.Worker, PID: s.pid, Text: said})
			}
		}
	}
	return records
}

// keepFlight watches this process until ctx ends. SIGQUIT has all processes dump.
func (l *loop) keepFlight(asked <-chan os.Signal) {
	l.help(func(ctx context.Context) {
		l.flight.Watch(ctx, func(e flight.Record) {
			l.do(func() { l.incident(fmt.Sprintf("%s: %s", e.Kind, e.Text)) })
		})
	})
	l.help(func(ctx context.Context) {
		for {
			select {
			case <-asked:
				l.do(func() { l.dumpAll("SIGQUIT", flight.Stacks()...) })
			case <-ctx.Done():
				return
			}
		}
	})
}

// noteBeginning makes room for dumps, and records how the last coordinator of the directory ended, where that was not in
// order.
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
	if header, encoded, err := k.Take("the coordinator ends with an error", true); err == nil {
		_, _ = k.Write(header, encoded) // it logs why not
	}
}
