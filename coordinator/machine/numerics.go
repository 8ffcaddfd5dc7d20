package machine

import (
	"cmp"
	"fmt"
	"slices"
)

// Workers whose Numerics differ compute other bits from the same plan, so no generation has both.
// While workers are upgraded one by one, those that have the run's state go on, and the others
// wait without an order. When the last of the first has left, and its state is stored, the others
// take over.

// chooseNumerics decides by which Numerics the run goes on. The others' workers get their orders
// when that changes.
func (m *Machine) chooseNumerics() {
	working := func(w *worker) bool { return w.phase != failed && w.Release.Numerics == m.numerics }
	switch {
	case len(m.workers) == 0, slices.ContainsFunc(m.workers, working):
		return
	case m.numerics != 0 && m.ledger.Holders != nil && m.run.holdersAbsentFor < m.config.Absence:
		return // a holder may come back
	}
	i := max(0, slices.IndexFunc(m.workers, func(w *worker) bool { return w.phase != failed }))
	before := m.numerics
	m.numerics = m.workers[i].Release.Numerics
	if before == 0 || before == m.numerics {
		return
	}
	m.because(fmt.Sprintf("no worker with numerics %d is left: those with %d work from now on", before, m.numerics))
	for _, w := range m.workers {
		if w.phase == connected && !m.waits(w) {
			m.instruct(w)
		}
	}
}

// waits reports whether a worker has no part in the run because of its Numerics.
func (m *Machine) waits(w *worker) bool { return w.Release.Numerics != m.numerics }

// whyWaits is for people.
func (m *Machine) whyWaits(w *worker) string {
	return fmt.Sprintf("waits: it computes by numerics %d, and the run goes on by %d until the workers with that have left",
		w.Release.Numerics, m.numerics)
}

// noteNumerics enters into the ledger by which Numerics the next generation computes, and warns
// where the run's earlier steps were computed by others.
func (m *Machine) noteNumerics() {
	before := cmp.Or(m.ledger.Numerics, m.numerics)
	if m.ledger.Numerics = m.numerics; before != m.numerics {
		m.emit(Warn{Text: fmt.Sprintf("run %s goes on by numerics %d after %d: its parameters will not have the bits of a run that was trained by one of them",
			m.ledger.Plan.Run, m.numerics, before)})
	}
}
