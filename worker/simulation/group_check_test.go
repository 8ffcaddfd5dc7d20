package simulation

import "slices"

// elected checks a coordinator that begins to lead.
func (w *world) elected(m *consensus) {
	w.happened["a coordinator is elected"]++
	if other := w.leaders[m.term]; other != nil {
		w.fail("rule 18: %s and %s lead in term %d", other.id, m.c.id, m.term)
	}
	w.leaders[m.term] = m.c
	for i, e := range w.agreed {
		// A leader of a term that is over may lack what was committed since.
		if w.agreedIn[i] < m.term && (i >= len(m.log) || !m.log[i].is(e)) {
			w.fail("rule 18: %s leads in term %d without entry %d of term %d, which is committed", m.c.id, m.term, i+1, e.term)
			return
		}
	}
}

// is reports whether two entries at one place of a log are one: their leader made one there.
func (e entry) is(other entry) bool { return e.term == other.term && e.by == other.by }

// agree checks an entry that a coordinator takes as committed.
func (w *world) agree(m *consensus, i int) {
	e := m.log[i]
	switch {
	case i < len(w.agreed):
		if !e.is(w.agreed[i]) {
			w.fail("rule 18: entry %d is of term %d for %s, and of term %d for others", i+1, e.term, m.c.id, w.agreed[i].term)
		}
		return
	case i > len(w.agreed):
		w.fail("rule 18: %s takes entry %d as committed before entry %d", m.c.id, i+1, len(w.agreed)+1)
		return
	}
	w.agreed, w.agreedIn = append(w.agreed, e), append(w.agreedIn, m.term)
	if e.ledger != nil {
		w.durable(*e.ledger)
	}
}

// promises notes a checkpoint that a leader calls saved.
func (c *coordinator) promises(n *node) {
	if !slices.Contains(n.run.checkpoints, n) {
		n.run.checkpoints = append(n.run.checkpoints, n)
		n.saved = c.term()
	}
	for _, later := range c.w.coordinators {
		if later.up && later.term() > c.term() && later.scanned[n.run] {
			later.lacks(n)
		}
	}
}

// scans checks a coordinator that tells the machine which checkpoints it has.
func (c *coordinator) scans(r *run) {
	if c.consensus == nil {
		return
	}
	c.scanned[r] = true
	for _, n := range r.checkpoints {
		if n.saved <= c.term() { // otherwise this leader was deposed before, and is unaware
			c.lacks(n)
		}
	}
}

// lacks fails where a leader has not found a checkpoint that was called saved.
func (c *coordinator) lacks(n *node) {
	if slices.Contains(c.stored[n.run], n) {
		return
	}
	c.w.fail("rule 19: %s leads in term %d without the checkpoint %s, which was called saved", c.id, c.term(), n.mark)
}
