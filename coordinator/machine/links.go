package machine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// A link between two workers can carry nothing while both reach the coordinator: a route
// is lost, or a firewall drops what one sends the other. The member that hears nothing
// complains, and names whom it does not hear. No generation has both ends of a cut link:
// the machine leaves out the worker whose loss costs least, and takes it back when a check
// of the link succeeds. A link that is cut again and again stays out of use for longer each
// time, since every cut stops training for two seconds.
//
// Other complaints about a member may have the same cause: a firewall that refuses
// connections breaks streams. So the machine checks the link between the two, and calls it
// cut if that fails.

// cutLink is a link that is cut, or was, or may be.
type cutLink struct {
	ends     [2]ergoflow.WorkerID // ascending
	state    linkState
	times    int                 // that it was cut; after forgetAfter they are forgotten
	noticed  time.Time           // by the clock, for the status
	least    time.Time           // the link is out of use at least until then
	mended   time.Time           // where it is
	checking bool                // an answer to CheckLink is awaited
	checked  time.Time           // when the last CheckLink was sent
	blamed   ergoflow.Generation // of the complaint, where it is suspect
}

type linkState int

const (
	linkMended  linkState = iota // or was never cut
	linkSuspect                  // one end complains about the other, and not about silence
	linkCut
)

const (
	firstOutage   = time.Second // least time out of use, doubling each time
	maxOutage     = 30 * time.Second
	forgetAfter   = 10 * time.Minute // without another cut
	checkInterval = time.Second
	checkPatience = 5 * time.Second // with a worker's answer
)

func (l *cutLink) isCut() bool { return l.state == linkCut }

func (l *cutLink) has(id ergoflow.WorkerID) bool { return l.ends[0] == id || l.ends[1] == id }

// other is the end that is not id.
func (l *cutLink) other(id ergoflow.WorkerID) ergoflow.WorkerID {
	if l.ends[0] == id {
		return l.ends[1]
	}
	return l.ends[0]
}

func (l *cutLink) String() string {
	return fmt.Sprintf("the link between %s and %s", l.ends[0], l.ends[1])
}

func (m *Machine) link(a, b ergoflow.WorkerID) *cutLink {
	i := slices.IndexFunc(m.links, func(l *cutLink) bool { return a != b && l.has(a) && l.has(b) })
	if i < 0 {
		return nil
	}
	return m.links[i]
}

// noteSilence cuts the links to the members that a member of the present generation, or of
// the one before, does not hear. It returns those whose links were not cut yet. A member
// also tells what it did not hear in a generation that another's complaint has ended,
// before it reports to the next.
func (m *Machine) noteSilence(w *worker, e message.Complaint) (silent []string) {
	g := m.generationOf(w, e.Generation)
	if g == nil || !m.training() {
		return nil
	}
	for _, id := range e.Silent {
		if id != w.ID && g.has(id) && m.byID(id) != nil && m.cut(w.ID, id) {
			silent = append(silent, string(id))
		}
	}
	return silent
}

// generationOf returns the present generation, or the one before, if it has the number and
// the worker is a member.
func (m *Machine) generationOf(w *worker, number ergoflow.Generation) *generation {
	for _, g := range []*generation{m.current, m.previous} {
		if g != nil && g.number == number && g.has(w.ID) {
			return g
		}
	}
	return nil
}

// knownLink returns the link between two workers, and adds it where it is unknown.
func (m *Machine) knownLink(a, b ergoflow.WorkerID) *cutLink {
	l := m.link(a, b)
	if l == nil {
		l = &cutLink{ends: [2]ergoflow.WorkerID{min(a, b), max(a, b)}}
		m.links = append(m.links, l)
	}
	return l
}

// cut reports whether the link was not cut before.
func (m *Machine) cut(a, b ergoflow.WorkerID) bool {
	l := m.knownLink(a, b)
	if l.isCut() {
		return false
	}
	if m.now.Sub(l.mended) > forgetAfter {
		l.times = 0
	}
	outage := min(firstOutage<<min(l.times, 10), maxOutage)
	l.state, l.times, l.noticed, l.checking = linkCut, l.times+1, m.clock, false
	l.least, l.checked = m.now.Add(outage), m.now
	m.emit(Warn{Text: fmt.Sprintf("%s is cut: they are not in one generation before it is mended", l)})
	return true
}

// suspect has a worker that complains about another check the link between them.
func (m *Machine) suspect(w *worker, e message.Complaint) {
	v := m.byID(e.Peer)
	g := m.generationOf(w, e.Generation)
	if v == nil || v == w || g == nil || !g.has(v.ID) || !m.training() {
		return
	}
	if l := m.knownLink(w.ID, v.ID); !l.isCut() {
		l.state, l.blamed = linkSuspect, e.Generation
		m.check(l, w, v)
	}
}

// check has w find out whether its link to v works.
func (m *Machine) check(l *cutLink, w, v *worker) {
	l.checking, l.checked = true, m.now
	m.send(w, message.CheckLink{Peer: v.member()})
}

// checkLinks has one end of every cut link find out whether it is mended: the end that does
// not train, if there is one.
func (m *Machine) checkLinks() {
	for _, l := range m.links {
		wait := checkInterval
		if l.checking {
			wait = checkPatience
		}
		if !l.isCut() || m.now.Sub(l.checked) < wait {
			continue
		}
		w, v := m.byID(l.ends[0]), m.byID(l.ends[1])
		if m.current != nil && m.current.has(w.ID) {
			w, v = v, w
		}
		m.check(l, w, v)
	}
}

func (m *Machine) linkChecked(w *worker, e message.LinkChecked) {
	l := m.link(w.ID, e.Peer)
	if l == nil || !l.checking {
		return
	}
	l.checking = false
	switch {
	case l.state == linkSuspect && e.Failure == "":
		l.state = linkMended
	case l.state == linkSuspect:
		m.cut(l.ends[0], l.ends[1])
		m.avoidCut(l.blamed, fmt.Sprintf("worker %s does not reach %s: %s", w.ID, e.Peer, e.Failure))
	case e.Failure == "" && !m.now.Before(l.least):
		l.state, l.mended = linkMended, m.now
		m.because(fmt.Sprintf("%s works again", l))
	}
}

// avoidCut ends the present generation if it has both ends of a cut link, which a complaint
// about a generation has brought to light. That is no failed attempt, since the next
// generation does not need the link; nor was the generation of the complaint, or one that followed
// it with both ends while the link was being checked.
func (m *Machine) avoidCut(blamed ergoflow.Generation, why string) {
	if g := m.previous; g != nil && g.number >= blamed && slices.ContainsFunc(m.links, g.needs) {
		m.undoAttempt(g)
	}
	if m.current == nil || m.mostCut(m.workersOf(m.current)) == nil {
		m.because(why)
		return
	}
	m.end(EndCut, why)
}

// needs reports whether a link is cut that has both its ends in the generation.
func (g *generation) needs(l *cutLink) bool {
	return l.isCut() && g.has(l.ends[0]) && g.has(l.ends[1])
}

// forgetLinks forgets the links of a worker whose session has ended: the next may be of
// another process.
func (m *Machine) forgetLinks(id ergoflow.WorkerID) {
	m.links = slices.DeleteFunc(m.links, func(l *cutLink) bool { return l.has(id) })
}

// cutOff is a cut link between the worker and a member of the present generation; nil:
// there is none.
func (m *Machine) cutOff(w *worker) *cutLink {
	for _, l := range m.links {
		if l.isCut() && l.has(w.ID) && m.current != nil && m.current.has(l.other(w.ID)) {
			return l
		}
	}
	return nil
}

// withoutCut drops candidates until no link between two of them is cut: the one with the
// most cut links first, among equals the one whose loss costs least. It never drops the
// only one that has the state.
func (m *Machine) withoutCut(candidates []*worker) []*worker {
	for {
		worst := m.mostCut(candidates)
		if worst == nil {
			return candidates
		}
		candidates = slices.DeleteFunc(slices.Clone(candidates), func(w *worker) bool { return w == worst })
	}
}

// mostCut is nil where no link between two candidates is cut.
func (m *Machine) mostCut(candidates []*worker) *worker {
	if !slices.ContainsFunc(m.links, (*cutLink).isCut) {
		return nil
	}
	among := make(map[ergoflow.WorkerID]bool)
	for _, w := range candidates {
		among[w.ID] = true
	}
	cuts := make(map[ergoflow.WorkerID]int)
	for _, l := range m.links {
		if l.isCut() && among[l.ends[0]] && among[l.ends[1]] {
			cuts[l.ends[0]]++
			cuts[l.ends[1]]++
		}
	}
	keepers := m.keepers(candidates)
	var worst *worker
	for _, w := range candidates {
		switch n := cuts[w.ID]; {
		case n == 0, len(keepers) == 1 && keepers[0] == w:
		case worst == nil, n > cuts[worst.ID], n == cuts[worst.ID] && !m.dearer(w, worst):
			worst = w
		}
	}
	return worst
}

// dearer reports whether the loss of a costs more than that of b: a has the state, or made
// the last steps, or computes faster.
func (m *Machine) dearer(a, b *worker) bool {
	is := func(w *worker) [3]bool {
		_, proven := m.run.proven[w.ID]
		return [...]bool{m.isHolder(w), proven, !w.slowness.slow}
	}
	of, other := is(a), is(b)
	for i := range of {
		if of[i] != other[i] {
			return of[i]
		}
	}
	return a.share() > b.share()
}

// leftOut says for each worker that a new generation leaves out because of a cut link why
// it does.
func (m *Machine) leftOut() string {
	var reasons []string
	for _, w := range m.workers {
		if l := m.cutOff(w); l != nil && m.isIdle(w) {
			reasons = append(reasons, fmt.Sprintf("%s is left out, since %s is cut", w.ID, l))
		}
	}
	return strings.Join(reasons, ", ")
}
