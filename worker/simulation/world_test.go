package simulation

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/random"
)

// world has the time, all processes and links, and the first broken invariant.
type world struct {
	seed     uint64
	r        *rand.Rand
	now      time.Duration
	queue    queue
	sequence uint64
	sabotage sabotage
	weather  weather
	calm     bool          // faults are over
	spared   time.Duration // until then no fault strikes

	runs         []*run
	coordinators []*coordinator
	incarnations int
	processes    []*process             // in the order of their start, dead ones included
	links        map[link]time.Duration // cut until then
	refusals     map[link]time.Duration // connections are refused until then
	rings        map[ergoflow.Generation]*ring
	doneSince    time.Duration

	*checker
	happened map[string]int // faults, by kind

	verbose bool
	trace   strings.Builder
}

// weather is how often and how badly things go wrong.
type weather struct {
	faults    time.Duration // period with faults
	pause     time.Duration // mean time between two faults
	crash     int           // a process crashes at one in so many effects
	twice     int           // one in so many messages arrives twice
	unsaved   int           // one in so many checkpoints cannot be stored
	slow      time.Duration // longest delay of a message
	gradient  time.Duration // longest time of a gradient
	workers   int
	knownDead bool          // whether a crash breaks streams; otherwise it is silent, as that of a host
	lost      int           // one in so many messages between coordinators is lost
	late      int           // one in so many is late
	patience  time.Duration // of workers with a silent coordinator; zero: the default
	sync      time.Duration // longest time until a write of a coordinator is on its disk
	contact   time.Duration // after which a leader that reaches no majority steps down
	linksOnly bool          // nothing fails but links between workers
	pinged    int           // workers outside a generation that are pinged at once; zero: the default
}

func newWorld(seed uint64, s sabotage, verbose bool) *world {
	r := random.New(seed, "simulation")
	w := &world{
		seed: seed, r: r, sabotage: s, verbose: verbose,
		links: map[link]time.Duration{}, refusals: map[link]time.Duration{}, rings: map[ergoflow.Generation]*ring{}, checker: newChecker(), happened: map[string]int{},
	}
	w.weather = weather{
		faults: w.between(5*time.Second, 30*time.Second), pause: w.between(300*time.Millisecond, 4*time.Second),
		crash: 200 + r.IntN(5000), twice: 3 + r.IntN(100), unsaved: 2 + r.IntN(50),
		slow: w.between(time.Millisecond, 80*time.Millisecond), gradient: w.between(10*time.Millisecond, 400*time.Millisecond),
		workers: 1 + r.IntN(5), knownDead: r.IntN(3) > 0, pinged: int(seed % 8 / 7), // one in eight pings as a coordinator of thousands does
	}
	first := w.addRun(w.newPlan("r"), ergoflow.WorkerBounds{})
	if r.IntN(4) == 0 {
		w.onlyLinks(first)
	}
	w.newCoordinators()
	if seed%3 == 0 { // no draw, so that the other worlds of the seeds stay as they were
		first.plan.Start = "s"
		if !s.noStart {
			w.store(first.root)
		}
	}
	if seed%4 == 1 && !w.weather.linksOnly && !s.alone {
		w.severalRuns()
	}
	w.startCoordinators()
	for range w.weather.workers {
		w.newProcess("")
	}
	w.after(w.weather.pause, w.fault)
	return w
}

func (w *world) newPlan(run string) ergoflow.Plan {
	return ergoflow.Plan{Run: run, Experiment: "e", Dataset: "d", Shards: 1 + w.r.IntN(6),
		Steps: ergoflow.Step(20 + w.r.IntN(150)), CheckpointEvery: ergoflow.Step(1 + w.r.IntN(40))}
}

// severalRuns adds a run or two, with bounds for their workers.
func (w *world) severalRuns() {
	w.weather.workers = 2 + w.r.IntN(6)
	bounds := func() ergoflow.WorkerBounds {
		b := ergoflow.WorkerBounds{Min: w.r.IntN(3)}
		if w.r.IntN(3) > 0 {
			b.Max = max(1, b.Min) + w.r.IntN(3)
		}
		return b
	}
	w.runs[0].workers = bounds()
	for i := range 1 + w.r.IntN(2) {
		w.addRun(w.newPlan(fmt.Sprintf("r%d", i+2)), bounds())
	}
}

// onlyLinks makes a world in which nothing fails but links between workers. Its run does not
// end.
func (w *world) onlyLinks(run *run) {
	w.weather.linksOnly, w.weather.workers = true, 2+w.r.IntN(4)
	w.weather.crash, w.weather.unsaved = 1<<40, 1<<40
	run.plan.Shards, run.plan.Steps = w.weather.workers+w.r.IntN(4), 1<<40
}

// patience bounds how long a run may take once faults have stopped.
const patience = 4 * time.Minute

// run executes events until the run is done or an invariant is broken.
func (w *world) run() {
	for len(w.queue) > 0 && w.broken == "" {
		w.next()
		if w.leader().done() {
			if w.doneSince == 0 {
				w.doneSince = w.now
			}
			if w.now > w.doneSince+time.Second {
				for _, r := range w.runs {
					w.checkEnd(r)
				}
				return
			}
		}
		if w.weather.linksOnly && w.proceeds() {
			return
		}
		if w.now > w.weather.faults+patience {
			w.fail("no progress: %v after the last fault the run is not done: %s", patience, w.leader().status())
		}
	}
}

// next executes the next event.
func (w *world) next() {
	next := heap.Pop(&w.queue).(event)
	w.now = next.at
	if !w.calm && w.now > w.weather.faults {
		w.becalm()
	}
	next.happens()
}

// after schedules a call.
func (w *world) after(d time.Duration, happens func()) {
	w.sequence++
	heap.Push(&w.queue, event{w.now + d, w.sequence, happens})
}

func (w *world) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.r.Int64N(int64(most-least)+1))
}

func (w *world) oneIn(n int) bool { return w.r.IntN(n) == 0 }

func (w *world) logf(format string, args ...any) {
	if w.verbose {
		fmt.Fprintf(&w.trace, "%9.3f  %s\n", w.now.Seconds(), fmt.Sprintf(format, args...))
	}
}

func (w *world) fail(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
		w.logf("WRONG: %s", w.broken)
	}
}

// link is one direction between two hosts.
type link struct{ from, to ergoflow.WorkerID }

// coordinatorHost is that of a single coordinator.
const coordinatorHost = ergoflow.WorkerID("coordinator")

// cut silences a direction for a while.
func (w *world) cut(from, to ergoflow.WorkerID, d time.Duration) {
	w.links[link{from, to}] = max(w.links[link{from, to}], w.now+d)
}

// open is the time until a direction is open; zero: it is.
func (w *world) open(from, to ergoflow.WorkerID) time.Duration {
	return max(0, w.links[link{from, to}]-w.now)
}

// refuses reports whether a firewall refuses connections between two hosts.
func (w *world) refuses(a, b ergoflow.WorkerID) bool {
	return w.refusals[link{min(a, b), max(a, b)}] > w.now
}

// apart is the time until both directions between two hosts are open.
func (w *world) apart(a, b ergoflow.WorkerID) time.Duration { return max(w.open(a, b), w.open(b, a)) }

func (w *world) delay() time.Duration { return w.between(50*time.Microsecond, w.weather.slow) }

// process returns the live process with an ID.
func (w *world) process(id ergoflow.WorkerID) *process {
	for _, p := range w.processes {
		if p.id == id && p.alive {
			return p
		}
	}
	return nil
}

func (w *world) alive() []*process {
	var all []*process
	for _, p := range w.processes {
		if p.alive {
			all = append(all, p)
		}
	}
	return all
}

// host is the host of a coordinator or worker, which can hang.
type host struct {
	id    ergoflow.WorkerID
	hangs time.Duration // until then
	rate  float64       // by which its clock is too fast
}

// on schedules a call on a host, in order, once the host does not hang.
func (w *world) on(h *host, d time.Duration, happens func()) {
	w.after(d, func() {
		if h.hangs > w.now {
			w.on(h, h.hangs-w.now, happens)
			return
		}
		happens()
	})
}

type event struct {
	at       time.Duration
	sequence uint64
	happens  func()
}

type queue []event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].sequence < q[j].sequence
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}
