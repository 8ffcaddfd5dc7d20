package machine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/placement"
)

// generation is one membership of the training group. It ends with the first of its
// members' sessions that ends.
type generation struct {
	number   ergoflow.Generation
	phase    formation
	members  []ergoflow.WorkerID // by rank
	ranks    map[ergoflow.WorkerID]int
	shards   [][]int // by rank, once assigned
	reports  map[ergoflow.WorkerID]message.Report
	isReady  map[ergoflow.WorkerID]bool
	patience time.Duration // for the reports, then for the readies
	waited   time.Duration // for them; while it runs, since the last step
	base     ergoflow.Mark
	stepped  bool           // has made a step
	steps    [2]stepTimings // of the last two steps

	before *attempts // if its end was a failed attempt: what was known before

	longestStep time.Duration // time between two steps
	stalled     bool          // no step for a long time, and a warning said so
}

type formation int

const (
	reporting formation = iota
	assigned
	running
)

func (g *generation) has(id ergoflow.WorkerID) bool {
	_, ok := g.ranks[id]
	return ok
}

// memberOf returns the present generation if the worker is in it, it has the number,
// and it is in the phase; nil means that the message is stale.
func (m *Machine) memberOf(w *worker, number ergoflow.Generation, phase formation) *generation {
	if !m.hasBegun(w, number) {
		return nil
	}
	if g := m.current; g != nil && g.number == number && g.phase == phase && g.has(w.ID) {
		return g
	}
	return nil
}

// hasBegun refuses numbers of generations that have not begun: no worker was told them.
func (m *Machine) hasBegun(w *worker, number ergoflow.Generation) bool {
	if number <= m.ledger.Generation {
		return true
	}
	m.refuse(w.ID, fmt.Sprintf("it names generation %d, and the last is %d", number, m.ledger.Generation))
	return false
}

// candidates are the workers that may be in the next generation: prepared and not
// leaving. No link between two of them is cut. Holders come first, then other workers with
// a state, so that rank 0 has one.
// There are no more than parts of the data, or than a ring can have.
func (m *Machine) candidates() []*worker {
	var c []*worker
	for _, w := range m.workers {
		if w.phase == prepared && !w.draining && !m.waits(w) {
			c = append(c, w)
		}
	}
	c = m.withoutCut(m.withoutExcluded(c))
	slices.SortStableFunc(c, m.precedence)
	return c[:min(len(c), m.mostMembers())]
}

func (m *Machine) mostMembers() int { return ergoflow.WorkerBounds{}.Useful(*m.ledger.Plan) }

// admit forms a generation where there is none, or one with more members.
func (m *Machine) admit() {
	if !m.training() || m.run.paused || !m.gatherUntil.IsZero() || m.now.Before(m.run.notBefore) {
		return
	}
	if m.saving() {
		return // a generation now would start from an older state than the one being saved
	}
	if g := m.current; g != nil && (g.phase != running || !g.stepped || !m.hasJoiner(g)) {
		return
	}
	candidates := m.candidates()
	if len(candidates) == 0 || m.awaitsHolders(candidates) {
		return
	}
	if m.now.Before(m.run.settleBy) && m.awaitsPreparing(candidates) {
		return
	}
	if m.current != nil {
		joiners := m.joiners(candidates)
		if joiners == "" {
			return
		}
		m.end(EndJoined, joiners)
	}
	m.form(candidates, cmp.Or(m.ended, "training begins"))
}

// awaitsPreparing reports whether a generation of the candidates should wait for workers
// that still prepare. Holders that resume training do not wait for new workers.
func (m *Machine) awaitsPreparing(candidates []*worker) bool {
	resuming := m.current == nil && m.isHolder(candidates[0])
	return slices.ContainsFunc(m.workers, func(w *worker) bool {
		return w.phase == preparing && !w.draining && (w.hasState || !resuming)
	})
}

// joiners names the candidates that join the present generation's members; empty: none.
func (m *Machine) joiners(candidates []*worker) string {
	var names []string
	for _, w := range candidates {
		if !m.current.has(w.ID) {
			names = append(names, string(w.ID))
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0] + " joins"
	}
	return strings.Join(names, ", ") + " join"
}

// isIdle reports whether a worker is prepared and no member of the generation.
func (m *Machine) isIdle(w *worker) bool {
	return w.phase == prepared && !w.draining && !m.waits(w) && !m.isExcluded(w) && !m.current.has(w.ID)
}

// hasJoiner reports whether a worker could join a generation. While it has all members that it can
// have and none of them leaves, no worker is looked at: there may be thousands, and this is
// asked at every message.
func (m *Machine) hasJoiner(g *generation) bool {
	return (len(g.members) < m.mostMembers() || m.leaving > 0) && slices.ContainsFunc(m.workers, m.couldJoin)
}

// couldJoin reports whether a worker is not a member of the generation, and could be one.
func (m *Machine) couldJoin(w *worker) bool {
	return m.isIdle(w) && m.cutOff(w) == nil
}

// form begins a generation. Its number is durable before any worker is told it.
func (m *Machine) form(members []*worker, why string) {
	m.earlier = m.ledger.Generation
	m.noteNumerics()
	m.ledger.Generation = max(m.ledger.Generation, m.taken) + 1
	m.persist()
	m.run.settleBy = time.Time{}
	m.current = &generation{
		number:   m.ledger.Generation,
		ranks:    make(map[ergoflow.WorkerID]int),
		reports:  make(map[ergoflow.WorkerID]message.Report),
		isReady:  make(map[ergoflow.WorkerID]bool),
		patience: m.config.ReportTimeout,
	}
	var names []string
	for rank, w := range members {
		m.current.ranks[w.ID] = rank
		m.current.members = append(m.current.members, w.ID)
		names = append(names, string(w.ID))
		m.send(w, message.Form{Generation: m.current.number, Reason: why})
	}
	m.because(fmt.Sprintf("generation %d forms of %s", m.current.number, strings.Join(names, ", ")))
	if left := m.leftOut(); left != "" {
		m.because(left)
	}
}

func (m *Machine) report(w *worker, e message.Report) {
	g := m.memberOf(w, e.Generation, reporting)
	if g == nil {
		return
	}
	if _, again := g.reports[w.ID]; again {
		m.refuse(w.ID, fmt.Sprintf("it reports to generation %d twice", g.number))
		return
	}
	if e.HasState && !m.isPossible(e.State) {
		m.refuse(w.ID, fmt.Sprintf("it reports %s, but the run has %d steps and %d generations: the coordinator ignores its state",
			e.State, m.ledger.Plan.Steps, m.ledger.Generation))
		e.HasState, e.State, e.Hash = false, ergoflow.Mark{}, ""
	}
	g.reports[w.ID] = e
	w.hasState, w.state = e.HasState, e.State
	if len(g.reports) == len(g.members) {
		m.assign(g)
	}
}

// assign sends each member its rank, its shards and the source of its state.
func (m *Machine) assign(g *generation) {
	m.inRingOrder(g)
	workers := m.workersOf(g)
	members := make([]message.Member, len(workers))
	for rank, w := range workers {
		members[rank] = w.member()
		w.steps = recent[Timing]{} // they take another time with another number of shards
		w.slowness.change = 0
	}
	shards, err := placeShards(*m.ledger.Plan, workers)
	if err != nil {
		m.fail(err.Error()) // a bug: members have different IDs and finite weights
		return
	}
	d := decide(members, g.reports, m.run.hasCheckpoint, m.run.checkpoint)
	if d.sources[0].Kind == message.SourceFresh && m.ledger.Plan.Start != "" {
		m.fail(m.missingStart())
		return
	}
	if d.warning != "" {
		m.emit(Warn{Text: fmt.Sprintf("generation %d: %s", g.number, d.warning)})
	}
	g.phase, g.shards, g.base = assigned, shards, d.state
	g.patience, g.waited = m.config.ReadyTimeout, 0
	m.run.step = d.state.Step
	m.run.uneven, m.run.windows = 0, newWindows(g.members)
	for rank, w := range workers {
		m.send(w, message.Assign{
			Generation: g.number, Rank: rank, Members: members,
			Shards: shards[rank], Source: d.sources[rank], Saves: rank == 0,
		})
	}
	m.because(fmt.Sprintf("generation %d: %s", g.number, d.reason))
}

// placeShards returns the shards of each worker, by the workers' weights.
func placeShards(plan ergoflow.Plan, workers []*worker) ([][]int, error) {
	units, err := placement.Place(plan.Units(), owners(plan.Units(), workers))
	if err != nil {
		return nil, err
	}
	shards := make([][]int, len(units))
	for rank, own := range units {
		for _, u := range own {
			for k, end := plan.Unit(u); k < end; k++ {
				shards[rank] = append(shards[rank], k)
			}
		}
	}
	return shards, nil
}

func (m *Machine) ready(w *worker, e message.Ready) {
	g := m.memberOf(w, e.Generation, assigned)
	if g == nil {
		return
	}
	g.isReady[w.ID] = true
	if len(g.isReady) < len(g.members) {
		return
	}
	if why := m.overtaken(g); why != "" {
		m.end(EndSuperseded, why)
		return
	}
	g.phase, g.waited = running, 0
	m.setHolders(&Holders{Generation: g.number, Members: g.members, Base: g.base})
	m.persist() // before any of them can make a step
	m.run.speed.begin(m.now)
	m.run.windows.begun = m.now
	for _, id := range g.members {
		v := m.byID(id)
		v.hasState, v.state = true, g.base
		m.send(v, message.Go{Generation: g.number})
	}
	m.because(fmt.Sprintf("generation %d goes: %d workers from step %d", g.number, len(g.members), g.base.Step))
}

func (m *Machine) progress(w *worker, e message.Progress) {
	g := m.memberOf(w, e.Generation, running)
	if g == nil {
		return
	}
	if e.Step <= w.state.Step || e.Step > m.ledger.Plan.Steps {
		m.refuse(w.ID, fmt.Sprintf("it reports step %d of %d after step %d", e.Step, m.ledger.Plan.Steps, w.state.Step))
		return
	}
	w.state = ergoflow.Mark{Generation: g.number, Step: e.Step}
	g.longestStep, g.waited, g.stalled = max(g.longestStep, g.waited), 0, false
	m.recordTiming(g, g.ranks[w.ID], e.Step, timingOf(e.Timing))
	if !g.stepped {
		g.stepped, m.run.proven = true, g.ranks
		m.because(m.firstStep(g, e.Step))
	}
	m.commit(g, e.Step)
	m.run.silentBefore, m.run.failedAttempts, m.run.complaints, m.run.notBefore = 0, 0, nil, time.Time{}
	if e.Step > m.run.step {
		m.run.step, m.run.stepped = e.Step, m.now
	}
	if w.ID == g.members[0] {
		m.run.loss, m.run.hasLoss = e.Loss, true
		m.run.speed.add(m.now, e.Samples)
		m.checkStragglers(g)
	}
}

// firstStep tells how long the membership change has interrupted training.
func (m *Machine) firstStep(g *generation, step ergoflow.Step) string {
	text := fmt.Sprintf("generation %d makes step %d", g.number, step)
	if !m.run.stepped.IsZero() {
		text += fmt.Sprintf(", %v after the last one", m.now.Sub(m.run.stepped).Round(time.Millisecond))
	}
	return text
}

func (m *Machine) complaint(w *worker, e message.Complaint) {
	g := m.current
	if !m.hasBegun(w, e.Generation) {
		return
	}
	if silent := m.noteSilence(w, e); len(silent) > 0 {
		m.avoidCut(e.Generation, fmt.Sprintf("worker %s hears nothing from %s at step %d: %s", w.ID, strings.Join(silent, ", "), e.Step, e.Reason))
		return
	}
	if len(e.Silent) > 0 && (g == nil || g.number != e.Generation) {
		return // known, and its generation has ended
	}
	m.noteComplaint(w.ID, e)
	m.suspect(w, e)
	if g == nil || g.number != e.Generation || !g.has(w.ID) {
		return
	}
	text := fmt.Sprintf("worker %s complains at step %d: %s", w.ID, e.Step, e.Reason)
	if e.Peer != "" {
		text = fmt.Sprintf("worker %s complains about %s at step %d: %s", w.ID, e.Peer, e.Step, e.Reason)
	}
	m.end(EndBroken, text)
	m.failedAttempt(g.members, text)
}

// failedAttempt counts a generation that ended without a visible cause. A lost member
// that the coordinator notices next may have caused the first one, so the next
// generation forms at once. Later ones form after growing delays, without the members
// that seem to be the cause; after Config.Attempts the run fails.
func (m *Machine) failedAttempt(members []ergoflow.WorkerID, text string) {
	if m.previous != nil {
		m.previous.before = &attempts{m.run.failedAttempts, maps.Clone(m.run.exclusions), m.run.notBefore}
	}
	m.run.failedAttempts++
	if m.run.failedAttempts >= m.config.Attempts {
		m.fail(fmt.Sprintf("%d generations in a row ended without a step; the last: %s", m.run.failedAttempts, text))
		return
	}
	m.exclude(m.suspects(members), "generations with it make no step")
	if m.run.failedAttempts > 1 {
		wait := min(m.config.Backoff<<(m.run.failedAttempts-2), maxBackoff)
		m.run.notBefore = m.now.Add(wait)
		m.because(fmt.Sprintf("%d generations in a row ended without a step: the coordinator waits %v before the next", m.run.failedAttempts, wait))
	}
}

// attempts is what failed attempts change.
type attempts struct {
	failed     int
	exclusions map[ergoflow.WorkerID]exclusion
	notBefore  time.Time
}

// undoAttempt forgets that the last generation failed: a cut link explains it. Where one
// member leaves a ring because it hears nothing from another, a third may complain first,
// whose links broke.
func (m *Machine) undoAttempt(g *generation) {
	if b := g.before; b != nil {
		m.run.failedAttempts, m.run.exclusions, m.run.notBefore = b.failed, b.exclusions, b.notBefore
		g.before = nil
	}
}

// expelLate ends the sessions of the members that are late. If some of these are
// newcomers, it expels and excludes the newcomers alone: in a ring one late member makes
// its neighbours late. If no member is ready, the ring has not connected. Any member may
// have caused that, so it expels none.
func (m *Machine) expelLate() {
	g := m.current
	if g.phase == assigned && len(g.isReady) == 0 && len(g.members) > 1 {
		text := fmt.Sprintf("no member of generation %d was ready within %v", g.number, m.config.ReadyTimeout)
		m.end(EndBroken, text)
		m.failedAttempt(g.members, text)
		return
	}
	why := fmt.Sprintf("no report to generation %d within %v", g.number, m.config.ReportTimeout)
	if g.phase == assigned {
		why = fmt.Sprintf("not ready for generation %d within %v", g.number, m.config.ReadyTimeout)
	}
	late := slices.DeleteFunc(slices.Clone(g.members), func(id ergoflow.WorkerID) bool {
		_, reported := g.reports[id]
		return g.phase == reporting && reported || g.isReady[id]
	})
	if newcomers := m.newcomers(late); 0 < len(newcomers) && len(newcomers) < len(g.members) {
		m.exclude(newcomers, why)
		late = newcomers
	}
	for _, id := range late {
		m.expel(m.byID(id), why)
	}
	m.failedAttempt(g.members, fmt.Sprintf("generation %d did not form in time", g.number))
}

// noteStall warns of a generation that runs and makes no step. Its members are
// connected, since they answer; a device, or the store behind a mapped shard, may hang.
// The coordinator cannot distinguish that from a long step.
func (m *Machine) noteStall(g *generation, passed time.Duration) {
	g.waited += passed
	if g.stalled || g.waited < max(stallAfter, stallFactor*g.longestStep) {
		return
	}
	g.stalled = true
	text := fmt.Sprintf("generation %d has made no step for %v", g.number, g.waited.Round(time.Second))
	if g.longestStep > 0 {
		text += fmt.Sprintf(", the longest before took %v", g.longestStep.Round(time.Millisecond))
	}
	m.emit(Warn{Text: text, Stall: true})
	m.because(text)
}

// A generation is stalled after a minute, or after stallFactor times its longest step
// where that is more.
const (
	stallAfter  = time.Minute
	stallFactor = 10
)

// end ends the present generation, and tells the members that are still connected.
func (m *Machine) end(kind Ending, reason string) {
	g := m.current
	m.current, m.ended = nil, reason
	if m.run.endings == nil {
		m.run.endings = make(map[Ending]int)
	}
	m.run.endings[kind]++
	m.stepBroken(reason)
	if g.phase != reporting {
		m.previous = g
	}
	m.gatherUntil = time.Time{}
	if g.phase != running && (kind == EndLost || kind == EndLeft) {
		m.gatherUntil = m.now
		if g.waited < g.patience { // otherwise who is late is known
			m.gatherUntil = m.now.Add(min(g.waited, m.config.PingTimeout))
		}
	}
	for _, id := range g.members {
		if w := m.byID(id); w != nil {
			m.send(w, message.Abort{Generation: g.number, Reason: reason})
			w.pinged = time.Time{} // it has to hear how long the next ping may take from now on
		}
	}
	m.because(endPrefix(g.number) + reason)
}

func endPrefix(generation ergoflow.Generation) string {
	return fmt.Sprintf("generation %d ends: ", generation)
}

// EndReason returns why a generation ended, if a decision contains that.
func EndReason(decision string, generation ergoflow.Generation) (reason string, found bool) {
	_, after, found := strings.Cut(decision, endPrefix(generation))
	reason, _, _ = strings.Cut(after, ";")
	return reason, found
}

func (m *Machine) endIfMember(w *worker, kind Ending, reason string) {
	if m.current != nil && m.current.has(w.ID) {
		m.end(kind, reason)
	}
}
