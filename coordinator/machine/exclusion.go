package machine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// Some workers make every generation fail: no other worker reaches their data port, or
// their device fails at every step. After several generations without a step the
// machine excludes the worker that is the likely cause, for a while, and then tries it
// again: the others can finish the run. It never excludes workers without which no
// generation could form.

// exclusion of a worker from generations. It outlives the worker's session: a new
// session does not repair the worker.
type exclusion struct {
	until  time.Time
	times  int // that the worker was excluded, this one included
	reason string
}

const (
	firstExclusion = time.Minute // doubling each time
	maxExclusion   = 16 * time.Minute
	// Generations in a row without a step before the machine excludes members that
	// were not in the last generation that made one, and before it excludes any
	// member that others complain about.
	excludeNewcomersAfter, excludeSuspectAfter = 2, 4
)

func (m *Machine) isExcluded(w *worker) bool { return m.now.Before(m.run.exclusions[w.ID].until) }

// withoutExcluded drops the excluded candidates, unless no candidate would be left, or none
// that has the state.
func (m *Machine) withoutExcluded(candidates []*worker) []*worker {
	rest := slices.DeleteFunc(slices.Clone(candidates), m.isExcluded)
	keepers := m.keepers(candidates)
	kept := func(w *worker) bool { return slices.Contains(rest, w) }
	if len(rest) == 0 || len(keepers) > 0 && !slices.ContainsFunc(keepers, kept) {
		return candidates
	}
	return rest
}

// complaints maps each worker to those that complain about it.
type complaints map[ergoflow.WorkerID]map[ergoflow.WorkerID]bool

// noteComplaint counts a complaint about a peer, or, if it names none, about the
// worker's own device. A complaint about the generation before the present one counts too.
func (m *Machine) noteComplaint(by ergoflow.WorkerID, e message.Complaint) {
	about := cmp.Or(e.Peer, by)
	if !m.training() || e.Generation < m.earlier || m.byID(about) == nil {
		return
	}
	if m.run.complaints == nil {
		m.run.complaints = make(complaints)
	}
	if m.run.complaints[about] == nil {
		m.run.complaints[about] = make(map[ergoflow.WorkerID]bool)
	}
	m.run.complaints[about][by] = true
}

// suspects are the members that may keep generations from making a step. After
// excludeNewcomersAfter attempts it returns the newcomers with the most complaints, or all
// newcomers if there are no complaints. After excludeSuspectAfter it returns the member
// with the most complaints, among equals the one of the highest rank.
func (m *Machine) suspects(members []ergoflow.WorkerID) []ergoflow.WorkerID {
	newcomers := m.newcomers(members)
	switch {
	case m.run.failedAttempts >= excludeNewcomersAfter && 0 < len(newcomers) && len(newcomers) < len(members):
		if worst := m.mostComplaints(newcomers); len(worst) > 0 {
			return worst
		}
		return newcomers
	case m.run.failedAttempts >= excludeSuspectAfter && len(members) > 1:
		worst := m.mostComplaints(members)
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

// mostComplaints are those about which the largest number of workers complain; nil:
// there are no complaints.
func (m *Machine) mostComplaints(ids []ergoflow.WorkerID) (worst []ergoflow.WorkerID) {
	most := 1
	for _, id := range ids {
		n := len(m.run.complaints[id])
		if n > most {
			worst, most = nil, n
		}
		if n == most {
			worst = append(worst, id)
		}
	}
	return worst
}

// exclude excludes workers from the next generations.
func (m *Machine) exclude(ids []ergoflow.WorkerID, why string) {
	for _, id := range ids {
		w := m.byID(id)
		if w == nil || w.phase != prepared {
			continue
		}
		a := m.run.exclusions[id]
		d := min(firstExclusion<<min(a.times, 10), maxExclusion)
		a = exclusion{m.now.Add(d), a.times + 1, fmt.Sprintf("excluded for %v: %s", d, why)}
		if m.run.exclusions == nil {
			m.run.exclusions = make(map[ergoflow.WorkerID]exclusion)
		}
		maps.DeleteFunc(m.run.exclusions, func(_ ergoflow.WorkerID, old exclusion) bool { return m.now.Sub(old.until) > maxExclusion })
		m.run.exclusions[id] = a
		m.emit(Warn{Text: fmt.Sprintf("worker %s is %s", id, a.reason)})
		m.because(fmt.Sprintf("worker %s is %s", id, a.reason))
	}
}
