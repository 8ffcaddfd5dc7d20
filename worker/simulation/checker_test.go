package simulation

import (
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// checker knows what really happened in a world, and checks these invariants:
//
//  1. One mark names one state: no two states of a generation and step differ, and
//     gradients of different states are never added.
//  2. Every step uses every shard exactly once.
//  3. Numbers of generations grow, over all restarts.
//  4. All members of a generation begin with one state.
//  5. If the coordinator calls a step committed, every member of its generation has
//     applied it.
//  6. Committed steps stay in the history that continues, if a worker or a checkpoint
//     that has them is there when a generation forms.
//  7. Once a generation has started, no earlier one commits a step, unless the later one
//     began with it.
//  8. The run ends with a durable state that has every step once, in order, and all
//     committed steps; and it ends once faults have stopped.
//  9. A worker that the coordinator dismisses does not come back.
//  10. No worker is a member before it has executed its last order to prepare.
//  11. The coordinator stores no checkpoint of an unknown process, of another run or of an
//     impossible state.
//  12. Where nothing fails but links between workers, training makes a step at least every
//     stallTime, and all workers train backTime after the links are mended.
//  13. A run that begins from an earlier state never begins from random parameters. Where
//     that state is missing, the run fails before it makes a step.
//  14. No run has states of another.
//  15. No generation has more members than its run may have.
//  16. No run has two workers more than another that could use them, for long.
//  17. No worker moves to another run without an event that is a reason.
//  18. In a term at most one coordinator leads. Coordinators agree on every entry that one of
//     them takes as committed, and a leader has all those that were committed before.
//  19. A checkpoint that a leader was told is saved is on the disk of every later leader once
//     that has answered a scan.
//  20. No coordinator refuses a worker because it knows of no generation as late as the
//     worker's: no ledger is lost here.
type checker struct {
	broken string // the rule that was broken, and how; empty: none

	states   map[ergoflow.Mark]*node     // all but those with which runs begin
	formed   map[ergoflow.Generation]int // incarnation of the coordinator that formed it
	last     ergoflow.Generation
	lastTerm uint64                  // of the coordinator that formed the last
	leaders  map[uint64]*coordinator // by term
	agreed   []entry                 // that a coordinator has taken as committed
	agreedIn []uint64                // in which terms
	stale    map[int]part
	mendedAt time.Duration // when faults were over
	fleet    fleetChecker
}

// node is a state, with the history that led to it.
type node struct {
	run    *run
	parent *node
	mark   ergoflow.Mark
	number int    // names its parameters
	saved  uint64 // the term of the leader that first called a checkpoint of it saved
}

func (n *node) hash() string { return fmt.Sprint(n.number) }

func (n *node) String() string {
	if n == nil {
		return "nothing"
	}
	return n.mark.String()
}

// has reports whether the history of n contains a state.
func (n *node) has(earlier *node) bool {
	for n != nil && n.mark.Step > earlier.mark.Step {
		n = n.parent
	}
	return n == earlier
}

// holding is a connected worker and its state.
type holding struct {
	process *process
	node    *node
}

func newChecker() *checker {
	return &checker{states: map[ergoflow.Mark]*node{}, formed: map[ergoflow.Generation]int{}, leaders: map[uint64]*coordinator{}, stale: map[int]part{}}
}

// apply makes a step from a ring's sum. An error is one that the ring itself would find.
// What no process would find fails the world.
func (w *world) apply(p *process, r *ring, s *sum) (*node, error) {
	if p.node == nil {
		w.fail("rule 4: %s makes a step in generation %d and has no state", p, r.generation)
		return nil, errRing
	}
	run := p.node.run
	used := make([]int, run.plan.Shards)
	for _, part := range s.parts {
		if part.state.mark.Step != p.node.mark.Step {
			return nil, fmt.Errorf("got step %d, want %d", part.state.mark.Step, p.node.mark.Step)
		}
		if part.state != p.node {
			w.fail("rule 1: generation %d adds gradients of different states: %s and %s", r.generation, p.node, part.state)
			if part.state.run != run {
				return nil, errRing
			}
		}
		for _, k := range part.shards {
			used[k]++
		}
	}
	mark := ergoflow.Mark{Generation: r.generation, Step: p.node.mark.Step + 1}
	w.logf("%s applies %s", p, mark)
	for k, times := range used {
		if times != 1 {
			w.fail("rule 2: %s uses shard %d %d times", mark, k, times)
		}
	}
	n := w.states[mark]
	if n == nil {
		n = &node{run: run, parent: p.node, mark: mark, number: len(w.states) + 1}
		w.states[mark] = n
	}
	if n.parent != p.node {
		w.fail("rule 1: there are two states at %s: one follows %s, the other %s", mark, n.parent, p.node)
	}
	w.applied(r, n)
	return n, nil
}

// applied checks a step that a member has applied.
func (w *world) applied(r *ring, n *node) {
	r.applied[n.mark.Step]++
	run := n.run
	run.madeAt, run.longest = w.now, max(run.longest, w.now-run.madeAt)
	if r.applied[n.mark.Step] < len(r.places) {
		return
	}
	if run.newest.generation > r.generation && !run.newest.base.has(n) {
		w.fail("rule 7: generation %d commits step %d after generation %d began with %s",
			r.generation, n.mark.Step, run.newest.generation, run.newest.base)
	}
}

const (
	// stallTime is for several cuts, each of which strikes when the one before is noticed.
	stallTime = 20 * time.Second
	// backTime is for a link that was cut many times.
	backTime = 45 * time.Second
)

// proceeds checks a world in which nothing fails but links. It reports whether there is
// nothing left to check.
func (w *world) proceeds() bool {
	run := w.runs[0]
	if d := w.now - run.madeAt; d > stallTime+w.weather.patience { // to find a leader
		w.fail("rule 12: no step for %v, though the coordinator reaches all workers: %s", d, w.leader().status())
	}
	if !w.calm || w.now < w.mendedAt+backTime {
		return false
	}
	if r := run.newest; r == nil || r.left || len(r.places) < len(w.alive()) {
		w.fail("rule 12: not all workers train %v after the last link was mended: %s", backTime, w.leader().status())
	}
	return true
}

// forge makes a state with the mark of another.
func (w *world) forge(n *node, mark ergoflow.Mark) *node {
	return &node{run: n.run, parent: n.parent, mark: mark, number: -1}
}

// ordered checks a message of the coordinator.
func (w *world) ordered(c *coordinator, slot int, e machine.Send) {
	switch m := e.Message.(type) {
	case message.Form:
		if incarnation, known := w.formed[m.Generation]; known {
			if incarnation != c.incarnation {
				w.fail("rule 3: generation %d is formed again after a restart", m.Generation)
			}
			return
		}
		w.formed[m.Generation] = c.incarnation
		if c.term() < w.lastTerm {
			return // by a leader that was deposed after it had persisted the number
		}
		if m.Generation <= w.last {
			w.fail("rule 3: generation %d is formed after %d", m.Generation, w.last)
		}
		w.last, w.lastTerm = m.Generation, c.term()
		run := w.withHash(c.conducts[slot])
		run.holdings = run.holdings[:0]
		for _, s := range c.fleet.Status(run.plan.Run).Workers {
			if p := w.process(s.ID); p != nil && p.node != nil && p.prepared && p.run == run && s.Run == run.plan.Run {
				run.holdings = append(run.holdings, holding{p, p.node})
			}
		}
	case message.Go:
		if r := w.rings[m.Generation]; r != nil && !r.gone {
			r.gone = true
			w.goes(w.withHash(c.conducts[slot]), r)
		}
	case message.Transfer:
		w.transferred(e)
	}
}

// goes checks a generation when it is told to go.
func (w *world) goes(run *run, r *ring) {
	if run.newest != nil && r.generation < run.newest.generation {
		return // by a leader that was deposed after it had persisted the holders; no member may step
	}
	r.base = r.places[0].process.node
	if r.base == nil {
		w.fail("rule 4: in generation %d %s begins with no state", r.generation, r.places[0].process)
		return
	}
	if r.base.run != run {
		w.fail("rule 14: generation %d of run %s begins with a state of run %s", r.generation, run.plan.Run, r.base.run.plan.Run)
	}
	if most := run.workers.Max; most > 0 && len(r.places) > most {
		w.fail("rule 15: generation %d of run %s has %d members, more than %d", r.generation, run.plan.Run, len(r.places), most)
	}
	for _, place := range r.places {
		if p := place.process; p != nil && p.node != r.base {
			w.fail("rule 4: in generation %d %s begins with %s, %s with %s", r.generation, r.places[0].process, r.base, p, p.node)
			return
		}
	}
	run.newest = r
	if run.committed == nil || r.base.has(run.committed) {
		return
	}
	for _, h := range run.holdings {
		if h.node.has(run.committed) && h.process.alive {
			w.fail("rule 6: generation %d begins with %s, though %s was connected with %s, and %s was committed",
				r.generation, r.base, h.process, h.node, run.committed)
		}
	}
	if n := run.newestCheckpoint(); n != nil && n.has(run.committed) {
		w.fail("rule 6: generation %d begins with %s, though there is a checkpoint at %s, and %s was committed",
			r.generation, r.base, n, run.committed)
	}
	w.logf("lost: %s", run.committed)
	w.happened["committed steps lost"]++
	run.committed = nil
}

// uploaded checks a checkpoint that the coordinator accepts: it must refuse the same one
// from a process with another secret, of another run and of an impossible state.
func (w *world) uploaded(c *coordinator, run *run, taken machine.Upload) {
	for what, change := range map[string]func(*machine.Upload){
		"a stranger's":              func(u *machine.Upload) { u.Secret++ },
		"another run's":             func(u *machine.Upload) { u.Run += "?" },
		"one of a generation ahead": func(u *machine.Upload) { u.State.Generation = w.last + 100 },
		"one after the last step":   func(u *machine.Upload) { u.State.Step = run.plan.Steps + 1 },
	} {
		forged := taken
		change(&forged)
		if c.fleet.CheckUpload(forged) == nil {
			w.fail("rule 11: the coordinator takes %s checkpoint: %+v", what, forged)
		}
	}
}

// observe checks after every event what the coordinator calls committed.
func (w *world) observe(c *coordinator) {
	for _, run := range w.runs {
		w.observeRun(run, c.fleet.Committed(run.plan.Run))
	}
	if c == w.leader() {
		w.observeFleet(c)
	}
}

func (w *world) observeRun(run *run, mark ergoflow.Mark) {
	if mark == (ergoflow.Mark{}) || run.committed != nil && run.committed.mark == mark {
		return
	}
	r := w.rings[mark.Generation]
	if r != run.newest {
		return // it was lost
	}
	n := w.states[mark]
	if n == nil || r.applied[mark.Step] < len(r.places) {
		w.fail("rule 5: %s is called committed, but not all members have applied it", mark)
		return
	}
	if run.committed != nil && !n.has(run.committed) {
		w.fail("rule 6: %s is committed after %s, which it does not contain", n, run.committed)
	}
	run.committed = n
}

// checkEnd checks the final state of a run.
func (w *world) checkEnd(run *run) {
	n := run.newestCheckpoint()
	if n == nil || n.mark.Step != run.plan.Steps {
		w.fail("rule 8: the run is finished, and the last durable state is %s", n)
		return
	}
	if run.committed != nil && !n.has(run.committed) {
		w.fail("rule 8: the run ends with %s, which does not contain %s, which was committed", n, run.committed)
	}
	for step := run.plan.Steps; step > 0; step-- {
		if n == nil || n.mark.Step != step {
			w.fail("rule 8: the final history has no step %d", step)
			return
		}
		n = n.parent
	}
	if n != run.root {
		w.fail("rule 14: the final history begins with another run's state")
	}
}
