package machine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
)

// Generations that break without a step are formed again, at last without who seems
// to be the cause: a worker whose data port nobody reaches, or whose device errs at
// every step, must not end a run that the others could finish. It is set aside for a
// while, then tried again, and never where nobody else could go on.

// aside is how long a worker is left out of generations, and why. It outlives the
// worker's session: who comes back is no better for it.
type aside struct {
	until  time.Time
	times  int
	reason string
}

const (
	firstAside = time.Minute // doubling each time
	maxAside   = 16 * time.Minute
	// Of generations in a row without a step: after so many whoever was not in the
	// last one that made a step is left out, and after so many whoever is blamed.
	newcomersAfter, blamedAfter = 2, 4
)

func (m *Machine) isAside(w *worker) bool { return m.now.Before(m.run.asides[w.ID].until) }

// withoutAside leaves out who is set aside, unless it takes them all, or the last
// survivor, to go on.
func (m *Machine) withoutAside(candidates []*worker) []*worker {
	rest := slices.DeleteFunc(slices.Clone(candidates), m.isAside)
	if len(rest) == 0 || slices.ContainsFunc(candidates, m.survivor) && !slices.ContainsFunc(rest, m.survivor) {
		return candidates
	}
	return rest
}

// blames are who complains of whom.
type blames map[ergoflow.WorkerID]map[ergoflow.WorkerID]bool

// blame notes a complaint: of a peer, or of the worker's own device where it names
// none. Those of a generation that another complaint has ended count too.
func (m *Machine) blame(by ergoflow.WorkerID, e Complaint) {
	of := e.Peer
	if of == "" {
		of = by
	}
	if !m.training() || e.Generation+1 < m.ledger.Generation || m.byID(of) == nil {
		return
	}
	if m.run.blames == nil {
		m.run.blames = make(blames)
	}
	if m.run.blames[of] == nil {
		m.run.blames[of] = make(map[ergoflow.WorkerID]bool)
	}
	m.run.blames[of][by] = true
}

// suspects are the members that may be why generations make no step: those who came
// since the last that did, and later any; of them whom most complain of. Of equals
// it is all newcomers, or the last in rank.
func (m *Machine) suspects(members []ergoflow.WorkerID) []ergoflow.WorkerID {
	newcomers := m.newcomers(members)
	switch {
	case m.run.failures >= newcomersAfter && 0 < len(newcomers) && len(newcomers) < len(members):
		if worst := m.mostBlamed(newcomers); len(worst) > 0 {
			return worst
		}
		return newcomers
	case m.run.failures >= blamedAfter && len(members) > 1:
		worst := m.mostBlamed(members)
		return worst[max(0, len(worst)-1):]
	}
	return nil
}

// newcomers were not members of the last generation that made a step.
func (m *Machine) newcomers(ids []ergoflow.WorkerID) []ergoflow.WorkerID {
	return slices.DeleteFunc(slices.Clone(ids), func(id ergoflow.WorkerID) bool {
		_, ok := m.run.proven[id]
		return ok
	})
}

// mostBlamed are those whom the largest number complain of, if anybody does.
func (m *Machine) mostBlamed(ids []ergoflow.WorkerID) (worst []ergoflow.WorkerID) {
	most := 1
	for _, id := range ids {
		n := len(m.run.blames[id])
		if n > most {
			worst, most = nil, n
		}
		if n == most {
			worst = append(worst, id)
		}
	}
	return worst
}

// setAside leaves workers out of the next generations.
func (m *Machine) setAside(ids []ergoflow.WorkerID, why string) {
	for _, id := range ids {
		w := m.byID(id)
		if w == nil || w.phase != prepared {
			continue
		}
		a := m.run.asides[id]
		d := min(firstAside<<min(a.times, 10), maxAside)
		a = aside{m.now.Add(d), a.times + 1, fmt.Sprintf("set aside for %v: %s", d, why)}
		if m.run.asides == nil {
			m.run.asides = make(map[ergoflow.WorkerID]aside)
		}
		maps.DeleteFunc(m.run.asides, func(_ ergoflow.WorkerID, old aside) bool { return m.now.Sub(old.until) > maxAside })
		m.run.asides[id] = a
		m.emit(Warn{fmt.Sprintf("worker %s is %s", id, a.reason)})
		m.because(fmt.Sprintf("worker %s is %s", id, a.reason))
	}
}
