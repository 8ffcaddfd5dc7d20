package fleet

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// shards is the number of parts of each run's data.
const shards = 16

// bench is a fleet with workers that do what they are told.
type bench struct {
	t       *testing.T
	f       *Fleet
	now     time.Time
	ledgers map[int]machine.Ledger // that are durable
	workers map[machine.Session]*fake
	last    machine.Session
	next    []machine.Event
	formed  []ergoflow.Generation // of all runs
	reasons []string
	refused []string
}

// fake is a worker.
type fake struct {
	id    ergoflow.WorkerID
	run   string
	state *ergoflow.Mark // nil: none
	deaf  bool           // it prepares, and answers nothing else
	moved int            // how often it was told to
}

func newBench(t *testing.T, config machine.Config, ledgers map[int]machine.Ledger) *bench {
	b := &bench{t: t, f: New(config, ledgers), now: time.Unix(1_000_000, 0), ledgers: map[int]machine.Ledger{}, workers: map[machine.Session]*fake{}}
	maps.Copy(b.ledgers, ledgers)
	b.step(machine.Start{})
	return b
}

// step handles an event, and all that it causes.
func (b *bench) step(e machine.Event) {
	for b.next = append(b.next, e); len(b.next) > 0; {
		e, b.next = b.next[0], b.next[1:]
		effects, reason := b.f.Step(b.now, e)
		b.reasons = append(b.reasons, reason)
		for _, effect := range effects {
			switch e := effect.Effect.(type) {
			case machine.Persist:
				b.ledgers[effect.Slot] = e.Ledger
			case machine.Scan:
				found := machine.Scanned{Run: e.Plan.Run}
				for k := range shards + 1 {
					found.Present = append(found.Present, k)
				}
				b.next = append(b.next, found)
			case machine.Refused:
				b.refused = append(b.refused, e.Reason)
			case machine.Close:
				delete(b.workers, e.Session)
			case machine.Send:
				if w := b.workers[e.Session]; w != nil {
					b.handle(w, e.Session, e.Message)
				}
			}
		}
	}
}

// handle has a worker execute an order.
func (b *bench) handle(w *fake, s machine.Session, order message.FromCoordinator) {
	if f, ok := order.(message.Form); ok && !slices.Contains(b.formed, f.Generation) {
		b.formed = append(b.formed, f.Generation)
	}
	if _, ok := order.(message.Prepare); w.deaf && !ok {
		return
	}
	answer := func(m message.FromWorker) { b.next = append(b.next, machine.Received{Session: s, Message: m}) }
	switch m := order.(type) {
	case message.Prepare:
		if w.run != m.Plan.Run {
			w.run, w.state = m.Plan.Run, nil
		}
		answer(message.Prepared{Run: w.run, Number: m.Number})
	case message.Form:
		r := message.Report{Generation: m.Generation, Hash: "h"}
		if w.state != nil {
			r.HasState, r.State = true, *w.state
		}
		answer(r)
	case message.Assign:
		state := m.Source.State
		w.state = &state
		answer(message.Ready{Generation: m.Generation})
	case message.Go:
		w.state = &ergoflow.Mark{Generation: m.Generation, Step: w.state.Step + 1}
		answer(message.Progress{Generation: m.Generation, Step: w.state.Step, Samples: 1})
	case message.Save:
		b.next = append(b.next, machine.Saved{Run: w.run, State: *w.state, Final: true})
	case message.Transfer:
		w.run, w.state, w.moved = "", nil, w.moved+1
		b.next = append(b.next, b.opens(w))
	}
}

// opens is the event of a worker that opens a session.
func (b *bench) opens(w *fake) machine.Opened {
	b.last++
	b.workers[b.last] = w
	hello := message.Hello{Worker: message.Worker{ID: w.id, DataAddress: fmt.Sprintf("%s:1", w.id), Secret: 7}, Run: w.run}
	if w.state != nil {
		hello.HasState, hello.State, hello.Newest = true, *w.state, w.state.Generation
	}
	return machine.Opened{Session: b.last, Hello: hello}
}

func (b *bench) join(names ...string) {
	for _, name := range names {
		b.step(b.opens(&fake{id: ergoflow.WorkerID(name)}))
	}
}

// lose breaks the session of a worker.
func (b *bench) lose(id ergoflow.WorkerID) {
	for s, w := range b.workers {
		if w.id == id {
			delete(b.workers, s)
			b.step(machine.Closed{Session: s, Reason: "the stream broke"})
			return
		}
	}
	b.t.Fatalf("there is no worker %s", id)
}

// named is the worker with an id.
func (b *bench) named(id ergoflow.WorkerID) *fake {
	for _, w := range b.workers {
		if w.id == id {
			return w
		}
	}
	b.t.Fatalf("there is no worker %s", id)
	return nil
}

func (b *bench) submit(entry uint64, run string, least, most int) {
	b.step(Submit{Workers: ergoflow.WorkerBounds{Min: least, Max: most}, Submit: machine.Submit{Until: machine.StageTrain, Entry: entry,
		Plan: ergoflow.Plan{Run: run, Experiment: "e", Dataset: "d", Shards: shards, Steps: 1000, CheckpointEvery: 100}}})
}

// pass lets time pass, in which the workers answer pings.
func (b *bench) pass(d time.Duration) {
	for end := b.now.Add(d); b.now.Before(end); {
		b.now = b.now.Add(250 * time.Millisecond)
		for s := range b.workers {
			b.next = append(b.next, machine.Received{Session: s, Message: message.Heartbeat{}})
		}
		b.step(machine.Tick{})
	}
}

// want checks how many workers each run has, and how many have none.
func (b *bench) want(spare int, numbers ...int) {
	b.t.Helper()
	var got []int
	for _, r := range b.f.UnderWay() {
		got = append(got, r.Workers)
		spare += r.Workers
	}
	if !slices.Equal(got, numbers) || b.f.Workers() != spare {
		b.t.Fatalf("the runs have %v of %d workers, want %v of %d", got, b.f.Workers(), numbers, spare)
	}
}

func names(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("w%02d", i))
	}
	return list
}

// Workers that are there, and ones that come, are spread by the bounds of the runs, whichever
// comes first.
func TestWorkersAreSpread(t *testing.T) {
	type bounds struct{ least, most int }
	for what, c := range map[string]struct {
		workers int
		runs    []bounds
		want    []int
		spare   int
	}{
		"one run without bounds":         {5, []bounds{{}}, []int{5}, 0},
		"more than one run can use":      {5, []bounds{{1, 2}}, []int{2}, 3},
		"more than its data have parts":  {shards + 3, []bounds{{}}, []int{shards + 3}, 0},
		"equal numbers":                  {7, []bounds{{1, 6}, {1, 6}, {1, 6}}, []int{3, 2, 2}, 0},
		"one has its most":               {7, []bounds{{1, 1}, {}}, []int{1, 6}, 0},
		"one needs its least":            {5, []bounds{{}, {4, 4}}, []int{1, 4}, 0},
		"none takes from below a least":  {5, []bounds{{4, 4}, {}}, []int{4, 1}, 0},
		"a least beyond the data's part": {shards + 2, []bounds{{shards + 9, 0}, {}}, []int{shards, 2}, 0},
	} {
		t.Run(what, func(t *testing.T) {
			submit := func(b *bench) {
				for i, r := range c.runs {
					b.submit(uint64(i+1), fmt.Sprint("run", i), r.least, r.most)
				}
			}
			b := newBench(t, machine.Config{}, nil)
			submit(b)
			b.join(names(c.workers)...)
			b.pass(20 * time.Second)
			b.want(c.spare, c.want...)

			b = newBench(t, machine.Config{}, nil)
			b.join(names(c.workers)...)
			submit(b)
			b.pass(20 * time.Second)
			b.want(c.spare, c.want...)
			moved := 0
			for _, w := range b.workers {
				moved += w.moved
			}
			b.pass(time.Minute)
			for _, w := range b.workers {
				moved -= w.moved
			}
			if moved != 0 {
				t.Errorf("workers move for ever: %q", b.reasons)
			}
		})
	}
}

// A worker that no run can use takes the place of one that is lost.
func TestSpareWorkerReplacesALostOne(t *testing.T) {
	b := newBench(t, machine.Config{}, nil)
	b.join(names(4)...)
	b.submit(1, "a", 3, 3)
	b.pass(5 * time.Second)
	b.want(1, 3)
	for _, w := range b.workers {
		if w.run == "a" {
			b.lose(w.id)
			break
		}
	}
	b.pass(time.Second)
	b.want(0, 3)
}

// After a restart workers go back to the run whose state they have, whatever the numbers are.
// Slots that have no run are of no account, and generations are numbered on.
func TestRestart(t *testing.T) {
	b := newBench(t, machine.Config{}, nil)
	b.join(names(6)...)
	b.submit(1, "a", 0, 3)
	b.submit(2, "b", 0, 3)
	b.pass(5 * time.Second)
	b.want(0, 3, 3)
	runs := map[ergoflow.WorkerID]string{}
	c := newBench(t, machine.Config{}, b.ledgers)
	c.submit(2, "b", 0, 3)
	c.submit(1, "a", 0, 3)
	for _, w := range b.workers {
		runs[w.id], w.moved = w.run, 0
		if w.run == "a" {
			c.step(c.opens(w))
		}
	}
	for _, w := range b.workers {
		if w.run == "b" && len(c.workers) < 5 {
			c.step(c.opens(w))
		}
	}
	c.want(0, 3, 2)
	c.pass(10 * time.Second)
	for _, w := range c.workers {
		if w.moved > 0 || w.run != runs[w.id] || w.state.Step < 2 {
			t.Errorf("%s: %+v, it was for run %s", w.id, w, runs[w.id])
		}
	}
	if last := slices.Max(b.formed); len(c.formed) < 2 || slices.Min(c.formed) <= last {
		t.Errorf("generations %v form after %d", c.formed, last)
	}
}

// No two generations have one number, and a run that goes to another machine than before takes
// the states of all its generations.
func TestGenerationsOfTwoRuns(t *testing.T) {
	b := newBench(t, machine.Config{}, nil)
	b.submit(1, "a", 0, 2)
	b.submit(2, "b", 0, 2)
	b.join(names(4)...)
	b.pass(10 * time.Second)
	var late ergoflow.Mark // of run b
	forms := map[ergoflow.Generation]string{}
	for range 6 {
		for _, id := range []ergoflow.WorkerID{"w00", "w01"} { // one of each run, that of b last
			w := b.named(id)
			b.lose(id)
			b.step(b.opens(w))
			b.pass(time.Second)
		}
		for _, w := range b.workers {
			if run := forms[w.state.Generation]; run != "" && run != w.run {
				t.Errorf("generation %d is one of %s and of %s", w.state.Generation, run, w.run)
			}
			forms[w.state.Generation] = w.run
			if w.run == "b" {
				late = *w.state
			}
		}
	}
	b.step(machine.Withdraw{Entry: 2, Reason: "it was cancelled"})
	b.step(machine.Withdraw{Entry: 1, Reason: "it was cancelled"})
	for _, id := range names(4) {
		b.lose(ergoflow.WorkerID(id))
	}
	b.submit(3, "b", 0, 3) // takes the machine that a had
	if p := b.ledgers[0].Plan; p == nil || p.Run != "b" {
		t.Fatalf("ledgers %+v", b.ledgers)
	}
	b.step(b.opens(&fake{id: "back", run: "b", state: &late}))
	if len(b.refused) > 0 {
		t.Errorf("refused: %q", b.refused)
	}
}

// However many workers move at once, their run begins one generation more.
func TestMovesCostOneGeneration(t *testing.T) {
	b := newBench(t, machine.Config{}, nil)
	b.join(names(8)...)
	b.submit(1, "a", 0, 0)
	b.pass(5 * time.Second)
	before := len(b.formed)
	b.submit(1, "a", 0, 3)
	b.pass(time.Second)
	b.want(5, 3)
	if n := len(b.formed) - before; n != 1 {
		t.Errorf("%d generations form: %q", n, b.reasons)
	}
}

// The outcome of a run can be read after the step in which it ends, though no worker is left.
// Later its slot is forgotten, also in the ledger.
func TestOutcomeIsNotForgottenAtOnce(t *testing.T) {
	for _, timeout := range []time.Duration{time.Second, time.Second + balanceInterval/2} { // it ends beside a look at the workers, or not
		testOutcome(t, machine.Config{Attempts: 1, ReportTimeout: timeout})
	}
}

func testOutcome(t *testing.T, config machine.Config) {
	b := newBench(t, config, nil)
	b.submit(1, "a", 0, 1)
	b.submit(2, "b", 0, 1)
	b.join("w00")
	b.step(b.opens(&fake{id: "w01"}))
	b.pass(5 * time.Second)
	b.want(0, 1, 1)
	deaf := b.named("w01")
	deaf.deaf = true
	b.lose("w01")
	b.step(b.opens(deaf))
	for range 100 {
		list := b.f.Conducting()
		if len(list) < 2 {
			t.Fatalf("run b is forgotten before it has ended: %q", b.reasons)
		}
		if list[1].Ended {
			break
		}
		b.pass(250 * time.Millisecond)
	}
	b.pass(time.Second)
	if n := len(b.f.Conducting()); n != 1 || b.ledgers[1].Plan != nil || b.ledgers[1].Generation == 0 {
		t.Errorf("%d runs, ledgers %+v", n, b.ledgers)
	}
}

// Workers of a run that has failed because of them are for the next.
func TestFailedRunGivesItsWorkers(t *testing.T) {
	b := newBench(t, machine.Config{}, nil)
	b.join(names(2)...)
	b.submit(1, "a", 0, 0)
	b.pass(5 * time.Second)
	for s := range b.workers {
		b.step(machine.Received{Session: s, Message: message.Failed{Run: "a", Reason: "out of memory"}})
	}
	b.want(2)
	b.submit(2, "b", 2, 2)
	b.pass(5 * time.Second)
	b.want(0, 2)
}

// The clock is set back: workers still move, and no place is kept for long.
func TestClockSetBack(t *testing.T) {
	b := newBench(t, machine.Config{}, nil)
	b.join(names(4)...)
	b.submit(1, "a", 0, 0)
	b.pass(5 * time.Second)
	b.named("w03").deaf = true // it is told to move, and never does
	b.submit(2, "b", 0, 0)
	b.now = b.now.Add(-1000 * time.Hour)
	b.pass(moveTimeout + 10*time.Second)
	b.want(0, 2, 1)
}

// No place is kept for a worker that is lost before it can move.
func TestLostBeforeItMoves(t *testing.T) {
	for what, lose := range map[string]func(*bench, machine.Session){
		"its stream breaks": func(b *bench, s machine.Session) { b.lose(b.workers[s].id) },
		"it is drained": func(b *bench, s machine.Session) {
			b.step(machine.Drain{Worker: b.workers[s].id, By: "operator/ada"})
		},
		"it leaves": func(b *bench, s machine.Session) { b.step(machine.Received{Session: s, Message: message.Drain{}}) },
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t, machine.Config{}, nil)
			b.join(names(4)...)
			b.submit(1, "a", 0, 0)
			b.pass(5 * time.Second)
			for _, w := range b.workers {
				w.deaf = true // the next generation does not form, so the worker does not leave yet
			}
			b.submit(2, "b", 0, 0)
			b.want(0, 2, 2)
			for s, w := range b.workers {
				if _, ok := b.f.moves[w.id]; ok {
					lose(b, s)
					break
				}
			}
			b.pass(11 * time.Second) // the drain time-out
			if n := len(b.f.moves); n != 1 {
				t.Errorf("%d places are kept", n)
			}
		})
	}
}

// A worker of any run is drained by its name; one that is not there is named.
func TestDrain(t *testing.T) {
	b := newBench(t, machine.Config{}, nil)
	b.join(names(4)...)
	b.submit(1, "a", 2, 2)
	b.submit(2, "b", 2, 2)
	b.pass(5 * time.Second)
	b.want(0, 2, 2)
	for _, w := range b.workers {
		if w.run == "b" {
			b.step(machine.Drain{Worker: w.id, By: "operator/ada"})
			break
		}
	}
	b.pass(5 * time.Second)
	b.want(0, 2, 1)
	effects, _ := b.f.Step(b.now, machine.Drain{Worker: "nobody", By: "operator/ada"})
	if len(effects) != 1 || effects[0].String() != "refused: there is no worker nobody" {
		t.Errorf("effects %v", effects)
	}
	if all := b.f.Machines(true); len(all) != 2 || len(all[0].Workers)+len(all[1].Workers) != 3 {
		t.Errorf("the machines are %+v", all)
	}
}

// The bound on workers is one of all runs.
func TestTooManyWorkers(t *testing.T) {
	b := newBench(t, machine.Config{}, nil)
	b.submit(1, "a", 0, 1)
	b.join(names(ergoflow.MaxWorkers)...)
	if n := len(b.workers); n != ergoflow.MaxWorkers {
		t.Fatalf("%d workers", n)
	}
	b.join("more")
	if n := len(b.workers); n != ergoflow.MaxWorkers {
		t.Errorf("%d workers", n)
	}
	b.lose("w00")
	b.join("more")
	if n := len(b.workers); n != ergoflow.MaxWorkers {
		t.Errorf("%d workers", n)
	}
}
