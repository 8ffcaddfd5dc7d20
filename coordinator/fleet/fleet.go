package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// Fleet is the state. It is not for use by several goroutines.
type Fleet struct {
	config     machine.Config
	clock      time.Time     // of the last event
	skew       time.Duration // sum of the clock's jumps backwards
	now        time.Time     // of the event being handled: clock + skew
	slots      []*slot       // in the order of their numbers; never empty
	sessions   map[machine.Session]session
	moves      map[ergoflow.WorkerID]move
	generation ergoflow.Generation // the last one that any machine has begun
	changed    time.Time           // when a worker came or went
	balanced   time.Time
	stopping   bool

	effects []Effect
	reasons []string
}

// slot has the machine of one run after another.
type slot struct {
	number  int
	machine *machine.Machine
	bounds  ergoflow.WorkerBounds // of its run
	stopped bool

	has   int // workers, when they were last counted,
	count int // with those on their way to it
}

// session is that of a worker.
type session struct {
	slot   *slot
	worker ergoflow.WorkerID
}

// move is a worker that was told to open a session for another run.
type move struct {
	to    *slot
	until time.Time // it is given up
}

// Effect is one of a machine's effects. Slots number the machines: each has a ledger of its
// own.
type Effect struct {
	Slot int
	machine.Effect
}

// Submit hands a run to the fleet, with bounds for its workers. The fleet may have it already:
// then its settings are new.
type Submit struct {
	machine.Submit
	Workers ergoflow.WorkerBounds
}

const (
	// settle is how long no worker must have come or gone before one moves from a run under way
	// to another. After a restart of the coordinator all come back within that time.
	settle = 3 * time.Second
	// moveTimeout is how long a place is kept for a worker that moves. It covers the drain
	// time-out of its old run.
	moveTimeout = 20 * time.Second
	// balanceInterval is the time between two looks at the numbers of workers, beside those
	// when one comes or goes.
	balanceInterval = 500 * time.Millisecond
)

// New returns the fleet that continues from the ledgers of its slots. Its first event must be
// machine.Start.
func New(config machine.Config, ledgers map[int]machine.Ledger) *Fleet {
	f := &Fleet{config: config, sessions: make(map[machine.Session]session), moves: make(map[ergoflow.WorkerID]move)}
	for _, n := range slices.Sorted(maps.Keys(ledgers)) {
		l := ledgers[n]
		f.generation = max(f.generation, l.Generation)
		if l.Plan != nil || n == 0 {
			f.slots = append(f.slots, &slot{number: n, machine: machine.New(config, l)})
		}
	}
	if len(f.slots) == 0 {
		f.slots = []*slot{{machine: machine.New(config, machine.Ledger{Generation: f.generation})}}
	}
	return f
}

// Step handles one event: any of a machine, or a Submit of this package, which has bounds. If
// the clock has gone backwards, no time passes.
func (f *Fleet) Step(now time.Time, event machine.Event) (effects []Effect, reason string) {
	f.skew += max(0, f.clock.Sub(now))
	f.clock = now
	f.now, f.effects, f.reasons = now.Add(f.skew), nil, nil
	switch e := event.(type) {
	case Submit:
		f.submit(e)
	case machine.Submit:
		f.submit(Submit{Submit: e})
	case machine.Withdraw: // another run may take its place at once, so nothing moves yet
		f.ofEntry(e.Entry, e)
	case machine.RunEvent:
		if s := f.withRun(e.OfRun()); s != nil {
			f.step(s, e)
		}
	case machine.Opened:
		f.opened(e)
		f.balance()
	case machine.Received:
		if s, ok := f.sessions[e.Session]; ok {
			f.step(s.slot, e)
		}
	case machine.Drain:
		f.step(f.withWorker(e.Worker), e)
	case machine.Closed:
		f.closed(e)
		f.balance()
	case machine.Stop:
		f.stopping = true
		f.all(e)
	case machine.Tick:
		if f.now.Sub(f.balanced) < balanceInterval {
			f.all(e)
			break
		}
		f.forget() // not a run that ends in this step: nobody has heard of that yet
		f.all(e)
		f.balance()
	default: // Start, Alive, Room
		f.all(e)
	}
	return f.effects, strings.Join(f.reasons, "; ")
}

// step has one machine handle an event.
func (f *Fleet) step(s *slot, e machine.Event) {
	s.machine.Raise(f.generation)
	effects, reason := s.machine.Step(f.clock, e)
	f.generation = max(f.generation, s.machine.Generation())
	if reason != "" && !slices.Contains(f.reasons, reason) {
		f.reasons = append(f.reasons, reason)
	}
	var moving machine.Session // the last that was told to open another session
	for _, effect := range effects {
		switch e := effect.(type) {
		case machine.Send:
			if _, ok := e.Message.(message.Transfer); ok {
				moving = e.Session
			}
		case machine.Close:
			if v, ok := f.sessions[e.Session]; ok && e.Session != moving {
				delete(f.moves, v.worker) // it was lost, or leaves for good
			}
			delete(f.sessions, e.Session)
			f.changed = f.now
		case machine.Stopped:
			if s.stopped = true; slices.ContainsFunc(f.slots, func(s *slot) bool { return !s.stopped }) {
				continue // others have workers
			}
		}
		f.effects = append(f.effects, Effect{s.number, effect})
	}
}

func (f *Fleet) all(e machine.Event) {
	for _, s := range slices.Clone(f.slots) {
		f.step(s, e)
	}
}

func (f *Fleet) ofEntry(entry uint64, e machine.Event) {
	for _, s := range f.slots {
		if have, plan, _ := s.machine.Conducting(); plan != nil && have == entry {
			f.step(s, e)
			return
		}
	}
}

// withRun is the slot that has a run, which may have ended; nil: none. No two have one run.
func (f *Fleet) withRun(run string) *slot {
	for _, s := range f.slots {
		if _, plan, _ := s.machine.Conducting(); plan != nil && plan.Run == run {
			return s
		}
	}
	return nil
}

// withWorker is the slot that has a worker; the first where none has.
func (f *Fleet) withWorker(id ergoflow.WorkerID) *slot {
	for _, v := range f.sessions {
		if v.worker == id {
			return v.slot
		}
	}
	return f.slots[0]
}

// isFree reports whether a slot has no run that is under way.
func (s *slot) isFree() bool {
	_, plan, _ := s.machine.Conducting()
	ended, _ := s.machine.Outcome()
	return plan == nil || ended
}

func (f *Fleet) submit(e Submit) {
	s := f.withRun(e.Plan.Run)
	if s == nil {
		s = f.free()
	}
	if s == nil {
		s = f.add()
	}
	s.bounds = e.Workers
	f.step(s, e.Submit)
	f.balance()
}

// free is the free slot with the most workers; nil: there is none.
func (f *Fleet) free() *slot {
	var best *slot
	for _, s := range f.slots {
		if s.isFree() && (best == nil || s.machine.Workers() > best.machine.Workers()) {
			best = s
		}
	}
	return best
}

// add adds a slot with a machine that has no run.
func (f *Fleet) add() *slot {
	number := 0
	for slices.ContainsFunc(f.slots, func(s *slot) bool { return s.number == number }) {
		number++
	}
	s := &slot{number: number, machine: machine.New(f.config, machine.Ledger{Generation: f.generation})}
	s.machine.Step(f.clock, machine.Start{})
	f.slots = append(f.slots, s)
	slices.SortFunc(f.slots, func(a, b *slot) int { return cmp.Compare(a.number, b.number) })
	return s
}

// opened chooses the machine of a session.
func (f *Fleet) opened(e machine.Opened) {
	f.changed = f.now
	to := f.slotOf(e.Hello)
	for _, s := range slices.Clone(f.slots) {
		if s != to {
			f.step(s, machine.Arrived{Opened: e})
			e.Refusal = cmp.Or(e.Refusal, s.machine.Conflict(e))
		}
	}
	e.Others = len(f.sessions) - to.machine.Sessions()
	delete(f.moves, e.Hello.Worker.ID)
	f.sessions[e.Session] = session{to, e.Hello.Worker.ID}
	f.step(to, e)
}

func (f *Fleet) closed(e machine.Closed) {
	if s, ok := f.sessions[e.Session]; ok {
		f.changed = f.now
		delete(f.sessions, e.Session)
		delete(f.moves, s.worker) // it was lost before it could leave
		f.step(s.slot, e)
	}
}

// CheckUpload returns why the coordinator does not store a checkpoint now.
func (f *Fleet) CheckUpload(u machine.Upload) error {
	if s := f.withRun(u.Run); s != nil {
		return s.machine.CheckUpload(u)
	}
	return fmt.Errorf("run %.64q is not in progress", u.Run)
}

// Committed names the last step of a run that is known to be applied by every member of the
// generation that made it; zero: none since the start.
func (f *Fleet) Committed(run string) ergoflow.Mark {
	if s := f.withRun(run); s != nil {
		return s.machine.Committed()
	}
	return ergoflow.Mark{}
}

// Conducted is a run that a machine has, as its ledger tells.
type Conducted struct {
	Entry   uint64 // of the queue
	Plan    ergoflow.Plan
	Until   machine.Stage
	Ended   bool
	Failure string // why it ended; empty: it reached its stage
}

// Conducting returns the runs that the machines have, those that have ended included.
func (f *Fleet) Conducting() []Conducted {
	var list []Conducted
	for _, s := range f.slots {
		if entry, plan, until := s.machine.Conducting(); plan != nil {
			ended, failure := s.machine.Outcome()
			list = append(list, Conducted{entry, *plan, until, ended, failure})
		}
	}
	return list
}

// Workers counts the workers of all runs, and those that are on their way to one.
func (f *Fleet) Workers() int {
	n := len(f.moves)
	for _, s := range f.slots {
		n += s.machine.Workers()
	}
	return n
}
