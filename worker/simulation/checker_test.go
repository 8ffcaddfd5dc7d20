package simulation

import (
	"fmt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// checker knows what really happened, and holds against it what may never be:
//
//  1. One mark names one state: no two states of a generation and step differ,
//     and gradients of different states are never added.
//  2. Every step uses every shard exactly once. (applied is where a ledger of
//     what was used can be compared.)
//  3. Numbers of generations grow, over all restarts.
//  4. All members of a generation begin with one state.
//  5. A step that the coordinator calls committed has been applied by every member
//     of its generation.
//  6. What is committed stays in the history that goes on, as long as a worker or
//     a checkpoint that has it is there when a generation forms.
//  7. Once a generation has gone, no earlier one commits a step, unless it is one
//     that the later began with.
//  8. The run ends with a durable state that has every step once, in order, and
//     everything committed; and it does end once faults have stopped.
//  9. A worker that the coordinator lets go does not come back.
//  10. Nobody is a member who has not prepared as it was last told to.
//  11. A checkpoint is not stored of a stranger, nor of a state that cannot be.
type checker struct {
	broken string // which rule, and how; empty: none

	root      *node
	states    map[ergoflow.Mark]*node
	formed    map[ergoflow.Generation]int // by which incarnation of the coordinator
	last      ergoflow.Generation
	there     []holding // when the last generation formed
	newest    *ring     // the last that went
	committed *node     // the last that the coordinator called so; nil: none, or given up
	stale     map[int]part
}

// node is a state: the history that led to it.
type node struct {
	parent *node
	mark   ergoflow.Mark
	number int // of its parameters
}

func (n *node) hash() string { return fmt.Sprint(n.number) }

func (n *node) String() string {
	if n == nil {
		return "nothing"
	}
	return n.mark.String()
}

// has reports whether a history contains a state.
func (n *node) has(earlier *node) bool {
	for n != nil && n.mark.Step > earlier.mark.Step {
		n = n.parent
	}
	return n == earlier
}

// holding is a worker that is connected, and its state.
type holding struct {
	process *process
	node    *node
}

func newChecker() *checker {
	root := &node{}
	return &checker{
		root: root, states: map[ergoflow.Mark]*node{root.mark: root}, formed: map[ergoflow.Generation]int{}, stale: map[int]part{},
	}
}

// apply makes a step of what a ring has brought. An error is one that the ring
// itself would find; what nothing would find fails the world.
func (w *world) apply(p *process, r *ring, s *sum) (*node, error) {
	used := make([]int, w.plan.Shards)
	for _, part := range s.parts {
		if part.state.mark.Step != p.node.mark.Step {
			return nil, fmt.Errorf("got step %d, want %d", part.state.mark.Step, p.node.mark.Step)
		}
		if part.state != p.node {
			w.fail("rule 1: generation %d adds gradients of different states: %s and %s", r.generation, p.node, part.state)
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
		n = &node{parent: p.node, mark: mark, number: len(w.states)}
		w.states[mark] = n
	}
	if n.parent != p.node {
		w.fail("rule 1: there are two states at %s: one was made of %s, the other of %s", mark, n.parent, p.node)
	}
	w.applied(r, n)
	return n, nil
}

// applied is called whenever a member has applied a step.
func (w *world) applied(r *ring, n *node) {
	r.applied[n.mark.Step]++
	if r.applied[n.mark.Step] < len(r.places) {
		return
	}
	if w.newest.generation > r.generation && !w.newest.base.has(n) {
		w.fail("rule 7: generation %d commits step %d after generation %d has gone on from %s",
			r.generation, n.mark.Step, w.newest.generation, w.newest.base)
	}
}

// forge makes a state that says it is another.
func (w *world) forge(n *node, mark ergoflow.Mark) *node {
	return &node{parent: n.parent, mark: mark, number: -1}
}

// ordered looks at what the coordinator tells a worker.
func (w *world) ordered(c *coordinator, e machine.Send) {
	switch m := e.Message.(type) {
	case message.Form:
		if incarnation, known := w.formed[m.Generation]; known {
			if incarnation != c.incarnation {
				w.fail("rule 3: generation %d is formed again after a restart", m.Generation)
			}
			return
		}
		if m.Generation <= w.last {
			w.fail("rule 3: generation %d is formed after %d", m.Generation, w.last)
		}
		w.formed[m.Generation], w.last = c.incarnation, m.Generation
		w.there = w.there[:0]
		for _, s := range c.machine.Status().Workers {
			if p := w.process(s.ID); p != nil && p.node != nil && p.prepared {
				w.there = append(w.there, holding{p, p.node})
			}
		}
	case message.Go:
		if r := w.rings[m.Generation]; r != nil && !r.gone {
			r.gone = true
			w.goes(c, r)
		}
	}
}

// goes looks at a generation when it is told to.
func (w *world) goes(c *coordinator, r *ring) {
	r.base = r.places[0].process.node
	for _, place := range r.places {
		if p := place.process; p != nil && p.node != r.base {
			w.fail("rule 4: in generation %d %s begins with %s, %s with %s", r.generation, r.places[0].process, r.base, p, p.node)
			return
		}
	}
	w.newest = r
	if w.committed == nil || r.base.has(w.committed) {
		return
	}
	for _, h := range w.there {
		if h.node.has(w.committed) && h.process.alive {
			w.fail("rule 6: generation %d goes on from %s, though %s was there with %s, and %s was committed",
				r.generation, r.base, h.process, h.node, w.committed)
		}
	}
	if n := c.newest(); n != nil && n.has(w.committed) {
		w.fail("rule 6: generation %d goes on from %s, though there is a checkpoint at %s, and %s was committed",
			r.generation, r.base, n, w.committed)
	}
	w.logf("given up: %s", w.committed)
	w.happened["committed steps given up"]++
	w.committed = nil
}

// uploaded looks at a checkpoint that the coordinator takes: it must refuse the same
// from a process with another secret, of another run, and of a state that cannot be.
func (w *world) uploaded(c *coordinator, taken machine.Upload) {
	for what, change := range map[string]func(*machine.Upload){
		"a stranger's":              func(u *machine.Upload) { u.Secret++ },
		"another run's":             func(u *machine.Upload) { u.Run += "2" },
		"one of a generation ahead": func(u *machine.Upload) { u.State.Generation = c.machine.Status().Generation + 1 },
		"one after the last step":   func(u *machine.Upload) { u.State.Step = w.plan.Steps + 1 },
	} {
		forged := taken
		change(&forged)
		if c.machine.CheckUpload(forged) == nil {
			w.fail("rule 11: the coordinator takes %s checkpoint: %+v", what, forged)
		}
	}
}

// observe looks at what the coordinator says after every event.
func (w *world) observe(c *coordinator) {
	mark := c.machine.Committed()
	if mark == (ergoflow.Mark{}) || w.committed != nil && w.committed.mark == mark {
		return
	}
	r := w.rings[mark.Generation]
	if r != w.newest {
		return // it was given up
	}
	n := w.states[mark]
	if n == nil || r.applied[mark.Step] < len(r.places) {
		w.fail("rule 5: %s is called committed, but not all members have applied it", mark)
		return
	}
	if w.committed != nil && !n.has(w.committed) {
		w.fail("rule 6: %s is committed after %s, which it does not contain", n, w.committed)
	}
	w.committed = n
}

// finished looks at the end.
func (w *world) finished(c *coordinator) {
	n := c.newest()
	if n == nil || n.mark.Step != w.plan.Steps {
		w.fail("rule 8: the run is finished, and the last durable state is %s", n)
		return
	}
	if w.committed != nil && !n.has(w.committed) {
		w.fail("rule 8: the run ends with %s, which does not contain %s, which was committed", n, w.committed)
	}
	for step := w.plan.Steps; step > 0; step-- {
		if n == nil || n.mark.Step != step {
			w.fail("rule 8: the final history has no step %d", step)
			return
		}
		n = n.parent
	}
}
