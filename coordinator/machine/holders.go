package machine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow"
)

// What one generation made must not be made again by another that knows nothing
// of it. Whoever was a member of the last generation that went, and still holds
// its state, is a survivor. A generation with a survivor begins with everything
// that was committed, since a step is committed when every member has applied
// it. And the generation before can make no step any more, since its ring needs
// the survivor. Without a survivor neither is sure: members that cannot be heard
// may hold newer states, and may make steps for as long as their lease lasts. So
// they are waited for, longer than that, before the newest of what is left is
// used.

func (m *Machine) survivor(w *worker) bool {
	h := m.ledger.Holders
	return h != nil && w.holds && w.phase != failed && w.state.Compare(h.Base) >= 0 && m.holders[w.ID]
}

// hold enters who holds the run's state into the ledger; nil: the checkpoint does.
func (m *Machine) hold(h *Holders) {
	m.ledger.Holders, m.holders = h, make(map[ergoflow.WorkerID]bool)
	if h != nil {
		for _, id := range h.Members {
			m.holders[id] = true
		}
	}
}

// noteAbsence keeps whether a survivor is connected.
func (m *Machine) noteAbsence() {
	switch {
	case m.ledger.Holders == nil || slices.ContainsFunc(m.workers, m.survivor):
		m.run.absent, m.run.absentFor = false, 0
	case !m.run.absent:
		m.run.absent = true
		if m.training() && !m.stopping {
			m.because(fmt.Sprintf("no worker of generation %d is left: for %v it is waited for one to come back",
				m.ledger.Holders.Generation, m.config.Absence))
		}
	}
}

// awaitsSurvivors reports whether a generation of the candidates must not begin
// yet.
func (m *Machine) awaitsSurvivors(candidates []*worker) bool {
	switch {
	case m.ledger.Holders == nil || slices.ContainsFunc(candidates, m.survivor):
		return false
	case !m.run.absent:
		return true // one is connected and will be prepared, or leaves its state behind
	}
	return m.run.absentFor < m.config.Absence || slices.ContainsFunc(m.workers, func(w *worker) bool {
		return w.holds && w.phase == preparing && !w.draining // it will be a candidate in a moment
	})
}

// overtaken says what came while a generation formed that is newer than what it
// is about to begin with; empty: nothing did.
func (m *Machine) overtaken(g *generation) string {
	if m.run.hasCheckpoint && m.run.checkpoint.Compare(g.base) > 0 {
		return fmt.Sprintf("a checkpoint at %s has come", m.run.checkpoint)
	}
	for _, w := range m.candidates() {
		if w.holds && w.state.Compare(g.base) > 0 && !g.has(w.ID) {
			return fmt.Sprintf("%s has come with %s", w.ID, w.state)
		}
	}
	for _, w := range m.workers {
		if w.saving && w.state.Compare(g.base) > 0 {
			return fmt.Sprintf("%s of %s is being saved", w.state, w.ID)
		}
	}
	return ""
}

// precedence orders candidates: survivors, then by what they hold.
func (m *Machine) precedence(a, b *worker) int {
	group := func(w *worker) int {
		switch {
		case m.survivor(w):
			return 0
		case w.holds:
			return 1
		}
		return 2
	}
	if c := cmp.Compare(group(a), group(b)); c != 0 || group(a) != 1 {
		return c
	}
	return b.state.Compare(a.state)
}

// commit notes a step that a member has applied, if it is the last to.
func (m *Machine) commit(g *generation, step ergoflow.Step) {
	for _, id := range g.members {
		if v := m.byID(id); v.state.Generation != g.number || v.state.Step < step {
			return
		}
	}
	m.run.committed = ergoflow.Mark{Generation: g.number, Step: step}
}

// inLine reports whether a state is known to be one that the last generation that
// went began with or made.
func (m *Machine) inLine(state ergoflow.Mark) bool {
	h := m.ledger.Holders
	return h == nil || state == h.Base || state.Generation >= h.Generation
}

// possible reports whether there can be such a state.
func (m *Machine) possible(state ergoflow.Mark) bool {
	return state.Step >= 0 && state.Step <= m.ledger.Plan.Steps && state.Generation <= m.ledger.Generation
}

// Committed names the last step known to be applied by every member of the
// generation that made it; zero: none since the start. Only the loss of all of
// them takes it back.
func (m *Machine) Committed() ergoflow.Mark { return m.run.committed }
