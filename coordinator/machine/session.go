package machine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/internal/hostport"
)

// Bounds of a worker's description, and of the number of workers.
const (
	maxID      = 128
	maxAddress = 256
	maxWorkers = ergoflow.MaxWorkers
	// maxPrepared bounds the workers that prepare or are prepared, so that there is one in reserve
	// for each member of the largest generation.
	maxPrepared = 2 * ergoflow.MaxWorld
)

func (m *Machine) opened(e Opened) {
	hello, p := e.Hello, e.process()
	m.displace(e)
	if refusal := cmp.Or(m.refusal(p, hello.Newest, e.Others), e.Refusal); refusal != "" {
		m.emit(Send{e.Session, p.ID, message.Refuse{Reason: refusal}})
		m.emit(Close{e.Session, p.ID, "refused: " + refusal})
		m.refuse(p.ID, refusal)
		return
	}
	w := &worker{process: p, host: e.Host, session: e.Session, heard: m.now, pinged: m.now}
	if hello.HasState && m.concerns(hello.Run) {
		if m.isPossible(hello.State) {
			w.hasState, w.state = true, hello.State
		} else {
			m.refuse(w.ID, fmt.Sprintf("it brings %s, but the run has %d steps and %d generations: the coordinator ignores its state",
				hello.State, m.ledger.Plan.Steps, m.ledger.Generation))
		}
	}
	m.add(w)
	protocol, _ := m.agree(p) // otherwise it is refused
	m.send(w, message.Welcome{PingInterval: m.config.PingInterval, Patience: m.patience(m.turns()), Lease: m.config.Lease, Protocol: protocol})
	m.because(fmt.Sprintf("worker %s connected (%s)", w.ID, w.Device))
	if m.chooseNumerics(); w.phase == connected {
		m.instruct(w)
	}
}

func (e Opened) process() process {
	return process{Worker: e.Hello.Worker, elsewhere: e.Elsewhere, loopback: e.Loopback, identity: e.Identity}
}

// displace ends the sessions in whose place a process opens one.
func (m *Machine) displace(e Opened) {
	p := e.process()
	// A worker may notice a broken stream before the coordinator does.
	if v := m.byID(p.ID); v != nil && v.process == p {
		m.expel(v, "the same process opens a new session")
	}
	// It was started again while its host was cut off, so its stream did not break. Its
	// id is another one then. Another host that claims the address has to wait until the
	// coordinator gives the silent worker up.
	if v := m.addresses[p.DataAddress]; v != nil && v.host == e.Host && m.silentFor(v) > 2*m.config.PingInterval {
		m.expel(v, "silent, and another process took its address")
	}
}

// refusal is why a process may not open a session; empty: it may. Newest is the last
// generation that it was in, and others is the number of workers of other runs.
func (m *Machine) refusal(w process, newest ergoflow.Generation, others int) string {
	_, disagreement := m.agree(w)
	switch {
	case m.stopping:
		return "the coordinator ends"
	case w.ID == "" || len(w.ID) > maxID:
		return fmt.Sprintf("the id has %d bytes, not 1 to %d", len(w.ID), maxID)
	case disagreement != nil:
		return disagreement.Error()
	case len(m.workers)+others >= maxWorkers:
		return fmt.Sprintf("there are %d workers already", len(m.workers)+others)
	case w.DataAddress == "" || len(w.DataAddress) > maxAddress:
		return fmt.Sprintf("the data address has %d bytes, not 1 to %d", len(w.DataAddress), maxAddress)
	case hostport.Check(w.DataAddress) != nil:
		return fmt.Sprintf("the data address %q is not HOST:PORT", w.DataAddress)
	case newest > max(m.ledger.Generation, m.taken):
		return fmt.Sprintf("the worker was in generation %d, and this coordinator's last is %d: it is another coordinator, or has lost its ledger; start the worker again", newest, max(m.ledger.Generation, m.taken))
	}
	return m.conflict(w)
}

// agree is the newest protocol that a process and the coordinator speak.
func (m *Machine) agree(w process) (uint32, error) {
	return w.Release.Agree("the worker", m.config.Release, "the coordinator")
}

// Conflict is why a process may not open a session with the machine of another run: a worker
// of this one has its id or its address, or cannot reach it. Empty: it may.
func (m *Machine) Conflict(e Opened) string { return m.conflict(e.process()) }

func (m *Machine) conflict(w process) string {
	switch {
	case w.loopback && m.elsewhere(w):
		return fmt.Sprintf("workers on other hosts cannot reach %s, where this one receives gradients: start it with --listen and an address that they reach", w.DataAddress)
	case m.byID(w.ID) != nil:
		return fmt.Sprintf("a worker %s is connected already", w.ID)
	}
	if v := m.addresses[w.DataAddress]; v != nil {
		return fmt.Sprintf("worker %s has the data address %s already: start this one with another --listen", v.ID, w.DataAddress)
	}
	if !w.elsewhere {
		return ""
	}
	if i := slices.IndexFunc(m.workers, func(v *worker) bool { return v.loopback }); i >= 0 {
		return fmt.Sprintf("it cannot reach worker %s, which receives gradients at %s: start that one again with --listen and an address that other hosts reach",
			m.workers[i].ID, m.workers[i].DataAddress)
	}
	return ""
}

// elsewhere reports whether a new worker, or any connected one, is on another host than
// the coordinator.
func (m *Machine) elsewhere(w process) bool {
	return w.elsewhere || slices.ContainsFunc(m.workers, func(v *worker) bool { return v.elsewhere })
}

// heartbeat notes what a worker does, and the state that it has come to by following a
// member: if all members are lost, that may be the newest state.
func (m *Machine) heartbeat(w *worker, e message.Heartbeat) {
	w.doing, w.beat = e.Doing, max(w.beat, e.Number)
	if !m.concerns(e.Run) || m.current != nil && m.current.has(w.ID) || w.hasState && e.State.Compare(w.state) <= 0 {
		return
	}
	if !m.isPossible(e.State) {
		m.refuse(w.ID, fmt.Sprintf("it follows %s, but the run has %d steps and %d generations: the coordinator ignores its state",
			e.State, m.ledger.Plan.Steps, m.ledger.Generation))
		return
	}
	w.hasState, w.state = true, e.State
}

// alive takes parts of a worker's checkpoint as a sign of life. While they come, the
// coordinator waits for a worker that leaves with the only copy of the state.
func (m *Machine) alive(e Alive) {
	w := m.byID(e.Worker)
	if w == nil || w.Secret != e.Secret {
		return
	}
	m.hear(w.session)
	if w.saving {
		w.leaveBy = m.now.Add(m.config.DrainTimeout)
	}
}

func (m *Machine) closed(e Closed) {
	if w := m.worker(e.Session); w != nil {
		m.emit(Lost{w.session, w.ID, e.Reason})
		m.lose(w, e.Reason)
	}
}

// expel ends a worker's session from this side.
func (m *Machine) expel(w *worker, reason string) {
	m.emit(Lost{w.session, w.ID, reason})
	m.emit(Close{w.session, w.ID, reason})
	m.lose(w, reason)
}

// lose removes a worker whose session ended, and ends the generation it is in.
func (m *Machine) lose(w *worker, reason string) {
	m.remove(w)
	text := fmt.Sprintf("lost worker %s: %s", w.ID, reason)
	m.because(text)
	m.endIfMember(w, EndLost, text)
}

// tick pings the workers, and ends every wait that has timed out. A gap between ticks means
// that the coordinator itself was stopped. That time does not count: messages that came
// meanwhile are still in the queue.
func (m *Machine) tick() {
	passed, gap := m.now.Sub(m.lastTick), time.Duration(0)
	if !m.lastTick.IsZero() && passed > m.config.PingTimeout/2 {
		passed, gap = 0, passed
	}
	m.run.holdersAbsentFor += passed
	m.lastTick = m.now
	turns := m.turns()
	for _, w := range m.snapshot() {
		w.heard = earlier(w.heard.Add(gap), m.now) // a message may have come since
		if !w.asked.IsZero() {
			w.asked = earlier(w.asked.Add(gap), m.now)
		}
		if m.current != nil && m.current.has(w.ID) {
			m.ping(w, 1)
		} else {
			m.ping(w, turns)
		}
	}
	switch g := m.current; {
	case g == nil:
	case g.phase == running:
		m.noteStall(g, passed)
	default:
		g.waited += passed
		if g.waited > g.patience {
			m.expelLate()
		}
	}
	m.fillPlaces()
	m.checkLinks()
	m.rescan()
	if !m.now.Before(m.gatherUntil) {
		m.gatherUntil = time.Time{}
	}
}

// ping pings a worker if that is due, and ends its session if it has been silent for too long. It
// has one in so many turns.
func (m *Machine) ping(w *worker, turns int) {
	if m.silentFor(w) > time.Duration(turns)*m.pingTimeout() {
		if g := m.current; g != nil && g.has(w.ID) && !g.stepped {
			m.run.silentBefore++
		}
		m.expel(w, fmt.Sprintf("silent for %v", m.now.Sub(w.heard).Round(10*time.Millisecond)))
		return
	}
	if m.now.Sub(w.pinged) < time.Duration(turns)*m.config.PingInterval {
		return
	}
	w.pinged = m.now
	if w.asked.IsZero() {
		w.asked = m.now
	}
	m.send(w, message.Ping{Heard: w.beat, Patience: m.patience(turns)})
}

// mostDoublings bounds the limit of silence: 12 s by default.
const mostDoublings = 3

// pingTimeout is the limit of a member's silence. It doubles with each generation in a row that
// silence has ended before a step: to form one makes work, and a cluster whose processors cannot do
// that work within the limit would form generations, and do nothing else.
func (m *Machine) pingTimeout() time.Duration {
	return m.config.PingTimeout << min(m.run.silentBefore, mostDoublings)
}

// turns is how many intervals pass between pings of a worker that is in no generation. Nobody waits
// for such a worker, and a cluster may have thousands: their heartbeats would keep the processors
// from the messages of those that train.
func (m *Machine) turns() int {
	n := len(m.workers)
	if g := m.current; g != nil {
		n -= len(g.members)
	}
	return max(1, (n+m.config.PingedAtOnce-1)/m.config.PingedAtOnce)
}

// patience is how long a worker that has one in so many turns waits for the coordinator.
func (m *Machine) patience(turns int) time.Duration {
	return m.config.Patience + time.Duration(turns-1)*m.config.PingInterval
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// snapshot lets workers be removed while they are visited.
func (m *Machine) snapshot() []*worker { return append([]*worker(nil), m.workers...) }

// drain marks a worker as leaving; release dismisses it.
func (m *Machine) drain(w *worker, why string) {
	if w.transferred { // no longer: it leaves for good
		w.transferred, w.leaveReason = false, why
		return
	}
	if w.draining {
		return
	}
	m.leave(w, why)
	if !m.stopping {
		m.because(fmt.Sprintf("worker %s asks to leave", w.ID))
	}
}

// drainFor drains a worker for somebody else than itself.
func (m *Machine) drainFor(e Drain) {
	w := m.byID(e.Worker)
	if w == nil {
		m.emit(Answer{fmt.Sprintf("there is no worker %.128s", e.Worker)})
		return
	}
	m.emit(Answer{})
	switch {
	case w.transferred: // no longer: it leaves for good
		w.transferred, w.leaveReason = false, "drained by "+e.By
	case w.draining:
		return
	default:
		m.leave(w, "drained by "+e.By)
	}
	m.because(fmt.Sprintf("%s drains worker %s", e.By, w.ID))
}

func (m *Machine) leave(w *worker, why string) {
	m.leaving++
	w.draining, w.leaveReason = true, why
	w.leaveBy = m.now.Add(m.config.DrainTimeout)
}

// transfer has workers leave for other runs. Their state stays behind.
func (m *Machine) transfer(e Transfer) {
	for _, t := range e.Workers {
		if w := m.worker(t.Session); w != nil && !w.draining {
			w.transferred = true
			m.leave(w, t.Reason)
			m.because(fmt.Sprintf("worker %s is to leave: %s", w.ID, t.Reason))
		}
	}
}

// release dismisses draining workers: at once where they are not needed, otherwise when
// the generation without them runs, or the state that only they have is saved, and in
// any case after the drain time-out.
func (m *Machine) release() {
	if m.leaving == 0 {
		return
	}
	for _, w := range m.snapshot() {
		if !w.draining {
			continue
		}
		if m.now.After(w.leaveBy) {
			why := w.leaveReason
			if w.saving {
				why += ", without a checkpoint: none arrived in time"
			}
			m.dismiss(w, why)
			continue
		}
		switch {
		case w.saving:
		case m.ledger.Plan != nil && !m.ledger.Finished && m.lastHolder(w): // of a failed run too
			w.saving, w.saveFrom = true, w.state
			m.send(w, message.Save{Generation: m.ledger.Generation})
			m.because(fmt.Sprintf("the coordinator asks worker %s for a checkpoint: no worker that stays has the state", w.ID))
		case m.current != nil && m.current.has(w.ID):
			if !m.saving() { // otherwise the saving worker needs the ring to finish its step
				m.end(EndLeft, fmt.Sprintf("worker %s leaves", w.ID))
			}
		case m.current != nil && m.current.phase != running:
		default:
			m.dismiss(w, w.leaveReason)
		}
	}
}

func (m *Machine) dismiss(w *worker, why string) {
	if w.transferred {
		m.send(w, message.Transfer{Reason: why})
	} else {
		m.send(w, message.Leave{Reason: why})
	}
	m.emit(Close{w.session, w.ID, why})
	m.remove(w)
	text := fmt.Sprintf("worker %s left (%s)", w.ID, why)
	m.because(text)
	m.endIfMember(w, EndLeft, text)
}

// lastHolder reports whether w's state is newer than the latest checkpoint and would be
// lost with w: no other worker that has it stays or saves it.
func (m *Machine) lastHolder(w *worker) bool {
	if !w.hasState || m.run.hasCheckpoint && m.run.checkpoint.Compare(w.state) >= 0 {
		return false
	}
	for _, v := range m.workers {
		if v != w && v.hasState && (v.saving || !v.draining) && (m.isHolder(v) || v.state.Compare(w.state) >= 0) {
			return false
		}
	}
	return true
}

// saving reports whether the coordinator awaits a checkpoint from a worker that leaves.
func (m *Machine) saving() bool {
	return m.leaving > 0 && slices.ContainsFunc(m.workers, func(w *worker) bool { return w.saving })
}

// workerPrepared makes a worker a candidate.
func (m *Machine) workerPrepared(w *worker, e message.Prepared) {
	if !m.training() || e.Run != m.ledger.Plan.Run || w.phase != preparing || e.Number != w.order {
		return
	}
	m.enter(w, prepared)
	m.because(fmt.Sprintf("worker %s is prepared", w.ID))
	if m.run.settleBy.IsZero() {
		m.run.settleBy = m.now.Add(m.config.Settle)
	}
}

// workerFailed drops a worker from the run for good.
func (m *Machine) workerFailed(w *worker, e message.Failed) {
	if m.ledger.Plan == nil || e.Run != m.ledger.Plan.Run || m.finished() || w.phase == failed {
		return
	}
	m.enter(w, failed)
	w.reason = e.Reason
	text := fmt.Sprintf("worker %s cannot continue the run: %s", w.ID, e.Reason)
	m.emit(Warn{Text: text})
	m.because(text)
	if slices.ContainsFunc(m.workers, func(v *worker) bool { return v.phase != failed }) {
		m.endIfMember(w, EndFailed, text)
		return
	}
	m.fail(fmt.Sprintf("no worker can continue the run: worker %s: %s", w.ID, e.Reason))
}

// instruct tells a worker what to do for the run.
func (m *Machine) instruct(w *worker) {
	if w.phase == failed || w.draining || m.waits(w) || m.ledger.Plan == nil || m.finished() {
		return
	}
	if w.phase == connected && !w.hasState && !m.hasPlace() {
		return
	}
	switch m.run.activity {
	case activityGenerating:
		m.enter(w, generating)
		m.send(w, message.Generate{Plan: *m.ledger.Plan})
	case activityTraining:
		m.orders++
		m.enter(w, preparing)
		w.order = m.orders
		m.send(w, message.Prepare{Number: w.order, Plan: *m.ledger.Plan, Follow: m.followed(w)})
	}
}

// enter changes a worker's phase.
func (m *Machine) enter(w *worker, p phase) {
	m.phases[w.phase]--
	m.phases[p]++
	w.phase = p
}

// hasPlace reports whether one more worker may make shards, or prepare. Where there are thousands
// not all of them do: further ones would only burden the job queue, and wait.
func (m *Machine) hasPlace() bool {
	if m.run.activity == activityGenerating {
		return m.phases[generating] < ergoflow.MaxWorld
	}
	return m.phases[preparing]+m.phases[prepared] < maxPrepared
}

// fillPlaces gives work to workers without any, in the place of those that are gone.
func (m *Machine) fillPlaces() {
	if m.phases[connected] == 0 || !m.hasPlace() {
		return
	}
	for _, w := range m.workers {
		if w.phase == connected {
			m.instruct(w)
		}
	}
}

// followed is the member that a newcomer follows: the one of the last rank to which its
// link is not cut, since rank 0 writes the checkpoints.
func (m *Machine) followed(w *worker) message.Member {
	g := m.current
	if g == nil || g.phase != running {
		return message.Member{}
	}
	for _, id := range slices.Backward(g.members) {
		if l := m.link(w.ID, id); l == nil || !l.isCut() {
			return m.byID(id).member()
		}
	}
	return message.Member{}
}
