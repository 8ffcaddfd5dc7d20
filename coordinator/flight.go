package coordinator

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/internal/flight"
)

const (
	// settleTime is how long after an incident the dumps are made: by then all members have
	// noticed it.
	settleTime = time.Second
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

// incident has all processes dump their recorders soon: once, however many incidents come
// together.
func (l *loop) incident(occasion string) {
	if l.incidentDue {
		return
	}
	l.incidentDue = true
	wait := max(settleTime, time.Until(l.dumped.Add(flight.DumpEvery)))
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
	l.help(func(context.Context) { l.flight.Save(occasion, more...) })
}

// orderDumps asks all workers for their dumps.
func (l *loop) orderDumps(order message.Dump) {
	for _, s := range l.sessions {
		if !s.closed {
			s.send(l.messages.ToWorker(order))
		}
	}
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
