package machine

import (
	"fmt"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
)

// Generations that break without a step are formed again, at last without who seems
// to be the cause: a worker whose data port nobody reaches, or whose device errs at
// every step, must not end a run that the others could finish. It is set aside for a
// while, then tried again, and never where nobody else could go on.

// aside is how long a worker is left out of generations.
type aside struct {
	until time.Time
	times int
}

const (
	firstAside = time.Minute // doubling each time
	maxAside   = 16 * time.Minute
	// Of generations in a row without a step: after so many whoever was not in the
	// last one that made a step is left out, and after so many whoever is blamed.
	newcomersAfter, blamedAfter = 2, 4
)

func (m *Machine) isAside(w *worker) bool { return m.now.Before(w.aside.until) }

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
	newcomers := slices.DeleteFunc(slices.Clone(members), func(id ergoflow.WorkerID) bool {
		_, ok := m.run.proven[id]
		return ok
	})
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
func (m *Machine) setAside(ids []ergoflow.WorkerID) {
	for _, id := range ids {
		w := m.byID(id)
		if w == nil || w.phase != prepared {
			continue
		}
		d := min(firstAside<<min(w.aside.times, 10), maxAside)
		w.aside = aside{m.now.Add(d), w.aside.times + 1}
		w.reason = fmt.Sprintf("set aside for %v: generations with it make no step", d)
		m.emit(Warn{fmt.Sprintf("worker %s is %s", id, w.reason)})
		m.because(fmt.Sprintf("worker %s is %s", id, w.reason))
	}
}
