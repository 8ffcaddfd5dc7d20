package queue

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// takeover is what a world of several coordinators has besides: one that led before goes on for
// a while without knowing that another leads. Nothing that it persists is committed. Its
// processes end with its lease, and until then the next leader starts none.
type takeover struct {
	several bool
	flaw    flaw
	round   int
	ready   int             // the round from which the leader starts processes
	pending map[ID]*process // that it will start then
	before  *Machine        // that of the last leader; nil: it knows that it leads no more
	late    []Run           // whose processes that was about to launch
	orphans []*orphan       // its processes
}

// orphan is a process of a leader that leads no more.
type orphan struct {
	run  Run
	left int // rounds
}

// flaw breaks a rule of the takeover.
type flaw string

const (
	launchAtOnce  flaw = "launch before the lease of the last leader is over"
	launchLate    flaw = "launch without verifying that one leads"
	commitDeposed flaw = "commit what a leader of a term that is over persists"
)

const (
	leaseRounds = 2 // a process of a leader that is deposed runs so long at most
	waitRounds  = 3 // a new leader waits so long
)

func newTakeover(seed uint64) takeover {
	// Draws of its own: worlds of one coordinator do not depend on it.
	return takeover{several: rand.New(rand.NewPCG(seed, 78)).IntN(2) == 0, pending: map[ID]*process{}}
}

// change ends the coordinator, or has another lead while it goes on.
func (w *world) change() { w.changeAmong(nil) }

// changeAmong is change before the rest of a step's effects.
func (w *world) changeAmong(rest []Effect) {
	if !w.several || w.chance(50) {
		w.restart()
		return
	}
	w.happened["deposed"]++
	w.logf("another coordinator leads")
	w.before, w.late, w.follows = w.m, nil, nil
	for _, e := range rest {
		// Where Persist is among them, it was not committed, and no other effect follows.
		if _, ok := e.(Persist); ok {
			break
		}
		if l, ok := e.(Launch); ok {
			w.late = append(w.late, l.Run)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.processes)) {
		w.orphans = append(w.orphans, &orphan{w.processes[id].run, 1 + w.random.IntN(leaseRounds)})
	}
	w.processes = map[ID]*process{}
	w.clock = w.clock.Add(time.Duration(w.random.IntN(61)-30) * time.Second) // clocks differ
	w.begin()
}

// awaits has a new leader start no process for a while.
func (w *world) awaits() {
	clear(w.pending)
	w.ready = w.round
	if w.several && w.flaw != launchAtOnce {
		w.ready += waitRounds
	}
}

// pass lets a round pass.
func (w *world) pass() {
	w.round++
	for _, o := range w.orphans {
		o.left--
	}
	w.orphans = slices.DeleteFunc(w.orphans, func(o *orphan) bool { return o.left < 0 })
	if w.round < w.ready {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(w.pending)) {
		w.started(w.pending[id])
		delete(w.pending, id)
	}
}

// launch starts a process, now or when the lease of the last leader is over.
func (w *world) launch(r Run) {
	p := &process{run: r, left: 1 + w.random.IntN(20), child: w.chance(40)}
	if w.round < w.ready {
		w.pending[r.ID] = p
		return
	}
	w.started(p)
}

func (w *world) started(p *process) {
	w.processes[p.run.ID] = p
	w.checkProcesses()
}

// checkProcesses checks all that run, on all hosts.
func (w *world) checkProcesses() {
	runs, schedules, n := map[ID]bool{}, map[string]bool{}, 0
	check := func(r Run) {
		if n++; runs[r.ID] || schedules[r.Schedule] {
			w.fail("rule 8: two processes of run %d or of schedule %q run at one time", r.ID, r.Schedule)
		}
		runs[r.ID], schedules[r.Schedule] = true, r.Schedule != ""
	}
	for _, p := range w.processes {
		check(p.run)
	}
	for _, o := range w.orphans {
		check(o.run)
	}
	if n > w.config.Retrainings {
		w.fail("rule 8: %d processes run, more than %d", n, w.config.Retrainings)
	}
}

// deposed has the last leader go on, until it hears that it leads no more.
func (w *world) deposed() {
	if w.before == nil || w.chance(40) {
		return
	}
	for _, r := range w.late {
		if w.flaw == launchLate { // otherwise it verifies that it leads, and does not
			w.orphans = append(w.orphans, &orphan{r, leaseRounds})
			w.checkProcesses()
		}
	}
	w.late = nil
	var e Event = Tick{}
	switch w.random.IntN(3) {
	case 0:
		plan := testPlan("hash9")
		e = Submit{Kind: Train, Plan: &plan, Queue: true}
	case 1:
		e = Cancel{w.anyRun()}
	}
	effects, _ := w.before.Step(w.clock, e)
	if len(effects) == 0 {
		return
	}
	if p, ok := effects[0].(Persist); ok { // it finds out
		w.logf("the last leader cannot persist: %T", e)
		w.happened["could not persist"]++
		if w.flaw == commitDeposed {
			w.persist(p)
			w.checkLedger()
		}
		w.before = nil
	}
}

// TestTakeoverFlawsAreFound checks that TestSimulation can fail where another coordinator takes
// over.
func TestTakeoverFlawsAreFound(t *testing.T) {
	for f, want := range map[flaw]string{launchAtOnce: "rule 8", launchLate: "rule 8", commitDeposed: ""} {
		t.Run(string(f), func(t *testing.T) {
			for seed := range uint64(100) {
				w := newWorld(seed, false)
				w.flaw = f
				if w.run(); w.broken == "" {
					continue
				}
				if !strings.HasPrefix(w.broken, want) {
					t.Errorf("found for another reason than %s", want)
				}
				t.Logf("found by seed %d: %.300s", seed, w.broken)
				return
			}
			t.Error("not found in 100 seeds")
		})
	}
}
