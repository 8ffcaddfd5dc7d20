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

// world is everything: time, who there is, and what was found wrong.
type world struct {
	seed     uint64
	r        *rand.Rand
	now      time.Duration
	queue    queue
	sequence uint64
	sabotage sabotage
	weather  weather
	calm     bool // faults are over

	plan        ergoflow.Plan
	coordinator *coordinator
	processes   []*process // in the order in which they started, the dead included
	links       map[link]time.Duration
	rings       map[ergoflow.Generation]*ring
	doneSince   time.Duration

	*checker
	happened map[string]int // faults, by kind

	verbose bool
	trace   strings.Builder
}

// weather says how rough a world is.
type weather struct {
	faults    time.Duration // how long there are any
	pause     time.Duration // between two, on average
	crash     int           // one in so many effects is a process's last
	twice     int           // one in so many messages comes twice
	unsaved   int           // one in so many checkpoints cannot be stored
	slow      time.Duration // the longest delay of a message
	gradient  time.Duration // the longest
	workers   int
	knownDead bool // whether a crash breaks streams, or is only silence, as of a host
}

func newWorld(seed uint64, s sabotage, verbose bool) *world {
	r := random.New(seed, "simulation")
	w := &world{
		seed: seed, r: r, sabotage: s, verbose: verbose,
		links: map[link]time.Duration{}, rings: map[ergoflow.Generation]*ring{}, checker: newChecker(), happened: map[string]int{},
	}
	w.weather = weather{
		faults: w.between(5*time.Second, 30*time.Second), pause: w.between(300*time.Millisecond, 4*time.Second),
		crash: 200 + r.IntN(5000), twice: 3 + r.IntN(100), unsaved: 2 + r.IntN(50),
		slow: w.between(time.Millisecond, 80*time.Millisecond), gradient: w.between(10*time.Millisecond, 400*time.Millisecond),
		workers: 1 + r.IntN(5), knownDead: r.IntN(3) > 0,
	}
	w.plan = ergoflow.Plan{Run: "r", Experiment: "e", Dataset: "d", Shards: 1 + r.IntN(6),
		Steps: ergoflow.Step(20 + r.IntN(150)), CheckpointEvery: ergoflow.Step(1 + r.IntN(40))}
	w.coordinator = &coordinator{w: w}
	w.coordinator.start()
	for range w.weather.workers {
		w.newProcess("")
	}
	w.after(w.weather.pause, w.fault)
	return w
}

// patience is how long a run may take once faults have stopped.
const patience = 4 * time.Minute

// run lets the world go on until its run is done or something is wrong.
func (w *world) run() {
	for len(w.queue) > 0 && w.broken == "" {
		next := heap.Pop(&w.queue).(event)
		w.now = next.at
		if !w.calm && w.now > w.weather.faults {
			w.becalm()
		}
		next.happens()
		if w.coordinator.done() {
			if w.doneSince == 0 {
				w.doneSince = w.now
			}
			if w.now > w.doneSince+time.Second {
				w.finished(w.coordinator)
				return
			}
		}
		if w.now > w.weather.faults+patience {
			w.fail("no progress: %v after the last fault the run is not done: %s", patience, w.coordinator.status())
		}
	}
}

func (w *world) time() time.Time { return time.Unix(1_000_000, 0).Add(w.now) }

// after has something happen.
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

// link is a direction between two hosts; the coordinator's is "coordinator".
type link struct{ from, to ergoflow.WorkerID }

const coordinatorHost = ergoflow.WorkerID("coordinator")

// cut silences a direction for a while.
func (w *world) cut(from, to ergoflow.WorkerID, d time.Duration) {
	w.links[link{from, to}] = max(w.links[link{from, to}], w.now+d)
}

// open is how long nothing gets through; zero: it does.
func (w *world) open(from, to ergoflow.WorkerID) time.Duration {
	return max(0, w.links[link{from, to}]-w.now)
}

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

// host is what the coordinator and workers are: something that hangs.
type host struct{ hangs time.Duration } // until then

// on has something happen on a host, once it does not hang, in order.
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
