package machine

import (
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// activity of a run that is neither finished nor failed.
type activity int

const (
	activityIdle       activity = iota // no run
	activityScanning                   // the coordinator scans for shards and checkpoints
	activityGenerating                 // shards are missing
	activityTraining
)

// run is what the machine knows of the present run beside the ledger. After a restart
// it finds that out again.
type run struct {
	activity      activity
	present       map[int]bool // shards that exist
	published     map[int]bool // shards whose jobs this process has put into the queue
	scannedAt     time.Time
	hasCheckpoint bool
	checkpoint    ergoflow.Mark
	step          ergoflow.Step // the most advanced known
	stepped       time.Time     // when that became known
	committed     ergoflow.Mark // the last step that every member of a generation is known to have applied
	loss          float64       // of the last step, as rank 0 computed it
	hasLoss       bool
	speed         speed
	endings       map[Ending]int // of generations

	settleBy  time.Time                 // until then the machine waits for workers that prepare; zero: it does not
	notBefore time.Time                 // the next generation, after complaints
	proven    map[ergoflow.WorkerID]int // members of the last generation that made a step, by rank

	holdersAbsent    bool          // no holder is connected, though one is needed
	holdersAbsentFor time.Duration // as ticks counted it

	short  *Shortage // of room for a checkpoint; nil: none
	paused bool      // no generation forms before there is room

	silentBefore   int        // generations in a row that a member's silence ended before a step
	failedAttempts int        // generations in a row that ended in complaints without a step
	complaints     complaints // since the last step
	exclusions     map[ergoflow.WorkerID]exclusion

	windows      windows       // of the last generation
	uneven       alarm         // windows in which moving shards was worthwhile
	lastMove     time.Time     // of shards
	moveInterval time.Duration // before the next move, at least
}

func (m *Machine) start() {
	m.lastTick = m.now
	m.because("the coordinator starts")
	switch {
	case m.ledger.Plan == nil:
	case m.finished():
		m.emit(Scan{*m.ledger.Plan}) // for the status
	default:
		m.scan(fmt.Sprintf("run %s continues", m.ledger.Plan.Run))
	}
}

// scan begins the run: it asks which shards and checkpoints exist.
func (m *Machine) scan(reason string) {
	m.ended = ""
	m.run = run{activity: activityScanning, published: make(map[int]bool), scannedAt: m.now}
	m.emit(Scan{*m.ledger.Plan})
	m.because(reason)
}

func (m *Machine) finished() bool { return m.ledger.Finished || m.ledger.Failure != "" }

func (m *Machine) training() bool {
	return m.ledger.Plan != nil && !m.finished() && m.run.activity == activityTraining
}

func (m *Machine) submit(e Submit) {
	if refusal := m.refusePlan(e); refusal != "" {
		m.emit(Answer{refusal})
		m.because("refused a run: " + refusal)
		return
	}
	old := m.ledger.Plan
	if old != nil && old.Run == e.Plan.Run && !m.finished() {
		m.extend(e)
		return
	}
	if old != nil && !m.finished() {
		m.because(fmt.Sprintf("run %s is suspended", old.Run))
	}
	if m.current != nil {
		m.end(EndRun, fmt.Sprintf("run %s takes over", e.Plan.Run))
	}
	// Another machine may have had the run before: its states are of generations of that one.
	m.ledger = Ledger{Generation: max(m.ledger.Generation, m.taken), Plan: &e.Plan, Until: e.Until, Entry: e.Entry}
	m.setHolders(nil)
	m.persist()
	m.emit(Answer{})
	for _, w := range m.workers {
		m.reset(w)
		w.steps = recent[Timing]{}
	}
	m.scan(fmt.Sprintf("run %s (%s) is submitted, until %s", e.Plan.Run, e.Plan.Experiment, e.Until))
}

// extend submits a run again that is in progress, perhaps until a later stage. Settings
// that its hash leaves out, such as the interval of its checkpoints, may have changed:
// then all workers prepare again, and the generation ends.
func (m *Machine) extend(e Submit) {
	changed := !m.ledger.Plan.EqualSettings(e.Plan)
	if changed || e.Until > m.ledger.Until || e.Entry != m.ledger.Entry {
		m.ledger.Plan, m.ledger.Until, m.ledger.Entry = &e.Plan, max(e.Until, m.ledger.Until), e.Entry
		m.persist()
	}
	m.emit(Answer{})
	reason := fmt.Sprintf("run %s continues, until %s", e.Plan.Run, m.ledger.Until)
	if !changed {
		m.because(reason)
		return
	}
	m.because(reason + ", with changed settings")
	if m.current != nil {
		m.end(EndSettings, "the run's settings change")
	}
	for _, w := range m.workers {
		if w.phase == preparing || w.phase == prepared {
			m.instruct(w)
		}
	}
}

// reset clears a worker's state in the last run.
func (m *Machine) reset(w *worker) {
	m.enter(w, connected)
	w.reason = ""
	w.hasState, w.saving, w.state = false, false, ergoflow.Mark{}
	w.slowness, w.weight = slowness{}, 0
}

func (m *Machine) refusePlan(e Submit) string {
	p := e.Plan
	switch {
	case m.stopping:
		return "the coordinator ends"
	case e.Until != StageGenerate && e.Until != StageTrain:
		return fmt.Sprintf("a run cannot end with stage %s", e.Until)
	}
	if err := p.Validate(); err != nil {
		return err.Error()
	}
	old := m.ledger.Plan
	switch {
	case old == nil:
	case old.Run == p.Run && !old.EqualWork(p):
		return fmt.Sprintf("run %s has another plan already", p.Run)
	case old.Run != p.Run && !m.finished() && !e.Replace:
		return fmt.Sprintf("run %s (%s) is not finished: step %d of %d", old.Run, old.Experiment, m.run.step, old.Steps)
	}
	return ""
}

// concerns reports whether an event belongs to the run in progress.
func (m *Machine) concerns(run string) bool {
	return m.ledger.Plan != nil && m.ledger.Plan.Run == run && !m.finished()
}

func (m *Machine) scanned(e Scanned) {
	if m.ledger.Plan == nil || m.ledger.Plan.Run != e.Run {
		return
	}
	if e.HasCheckpoint { // a newer one may have been saved since that scan
		m.noteCheckpoint(e.Checkpoint)
		// After the ledger was lost, or replaced by an old copy, numbers continue after
		// those of existing states: later generations take precedence.
		m.ledger.Generation = max(m.ledger.Generation, e.Checkpoint.Generation)
	}
	m.run.step = max(m.run.step, e.Checkpoint.Step)
	if m.run.activity == activityTraining {
		return // a late answer
	}
	m.run.present = make(map[int]bool)
	for _, k := range e.Present {
		if k >= 0 && k <= m.ledger.Plan.Shards {
			m.run.present[k] = true
		}
	}
	if !m.finished() && m.lacksStart() && m.ledger.Holders == nil {
		m.fail(m.missingStart()) // before data are made that nothing would learn from
	}
	if m.finished() || m.complete() {
		return
	}
	if m.run.activity == activityScanning {
		m.run.activity = activityGenerating
		m.because(fmt.Sprintf("%d of %d shards exist", len(m.run.present), m.ledger.Plan.Shards+1))
		for _, w := range m.workers {
			m.instruct(w)
		}
	}
	m.publish()
}

// lacksStart reports whether a run that begins from an earlier state has no checkpoint to
// begin or continue from.
func (m *Machine) lacksStart() bool {
	p := m.ledger.Plan
	return p.Start != "" && m.ledger.Until == StageTrain && !m.run.hasCheckpoint
}

// missingStart is why a run fails that could only begin from random parameters and must not.
func (m *Machine) missingStart() string {
	return fmt.Sprintf("%s (parameters %.12s), and no later checkpoint is stored", NoStart, m.ledger.Plan.Start)
}

// NoStart begins the failure of a run that has neither its start nor a later state.
const NoStart = "the state from which it begins is missing"

// publish puts the jobs of missing shards into the queue, each once.
func (m *Machine) publish() {
	var missing []int
	for k := range m.ledger.Plan.Shards + 1 {
		if !m.run.present[k] && !m.run.published[k] {
			m.run.published[k] = true
			missing = append(missing, k)
		}
	}
	if len(missing) > 0 {
		m.emit(Publish{*m.ledger.Plan, missing})
	}
}

// unpublished lets the next scan publish jobs again that did not reach the queue, or
// that are done while their shard is missing.
func (m *Machine) unpublished(e Unpublished) {
	if !m.concerns(e.Run) {
		return
	}
	for _, k := range e.Shards {
		delete(m.run.published, k)
	}
	m.emit(Warn{Text: fmt.Sprintf("the coordinator publishes %d jobs again: %s", len(e.Shards), e.Reason)})
}

// rescan scans the store again: results of jobs may be lost, and shards may arrive in
// other ways.
func (m *Machine) rescan() {
	if m.finished() || m.run.activity != activityGenerating && m.run.activity != activityScanning {
		return
	}
	if m.now.Sub(m.run.scannedAt) >= m.config.Rescan {
		m.run.scannedAt = m.now
		m.emit(Scan{*m.ledger.Plan})
	}
}

func (m *Machine) generated(e Generated) {
	if !m.concerns(e.Run) || m.run.activity != activityGenerating || e.Shard < 0 || e.Shard > m.ledger.Plan.Shards {
		return
	}
	m.run.present[e.Shard] = true
	m.complete()
}

func (m *Machine) dead(e Dead) {
	if m.concerns(e.Run) && m.run.activity == activityGenerating && !m.run.present[e.Shard] {
		m.fail(fmt.Sprintf("shard %d cannot be generated: %s", e.Shard, e.Reason))
	}
}

// complete ends the generation of data when all shards exist, and reports whether they do.
func (m *Machine) complete() bool {
	plan := m.ledger.Plan
	switch {
	case len(m.run.present) <= plan.Shards:
		return false
	case m.ledger.Until == StageGenerate:
		m.finish("all shards exist")
	case m.run.hasCheckpoint && m.run.checkpoint.Step >= plan.Steps && m.inHistory(m.run.checkpoint):
		m.finish(fmt.Sprintf("the checkpoint at step %d is the last", m.run.checkpoint.Step))
	default:
		m.run.activity = activityTraining
		m.because("all shards exist, the workers prepare")
		for _, w := range m.workers {
			m.instruct(w)
		}
	}
	return true
}

// saved also takes states of a failed run: its workers save theirs when they leave.
func (m *Machine) saved(e Saved) {
	if m.ledger.Plan == nil || m.ledger.Plan.Run != e.Run || m.ledger.Finished || !m.isPossible(e.State) {
		return
	}
	m.noteCheckpoint(e.State)
	m.run.short, m.run.paused = nil, false
	for _, w := range m.workers {
		if w.saving && e.Final && e.State.Compare(w.saveFrom) >= 0 {
			if m.isHolder(w) {
				// It makes no more steps, so its generation makes none either, and the
				// coordinator need not wait for any member of it.
				m.setHolders(nil)
				m.persist()
			}
			w.saving, w.hasState = false, false
		}
	}
	if e.State.Step == m.ledger.Plan.Steps && m.training() && m.inHistory(e.State) {
		m.run.step = e.State.Step
		m.finish(fmt.Sprintf("the last checkpoint, at step %d, is stored", e.State.Step))
	}
}

// noteCheckpoint keeps the checkpoint that takes precedence.
func (m *Machine) noteCheckpoint(state ergoflow.Mark) {
	if !m.run.hasCheckpoint || state.Compare(m.run.checkpoint) > 0 {
		m.run.hasCheckpoint, m.run.checkpoint = true, state
	}
}

// notSaved lets training continue without a checkpoint, except for the last one: its
// members would wait for ever, so they try again, as after a complaint. On a full disk
// the last one waits for room.
func (m *Machine) notSaved(e NotSaved) {
	if !m.concerns(e.Run) || m.run.activity != activityTraining {
		return
	}
	text := fmt.Sprintf("the checkpoint at step %d is not stored: %s", e.Step, e.Reason)
	m.emit(Warn{Text: text})
	if e.Short != nil && m.run.short == nil {
		m.run.short = e.Short
		m.emit(AwaitRoom{*e.Short})
	}
	if e.Step == m.ledger.Plan.Steps && m.current != nil && m.current.phase == running {
		members := m.current.members
		m.end(EndCheckpoint, text)
		if e.Short != nil {
			m.run.paused = true
			return
		}
		m.failedAttempt(members, text)
	}
}

// room lets the run go on, and find out whether there is enough.
func (m *Machine) room() {
	if m.run.paused {
		m.because(fmt.Sprintf("there may be room in %s: run %s goes on", m.run.short.Path, m.ledger.Plan.Run))
	}
	m.run.short, m.run.paused = nil, false
}

func (m *Machine) finish(why string) {
	m.ledger.Finished = true
	m.setHolders(nil)
	m.persist()
	m.current = nil
	for _, w := range m.workers {
		m.send(w, message.Finish{Run: m.ledger.Plan.Run})
		m.reset(w)
	}
	m.because(fmt.Sprintf("run %s is finished: %s", m.ledger.Plan.Run, why))
}

// withdraw leaves the machine without a run. The workers stay, and wait for another one.
func (m *Machine) withdraw(e Withdraw) {
	plan := m.ledger.Plan
	if plan == nil || m.ledger.Entry != e.Entry || m.finished() {
		return
	}
	if m.current != nil {
		m.end(EndRun, fmt.Sprintf("run %s is withdrawn: %s", plan.Run, e.Reason))
	}
	m.ledger = Ledger{Generation: m.ledger.Generation}
	m.setHolders(nil)
	m.persist()
	for _, w := range m.workers {
		m.send(w, message.Finish{Run: plan.Run})
		m.reset(w)
		w.steps = recent[Timing]{}
	}
	m.ended, m.run = "", run{}
	m.because(fmt.Sprintf("run %s is withdrawn: %s", plan.Run, e.Reason))
}

func (m *Machine) fail(reason string) {
	m.ledger.Failure = reason
	m.persist()
	m.emit(Warn{Text: fmt.Sprintf("run %s failed: %s", m.ledger.Plan.Run, reason)})
	m.because(fmt.Sprintf("run %s failed: %s", m.ledger.Plan.Run, reason))
	if m.current != nil {
		m.end(EndRun, "the run failed: "+reason)
	}
	for _, w := range m.workers {
		if w.phase == generating {
			m.send(w, message.Finish{Run: m.ledger.Plan.Run})
			m.enter(w, connected)
		}
	}
}
