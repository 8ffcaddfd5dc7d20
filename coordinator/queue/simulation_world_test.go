package queue

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/schedule"
)

// world is a coordinator with its queue, in which everything else is random.
type world struct {
	seed    uint64
	random  *rand.Rand
	config  Config
	clock   time.Time
	m       *Machine
	verbose bool
	trace   []string

	disk
	conducted map[ID]*conducted
	workers   int
	processes map[ID]*process
	lag       []Finished // events that come again later
	follows   []Finished // of the effects of this step
	takeover

	seen
	happened map[string]int
	broken   string // the first invariant that does not hold
}

// conducted is what the fleet has in a ledger of its own.
type conducted struct {
	run     Run
	left    int // ticks
	outcome Outcome
}

// process is that of a retraining.
type process struct {
	run   Run
	left  int
	child bool // it will submit a training
	told  bool // to end
}

func newWorld(seed uint64, verbose bool) *world {
	r := rand.New(rand.NewPCG(seed, 77))
	w := &world{seed: seed, verbose: verbose, random: r, clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		disk: newDisk(), takeover: newTakeover(seed), processes: map[ID]*process{}, conducted: map[ID]*conducted{},
		seen: newSeen(), happened: map[string]int{}}
	w.config = Config{Retrainings: 1 + r.IntN(2), KeepRuns: 10_000}
	if r.IntN(3) == 0 {
		w.config.KeepRuns = 5 + r.IntN(30)
	}
	return w
}

func (w *world) logf(format string, args ...any) {
	if !w.verbose {
		return
	}
	w.trace = append(w.trace, w.clock.Format("2006-01-02 15:04:05 ")+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
		w.logf("BROKEN %s", w.broken)
	}
}

func (w *world) chance(percent int) bool { return w.random.IntN(100) < percent }

func (w *world) run() {
	w.restart()
	for i := 0; i < 120 && w.broken == ""; i++ {
		w.passTime()
		w.act()
		w.work(true)
		w.deposed()
		if w.chance(4) {
			w.change()
		}
	}
	w.settle()
}

// passTime moves the clock: mostly on, sometimes not at all, far ahead or back.
func (w *world) passTime() {
	switch n := w.random.IntN(1000); {
	case n < 4:
		w.clock = w.clock.Add(time.Duration(w.random.IntN(400*24)) * time.Hour)
		w.happened["clock ahead"]++
	case n < 12:
		w.clock = w.clock.Add(-time.Duration(w.random.IntN(400*24*60)) * time.Minute)
		w.happened["clock back"]++
	case n < 20:
		w.clock = w.clock.Add(-time.Hour)
		w.happened["clock back"]++
	case n < 60:
		w.clock = w.clock.Add(time.Duration(w.random.IntN(7200)) * time.Second)
	default:
		w.clock = w.clock.Add(time.Duration(w.random.IntN(20)) * time.Second)
	}
	w.step(Tick{})
}

// restart ends the coordinator and starts it from what is durable.
func (w *world) restart() {
	w.happened["restart"]++
	if w.m != nil && w.chance(50) {
		w.step(Stop{})
	}
	w.logf("restart")
	w.processes, w.follows = map[ID]*process{}, nil // they end with the coordinator
	w.begin()
}

// begin starts a machine from what is durable.
func (w *world) begin() {
	w.awaits()
	m, err := New(w.config, w.ledger())
	if err != nil {
		w.fail("it does not start again: %v", err)
		return
	}
	w.m = m
	var start Start
	for _, id := range slices.Sorted(maps.Keys(w.conducted)) {
		d := w.conducted[id]
		switch {
		case d.outcome == "":
			start.Conducting = append(start.Conducting, Conducted{ID: d.run.ID, Kind: d.run.Kind, Plan: *d.run.Plan})
		case w.chance(80): // another may be in its place
			start.Finished = append(start.Finished, Finished{ID: d.run.ID, Attempt: d.run.Attempt, Outcome: d.outcome})
		}
	}
	w.workers = 0
	w.step(start)
}

func (w *world) names() []string { return slices.Sorted(maps.Keys(w.m.schedules)) }

func (w *world) pick(of []string) string {
	if len(of) == 0 {
		return "none"
	}
	return of[w.random.IntN(len(of))]
}

// anyRun is a number that some run may have.
func (w *world) anyRun() ID { return ID(w.random.IntN(int(w.m.next) + 1)) }

// act is what people do.
func (w *world) act() {
	switch w.random.IntN(24) {
	case 0, 1:
		plan := testPlan(fmt.Sprintf("hash%d", w.random.IntN(6)))
		w.step(Submit{Kind: Train, Plan: &plan, Queue: w.chance(70), Replace: w.chance(15), Priority: w.random.IntN(5) - 2, Workers: w.bounds()})
	case 2:
		w.step(Submit{Kind: Retrain, Config: "/c.yaml"})
	case 3, 4:
		name := fmt.Sprintf("s%d", w.random.IntN(4))
		s := Schedule{Name: name, Spec: w.pick([]string{"* * * * *", "*/2 * * * *", "@hourly", "@daily", "@weekly"}), Config: "/c.yaml",
			PauseAfter: 1 + w.random.IntN(4)}
		s.Missed = schedule.Missed(w.pick([]string{"last", "skip", "all"}))
		s.Overlap = schedule.Overlap(w.pick([]string{"queue", "skip", "replace"}))
		if w.chance(30) {
			s.JitterSeconds = int64(w.random.IntN(600))
		}
		if w.chance(30) {
			s.DeadlineSeconds = s.JitterSeconds + 60 + int64(w.random.IntN(4000))
		}
		_, known := w.m.schedules[name]
		w.step(AddSchedule{s})
		if now, ok := w.m.schedules[name]; ok && !known {
			w.calendar[name] = now.Schedule
		}
	case 5:
		w.step(Cancel{w.anyRun()})
	case 6:
		w.step(Move{ID: w.anyRun(), First: w.chance(30), Last: w.chance(30), Priority: w.random.IntN(7) - 3})
	case 7:
		w.step(PauseSchedule{w.pick(w.names())})
	case 8, 9, 10:
		w.step(ResumeSchedule{w.pick(w.names())})
	case 11:
		w.step(RunSchedule{Name: w.pick(w.names())})
	case 12:
		if w.chance(20) {
			name := w.pick(w.names())
			delete(w.calendar, name)
			w.step(RemoveSchedule{name})
		}
	}
}

// bounds are those of a run's workers; nil: the default.
func (w *world) bounds() *ergoflow.WorkerBounds {
	if w.chance(30) {
		return nil
	}
	b := ergoflow.WorkerBounds{Min: w.random.IntN(4)}
	if w.chance(70) {
		b.Max = b.Min + w.random.IntN(3)
	}
	return &b
}

// work lets the workers' machine and the processes go on.
func (w *world) work(faults bool) {
	w.pass()
	if w.chance(20) || !faults && w.workers < 8 {
		w.workers = w.random.IntN(9)
		if !faults {
			w.workers = 8
		}
		w.step(Workers{w.workers})
	}
	for _, id := range slices.Sorted(maps.Keys(w.conducted)) {
		c := w.conducted[id]
		if c == nil || c.outcome != "" {
			continue
		}
		if c.left--; c.left > 0 {
			continue
		}
		c.outcome = Done
		if w.chance(20) {
			c.outcome = Failed
		}
		if !faults || !w.chance(10) { // otherwise the coordinator restarts before it hears of it
			w.finish(Finished{ID: c.run.ID, Attempt: c.run.Attempt, Outcome: c.outcome})
		} else {
			w.change()
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.processes)) {
		p := w.processes[id]
		if p == nil {
			continue
		}
		if p.child && w.chance(50) {
			p.child = false
			plan := testPlan(fmt.Sprintf("hash%d", w.random.IntN(6)))
			w.step(Submit{Kind: Train, Plan: &plan, Queue: true, Parent: id})
		}
		if p = w.processes[id]; p == nil { // the coordinator was started again
			continue
		}
		if p.left--; p.left > 0 && (!p.told || w.chance(50)) {
			continue
		}
		delete(w.processes, id)
		e := Finished{ID: id, Attempt: p.run.Attempt, Outcome: Done}
		switch {
		case p.told && w.chance(90), faults && w.chance(15):
			e.Outcome, e.Killed = Failed, true
			w.happened["crash"]++
		case w.chance(40):
			e.Outcome = Failed
		}
		w.finish(e)
	}
	for len(w.lag) > 0 && w.chance(20) {
		e := w.lag[0]
		w.lag = w.lag[1:]
		w.happened["finished twice"]++
		w.step(e)
	}
}

func (w *world) finish(e Finished) {
	if w.chance(20) {
		w.lag = append(w.lag, e)
	}
	w.step(e)
}

// settle ends faults and schedules. All runs must end.
func (w *world) settle() {
	w.restart()
	for _, name := range w.names() {
		w.step(Tick{})
		w.step(PauseSchedule{name})
	}
	for i := 0; i < 5000 && len(w.m.live) > 0 && w.broken == ""; i++ {
		w.clock = w.clock.Add(20 * time.Second)
		w.step(Tick{})
		w.work(false)
	}
	if len(w.m.live) > 0 {
		w.fail("rule 1: %s never ends, it is %s", w.m.live[0], w.m.live[0].State)
	}
	for _, name := range w.names() {
		w.step(ResumeSchedule{name})
		w.step(Tick{})
	}
	w.checkEnd()
}

// step hands an event to the machine and executes its effects. The coordinator may be
// killed between any two of them.
func (w *world) step(e Event) {
	if w.broken != "" {
		return
	}
	before := w.m.Runs(0)
	effects, reason := w.m.Step(w.clock, e)
	if reason != "" {
		w.logf("%T %+v: %s", e, e, reason)
	}
	killed := -1
	if _, starts := e.(Start); !starts && len(effects) > 0 && w.chance(2) {
		killed = w.random.IntN(len(effects))
	}
	w.checkStep(effects, before)
	for i, effect := range effects {
		if i == killed {
			w.happened["lost effects"]++
			w.logf("killed before: %s", effect)
			w.changeAmong(effects[i:])
			return
		}
		w.logf("  %s", effect)
		w.execute(e, effect)
	}
	for len(w.follows) > 0 {
		next := w.follows[0]
		w.follows = w.follows[1:]
		w.step(next)
	}
}

func (w *world) execute(cause Event, effect Effect) {
	switch e := effect.(type) {
	case Persist:
		w.persist(e)
	case Begin:
		if c := w.conducted[e.Run.ID]; c != nil && (c.outcome == "" || w.chance(90)) { // one that has ended may be forgotten
			c.run = e.Run
			if c.outcome != "" {
				w.follows = append(w.follows, Finished{ID: e.Run.ID, Attempt: e.Run.Attempt, Outcome: c.outcome})
			}
			return
		}
		w.checkBegin(e.Run)
		w.conducted[e.Run.ID] = &conducted{run: e.Run, left: 1 + w.random.IntN(15)}
	case Withdraw:
		delete(w.conducted, e.ID)
	case Launch:
		w.checkBegin(e.Run)
		if w.processes[e.Run.ID] != nil || w.pending[e.Run.ID] != nil {
			w.fail("rule 2: run %d is launched twice", e.Run.ID)
		}
		w.launch(e.Run)
	case Terminate:
		delete(w.pending, e.ID)
		if p := w.processes[e.ID]; p != nil && p.run.Attempt == e.Attempt {
			p.told = true
		} else if _, stopping := cause.(Stop); !stopping {
			w.follows = append(w.follows, Finished{ID: e.ID, Attempt: e.Attempt, Outcome: Failed, Killed: true})
		}
	case Answer:
		if _, submitted := cause.(Submit); submitted && e.Refusal == "" {
			w.accepted[e.ID] = true
		}
	case Warn:
		if strings.Contains(e.Text, "has paused itself") {
			w.happened["paused itself"]++
		}
	}
}

func (w *world) persist(e Persist) {
	for _, r := range e.Runs {
		was, known := w.history[r.ID]
		if known && was.State == Ended && r.State != Ended {
			w.fail("rule 2: run %d had ended, and is %s", r.ID, r.State)
		}
		if was.State != Ended && r.State == Ended {
			w.happened[string(r.Outcome)]++
		}
		w.history[r.ID] = r
	}
	for _, id := range e.RemovedRuns {
		w.pruned[id] = true
		w.happened["pruned"]++
	}
	w.disk.persist(e)
	if w.chance(3) {
		w.checkLedger()
	}
}

func testPlan(run string) ergoflow.Plan {
	return ergoflow.Plan{Run: run, Experiment: "vn1d-smoke", Dataset: "d", Shards: 4, Steps: 100, CheckpointEvery: 10, Config: []byte(`{}`)}
}
