package machine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
)

// Cause is what time of a run went to.
type Cause string

// The causes. All but Useful are lost time.
const (
	// Useful is in steps that had not been made before, without Straggling and waiting for
	// batches.
	Useful Cause = "useful"
	// Data is while shards are generated, and while the last rank of a step waits for its
	// batch.
	Data Cause = "data"
	// Compiling is while there is no generation because workers prepare: they map and verify
	// shards and compile.
	Compiling Cause = "compiling"
	// Forming is from the end of a generation to the reports of the next, with the delays after
	// failed attempts.
	Forming Cause = "forming"
	// Fetching is from the reports to the first step: members fetch the state and connect.
	Fetching Cause = "fetching"
	// Holder is while the coordinator waits for a worker that has the newest state.
	Holder Cause = "holder"
	// Redoing is in steps that were made before, and in steps that their generation did not
	// finish.
	Redoing Cause = "redoing"
	// Straggling is the wait of the first rank in a step's ring for the last.
	Straggling Cause = "straggler"
	// Checkpointing is while training waits for a checkpoint: the last one, that of a worker
	// which leaves, or room on the disk.
	Checkpointing Cause = "checkpoint"
	// Idle is without a worker that could work for the run.
	Idle Cause = "idle"
)

// Goodput says what the time of a run went to since the coordinator conducts it. The parts add up
// to Seconds.
type Goodput struct {
	Run     string  `json:"run"`
	Seconds float64 `json:"seconds"`
	Useful  float64 `json:"useful"` // seconds
	Lost    []Loss  `json:"lost"`   // causes with time, the longest first
}

// Loss is lost time of one cause.
type Loss struct {
	Cause   Cause   `json:"cause"`
	Seconds float64 `json:"seconds"`
	Why     string  `json:"why"` // in a sentence, of the last time
}

// account adds up a run's time by cause.
type account struct {
	run      string
	at       time.Time // to which time is charged
	open     bool      // the run had not ended then
	spent    map[Cause]time.Duration
	why      map[Cause]string
	underWay time.Duration // in the step that members have not all made
	furthest ergoflow.Step // the most advanced that a generation has made
}

// charge adds the time since the last event to the cause that the state names. The machine calls
// it before it handles an event, and beginTime after it.
func (m *Machine) charge() {
	a := &m.goodput
	if !a.open {
		return
	}
	passed := m.now.Sub(a.at)
	if m.current != nil && m.current.phase == running && m.run.step < m.ledger.Plan.Steps {
		a.underWay += passed
		return
	}
	cause, why := m.lost()
	a.lose(cause, passed, why)
}

// beginTime begins the time until the next event. No time of a run counts that has ended.
func (m *Machine) beginTime() {
	a, p := &m.goodput, m.ledger.Plan
	if p != nil && a.run != p.Run {
		*a = account{run: p.Run, spent: make(map[Cause]time.Duration), why: make(map[Cause]string)}
	}
	a.at, a.open = m.now, p != nil && !m.finished()
}

func (a *account) lose(c Cause, passed time.Duration, why string) {
	if passed > 0 {
		a.spent[c] += passed
		a.why[c] = why
	}
}

// lost is the cause of the time in which no step is made, and a sentence.
func (m *Machine) lost() (Cause, string) {
	because := cmp.Or(m.ended, "training begins")
	g := m.current
	switch {
	case m.run.paused && m.run.short != nil:
		return Checkpointing, fmt.Sprintf("there is no room for a checkpoint in %s", m.run.short.Path)
	case g != nil && g.phase == running:
		return Checkpointing, "the members have made the last step, and the coordinator waits for the checkpoint"
	case !slices.ContainsFunc(m.workers, m.isOfUse):
		return Idle, "no worker is connected that could work for the run"
	case m.run.activity == activityScanning:
		return Data, "the coordinator looks for shards and checkpoints"
	case m.run.activity == activityGenerating:
		return Data, fmt.Sprintf("workers generate shards: %d of %d exist", len(m.run.present), m.ledger.Plan.Shards+1)
	case m.saving():
		return Checkpointing, "the coordinator waits for the state of a worker that leaves"
	case g != nil && g.phase == assigned:
		return Fetching, fmt.Sprintf("members of generation %d fetch the state and connect: %s", g.number, because)
	case g != nil:
		return Forming, fmt.Sprintf("members report to generation %d: %s", g.number, because)
	case m.run.holdersAbsent:
		return Holder, "no worker that has the newest state is connected: " + because
	case m.now.Before(m.run.notBefore):
		return Forming, "the coordinator waits after failed attempts: " + because
	case slices.ContainsFunc(m.workers, func(w *worker) bool { return w.phase == preparing && !w.draining }):
		return Compiling, "workers prepare: " + because
	}
	return Forming, "no generation has formed: " + because
}

// stepMade charges the time of the step that all members of the generation have made, of which
// the last rank in the ring had these timings, and the first waited that long for it.
func (m *Machine) stepMade(g *generation, step ergoflow.Step, last Timing, slowest ergoflow.WorkerID, waited float64) {
	a := &m.goodput
	passed := a.underWay
	a.underWay = 0
	if step <= a.furthest {
		a.lose(Redoing, passed, fmt.Sprintf("generation %d makes steps again that were lost: step %d of %d", g.number, step, a.furthest))
		return
	}
	a.furthest = step
	part := func(seconds float64) time.Duration {
		d := min(passed, time.Duration(seconds*float64(time.Second)))
		passed -= d
		return d
	}
	if waited > 0 {
		a.lose(Straggling, part(waited), fmt.Sprintf("the others waited for worker %s", slowest))
	}
	if last.Data > 0 {
		a.lose(Data, part(last.Data), fmt.Sprintf("worker %s waited for its batch", slowest))
	}
	a.spent[Useful] += passed
}

// stepBroken charges the time of a step that the generation did not finish.
func (m *Machine) stepBroken(reason string) {
	a := &m.goodput
	a.lose(Redoing, a.underWay, "a step was interrupted: "+reason)
	a.underWay = 0
}

// total is the sum of the parts.
func (a *account) total() time.Duration {
	sum := a.underWay
	for _, d := range a.spent {
		sum += d
	}
	return sum
}

// Goodput is nil where the machine has had no run.
func (m *Machine) Goodput() *Goodput {
	a := m.goodput
	if a.run == "" {
		return nil
	}
	out := &Goodput{Run: a.run, Seconds: a.total().Seconds(), Useful: (a.spent[Useful] + a.underWay).Seconds(), Lost: []Loss{}}
	for c, d := range a.spent {
		if c != Useful {
			out.Lost = append(out.Lost, Loss{c, d.Seconds(), a.why[c]})
		}
	}
	slices.SortFunc(out.Lost, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Cause, b.Cause))
	})
	return out
}
