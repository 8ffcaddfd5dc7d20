package machine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow"
)

// A generation must not repeat steps that an earlier one has made. A holder is a member
// of the last generation that was started, as long as it has that generation's state.
//
// With a holder among its members a new generation is safe, for two reasons. It begins
// with everything that was committed, since a step is committed once every member has
// applied it. And the last generation can make no more steps, since its ring needs the
// holder.
//
// Without a holder neither is certain: members that the coordinator cannot hear may
// have newer states, and may make steps until their leases end. So the coordinator
// waits for them for longer than a lease, and then uses the newest state there is.

func (m *Machine) isHolder(w *worker) bool {
	h := m.ledger.Holders
	return h != nil && w.hasState && w.phase != failed && w.state.Compare(h.Base) >= 0 && m.holders[w.ID]
}

// keepers are the candidates of which one must be a member of the next generation: the
// holders, or without any those with the newest state. None has a state at the start.
func (m *Machine) keepers(candidates []*worker) []*worker {
	var holders, newest []*worker
	for _, w := range candidates {
		if m.isHolder(w) {
			holders = append(holders, w)
		}
		if !w.hasState {
			continue
		}
		if len(newest) > 0 && w.state.Compare(newest[0].state) > 0 {
			newest = nil
		}
		if len(newest) == 0 || w.state == newest[0].state {
			newest = append(newest, w)
		}
	}
	if len(holders) > 0 {
		return holders
	}
	return newest
}

// setHolders enters into the ledger which members have the run's state; nil: the
// checkpoint has it.
func (m *Machine) setHolders(h *Holders) {
	m.ledger.Holders, m.holders, m.inherited = h, make(map[ergoflow.WorkerID]bool), false
	if h != nil {
		for _, id := range h.Members {
			m.holders[id] = true
		}
	}
}

// reviveHolders takes members of an earlier generation as the holders again. A coordinator may
// end between the entry that names the holders of a generation and the order to go: then that
// generation has made no step, and if all its members are here with the state that it began
// with, it will make none. Meanwhile members of an earlier one may have come back with a newer
// state, which is then the run's.
//
// Only holders that another coordinator has entered are certain to have made no step: what the
// members of a generation of this one report may be on its way.
func (m *Machine) reviveHolders() {
	h := m.ledger.Holders
	if h == nil || !m.inherited || !m.training() || m.current != nil {
		return
	}
	for _, id := range h.Members {
		if w := m.byID(id); w == nil || !w.hasState || w.state != h.Base {
			return
		}
	}
	revived := Holders{Generation: h.Generation, Base: h.Base}
	for _, w := range m.workers {
		if !w.hasState || w.phase == failed || w.draining || w.state.Generation >= h.Generation {
			continue
		}
		c := w.state.Compare(revived.Base)
		if c > 0 {
			revived.Base, revived.Members = w.state, nil
		}
		if c >= 0 && revived.Base != h.Base && len(revived.Members) < m.ledger.Plan.Units() {
			revived.Members = append(revived.Members, w.ID)
		}
	}
	if len(revived.Members) == 0 {
		return
	}
	m.setHolders(&revived)
	m.persist()
	m.because(fmt.Sprintf("generation %d has made no step, and worker %s is back with %s", h.Generation, revived.Members[0], revived.Base))
}

// noteAbsence notes whether a holder is connected.
func (m *Machine) noteAbsence() {
	switch {
	case m.ledger.Holders == nil || slices.ContainsFunc(m.workers, m.isHolder):
		m.run.holdersAbsent, m.run.holdersAbsentFor = false, 0
	case !m.run.holdersAbsent:
		m.run.holdersAbsent = true
		if m.training() && !m.stopping {
			m.because(fmt.Sprintf("no worker of generation %d is left: the coordinator waits up to %v for one to come back",
				m.ledger.Holders.Generation, m.config.Absence))
		}
	}
}

// awaitsHolders reports whether a generation of the candidates must wait for a holder.
func (m *Machine) awaitsHolders(candidates []*worker) bool {
	switch {
	case m.ledger.Holders == nil || slices.ContainsFunc(candidates, m.isHolder):
		return false
	case !m.run.holdersAbsent:
		return true // a connected holder will be prepared, or saves its state as it leaves
	}
	return m.run.holdersAbsentFor < m.config.Absence || slices.ContainsFunc(m.workers, func(w *worker) bool {
		return w.hasState && w.phase == preparing && !w.draining // it will be a candidate in a moment
	})
}

// overtaken names a state newer than the one that a forming generation is about to
// begin with; empty: there is none.
func (m *Machine) overtaken(g *generation) string {
	if m.run.hasCheckpoint && m.run.checkpoint.Compare(g.base) > 0 {
		return fmt.Sprintf("a checkpoint at %s has arrived", m.run.checkpoint)
	}
	for _, w := range m.candidates() {
		if w.hasState && w.state.Compare(g.base) > 0 && !g.has(w.ID) {
			return fmt.Sprintf("worker %s has arrived with %s", w.ID, w.state)
		}
	}
	for _, w := range m.workers {
		if w.saving && w.state.Compare(g.base) > 0 {
			return fmt.Sprintf("worker %s is saving %s", w.ID, w.state)
		}
	}
	return ""
}

// precedence orders candidates: holders, then workers with a state, the newest first,
// then the others.
func (m *Machine) precedence(a, b *worker) int {
	class := func(w *worker) int {
		switch {
		case m.isHolder(w):
			return 0
		case w.hasState:
			return 1
		}
		return 2
	}
	if c := cmp.Compare(class(a), class(b)); c != 0 || class(a) != 1 {
		return c
	}
	return b.state.Compare(a.state)
}

// commit notes a step that every member has applied.
func (m *Machine) commit(g *generation, step ergoflow.Step) {
	for _, id := range g.members {
		if v := m.byID(id); v.state.Generation != g.number || v.state.Step < step {
			return
		}
	}
	m.run.committed = ergoflow.Mark{Generation: g.number, Step: step}
}

// inHistory reports whether a state is known to be the one that the last started
// generation began with, or one that was made since.
func (m *Machine) inHistory(state ergoflow.Mark) bool {
	h := m.ledger.Holders
	return h == nil || state == h.Base || state.Generation >= h.Generation
}

// isPossible reports whether the run can have such a state.
func (m *Machine) isPossible(state ergoflow.Mark) bool {
	return state.Step >= 0 && state.Step <= m.ledger.Plan.Steps && state.Generation <= m.ledger.Generation
}

// Committed names the last step known to be applied by every member of the
// generation that made it; zero: none since the start. It is undone only where all
// of them are lost.
func (m *Machine) Committed() ergoflow.Mark { return m.run.committed }
