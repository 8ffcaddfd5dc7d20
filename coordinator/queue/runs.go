package queue

import (
	"fmt"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
)

// maxWaiting bounds the runs that wait.
const maxWaiting = 1000

// start gives the effects of everything that is under way once more: the last process may
// have ended before it executed them.
func (m *Machine) start(e Start) {
	m.because("the queue has %d runs that have not ended, and %d schedules", len(m.live), len(m.schedules))
	m.parseSchedules()
	for _, f := range e.Finished { // before another run takes their place in the fleet
		m.finished(f)
	}
	for _, c := range e.Conducting {
		switch r := m.runs[c.ID]; {
		case c.ID == 0 && len(m.usingWorkers()) > 0:
			m.emit(Withdraw{c.ID, "a run of the queue takes its place"}) // whose Begin was not executed
		case c.ID == 0:
			m.adopt(c)
		case r == nil || !r.isUnderWay():
			m.emit(Withdraw{c.ID, "it has ended"})
		}
	}
	for _, r := range m.live {
		switch {
		case r.State == Stopping:
			m.emit(Terminate{r.ID, r.Attempt, r.Reason})
		case r.State == Running && r.Kind.usesWorkers():
			m.emit(Begin{*r})
		case r.State == Running:
			r.Attempt++
			m.touch(r)
			m.emit(Launch{*r})
		}
	}
}

// adopt enters the run that a coordinator without a queue has begun.
func (m *Machine) adopt(c Conducted) {
	r := m.add(Run{Kind: c.Kind, State: Running, Name: c.Plan.Experiment, Run: c.Plan.Run, Plan: &c.Plan, Started: m.now, Attempt: 1})
	m.because("%s is under way", r)
}

// stop ends the processes. Their runs stay under way in the ledger.
func (m *Machine) stop() {
	m.stopping = true
	for _, r := range m.live {
		if r.Kind == Retrain && r.State == Running {
			m.emit(Terminate{r.ID, r.Attempt, "the coordinator ends"})
		}
	}
}

func (m *Machine) touch(r *Run) { m.dirty.runs[r.ID] = true }

// add gives a run its number and its place.
func (m *Machine) add(r Run) *Run {
	r.ID = m.next
	m.next++
	r.Place, r.Submitted = placeOf(r.ID, r.Priority), m.now
	if r.State == "" {
		r.State = Waiting
	}
	m.enter(&r)
	m.touch(&r)
	return &r
}

// isAnswered answers a request that was accepted before: its client did not hear of that.
func (m *Machine) isAnswered(request string) bool {
	id := m.requests[request]
	if id == 0 {
		return false
	}
	m.because("a request for run %d has come again", id)
	m.answer(id)
	return true
}

// noteRequest notes the name of a request that submits a run.
func (m *Machine) noteRequest(r *Run, name string) {
	if name == "" {
		return
	}
	if len(r.Requests) == maxRequests {
		delete(m.requests, r.Requests[0])
		r.Requests = r.Requests[1:]
	}
	r.Requests = append(slices.Clip(r.Requests), name) // copies of the run share the old ones
	m.requests[name] = r.ID
	m.touch(r)
}

func (m *Machine) submit(e Submit) {
	if m.isAnswered(e.Request) {
		return
	}
	if refusal := m.refuseRun(e); refusal != "" {
		m.refuse("%s", refusal)
		m.because("refused a run: %s", refusal)
		return
	}
	if p := m.runs[e.Parent]; p == nil || p.Kind != Retrain || !p.isLive() {
		e.Parent = 0 // of another coordinator
	}
	if r := m.liveRun(e); r != nil {
		m.join(r, e)
		return
	}
	if busy := m.usingWorkers(); e.Kind.usesWorkers() && !e.Queue && !e.Replace && len(busy) > 0 && !m.room(m.bounds(e), *e.Plan) {
		m.emit(Answer{ID: busy[0].ID, Busy: true, Refusal: fmt.Sprintf("run %.12s (%s) is not finished", busy[0].Run, busy[0].Name)})
		return
	}
	if waiting := m.Waiting(); waiting >= maxWaiting {
		m.refuse("%d runs wait already", waiting)
		return
	}
	run := Run{Kind: e.Kind, Name: e.Config, Config: e.Config, Priority: e.Priority, Parent: e.Parent}
	if e.Plan != nil {
		run.Name, run.Run, run.Plan, run.Workers = e.Plan.Experiment, e.Plan.Run, e.Plan, m.bounds(e)
	}
	r := m.add(run)
	m.noteRequest(r, e.Request)
	m.because("%s is submitted", r)
	if e.Replace {
		m.takeOver(r)
	}
	m.answer(r.ID)
}

func (m *Machine) refuseRun(e Submit) string {
	if err := checkPriority(e.Priority); err != nil {
		return err.Error()
	}
	if err := checkRequest(e.Request); err != nil {
		return err.Error()
	}
	switch {
	case m.stopping:
		return "the coordinator ends"
	case e.Kind == Retrain && e.Replace:
		return "a retraining replaces no run"
	case e.Kind == Retrain:
		if err := checkConfig(e.Config); err != nil {
			return err.Error()
		}
		return ""
	case e.Kind != Train && e.Kind != Generate || e.Plan == nil:
		return "the run neither generates data nor trains"
	}
	if err := e.Plan.Validate(); err != nil {
		return err.Error()
	}
	b, r := m.bounds(e), m.liveRun(e)
	if r != nil && e.Workers == nil {
		b = r.Workers
	}
	if err := b.Validate(); err != nil {
		return err.Error()
	}
	need := b.Least(*e.Plan)
	switch {
	case r != nil && !r.Plan.EqualWork(*e.Plan):
		return fmt.Sprintf("run %s has another plan already", e.Plan.Run)
	case e.Replace && need > m.workers && len(m.usingWorkers()) > 0 && (r == nil || r.State == Waiting):
		return fmt.Sprintf("it needs %d workers and there are %d: it would end the runs under way and not begin", need, m.workers)
	}
	return ""
}

// liveRun is the run of the same configuration that has not ended.
func (m *Machine) liveRun(e Submit) *Run {
	if e.Plan == nil {
		return nil
	}
	for _, r := range m.live {
		if r.Run == e.Plan.Run {
			return r
		}
	}
	return nil
}

// join submits a run again that has not ended, perhaps until a later stage or with other
// settings. It ends with its retraining only where nobody else has submitted it.
func (m *Machine) join(r *Run, e Submit) {
	before := *r
	m.noteRequest(r, e.Request)
	if e.Kind == Train {
		r.Kind = Train
	}
	r.Plan = e.Plan
	if e.Workers != nil {
		r.Workers = *e.Workers
	}
	if e.Parent != r.Parent {
		r.Parent = 0
	}
	if r.State == Waiting && e.Replace {
		m.takeOver(r)
	}
	if r.State == Running {
		m.emit(Begin{*r})
	}
	if r.Kind != before.Kind || r.Parent != before.Parent || r.Workers != before.Workers || !r.Plan.EqualSettings(*before.Plan) {
		m.touch(r)
	}
	m.answer(r.ID)
}

// takeOver ends what uses workers, so that r begins in this step.
func (m *Machine) takeOver(r *Run) {
	for _, v := range m.usingWorkers() {
		m.halt(v, Replaced, fmt.Sprintf("run %d (%s) takes over", r.ID, r.Name))
	}
	m.placeFirst(r)
}

// usingWorkers are the runs under way that use workers.
func (m *Machine) usingWorkers() []*Run {
	var list []*Run
	for _, r := range m.live {
		if r.Kind.usesWorkers() && r.isUnderWay() {
			list = append(list, r)
		}
	}
	return list
}

// finished takes the end of a run, or of its process.
func (m *Machine) finished(e Finished) {
	r := m.runs[e.ID]
	if r == nil || !r.isUnderWay() || e.Attempt != r.Attempt {
		return
	}
	switch {
	case r.State == Stopping && e.Outcome != Done:
		m.end(r, r.Outcome, r.Reason)
	case e.Killed && m.stopping: // it continues when the coordinator starts again
	case e.Killed:
		m.crashed(r, e.Reason)
	default:
		m.end(r, e.Outcome, e.Reason)
	}
}

// crashed has a run whose process was killed begin again after a delay. A run that is
// killed too often has failed.
func (m *Machine) crashed(r *Run, reason string) {
	r.Crashes++
	if r.Crashes >= m.config.Crashes {
		m.end(r, Failed, fmt.Sprintf("its process was killed %d times; the last time: %s", r.Crashes, reason))
		return
	}
	wait := m.config.Backoff << (r.Crashes - 1)
	r.State, r.NotBefore = Waiting, m.now.Add(wait)
	m.touch(r)
	m.because("the process of %s was killed (%s): it begins again after %v", r, reason, wait)
}

// mayBegin reports whether a run's delay is over. If the clock was set back, no delay is
// longer than it was meant to be.
func (m *Machine) mayBegin(r *Run) bool {
	return !m.now.Before(r.NotBefore) || r.NotBefore.Sub(m.now) > m.config.Backoff<<m.config.Crashes
}

// begin has runs begin, in the order of their places, where there is room for them.
func (m *Machine) begin() {
	if m.stopping {
		return
	}
	blocked, processes := false, 0
	underWay := make(map[string]bool) // schedules
	for _, r := range m.live {
		if r.Kind == Retrain && r.isUnderWay() {
			processes++
			underWay[r.Schedule] = r.Schedule != ""
		}
	}
	for _, r := range slices.Clone(m.live) {
		if r.State != Waiting || !m.mayBegin(r) || underWay[r.Schedule] {
			continue
		}
		switch {
		case r.Kind.usesWorkers():
			// The next waits as well, or a run that needs many workers would never begin.
			if blocked = blocked || !m.room(r.Workers, *r.Plan); blocked {
				continue
			}
		case r.Kind == Retrain && processes < m.config.Retrainings:
			processes++
			underWay[r.Schedule] = r.Schedule != ""
		default:
			continue
		}
		m.beginRun(r)
	}
}

// bounds are those of a run that is submitted.
func (m *Machine) bounds(e Submit) ergoflow.WorkerBounds {
	if e.Workers != nil {
		return *e.Workers
	}
	return m.config.Workers
}

// room reports whether there are workers for a run beside those that runs under way use. A run
// without a least begins without any where no other is under way: workers may come.
func (m *Machine) room(b ergoflow.WorkerBounds, plan ergoflow.Plan) bool {
	used, need := 0, b.Least(plan)
	for _, r := range m.usingWorkers() {
		used += r.Workers.Useful(*r.Plan)
		need = max(1, need)
	}
	return used+need <= m.workers || used == 0 && need == 0
}

func (m *Machine) beginRun(r *Run) {
	r.State, r.NotBefore = Running, time.Time{}
	r.Attempt++
	if r.Started.IsZero() {
		r.Started = m.now
	}
	m.touch(r)
	if s := m.schedules[r.Schedule]; s != nil {
		s.LastStarted = m.now
		m.touchSchedule(s)
	}
	m.because("%s begins", r)
	if r.Kind.usesWorkers() {
		m.emit(Begin{*r})
	} else {
		m.emit(Launch{*r})
	}
}

// expire skips runs that wait beyond their start deadline.
func (m *Machine) expire() {
	for _, r := range slices.Clone(m.live) {
		if r.State == Waiting && r.Attempt == 0 && !r.Deadline.IsZero() && m.now.After(r.Deadline) {
			m.end(r, Skipped, fmt.Sprintf("it had not begun by its start deadline, %s", r.Deadline.Format(time.RFC3339)))
		}
	}
}

// end ends a run for good.
func (m *Machine) end(r *Run, outcome Outcome, reason string) {
	r.State, r.Outcome, r.Reason = Ended, outcome, clip(reason)
	r.Ended, r.Plan, r.NotBefore = m.now, nil, time.Time{}
	m.live = slices.DeleteFunc(m.live, func(v *Run) bool { return v == r })
	m.ended = append(m.ended, r)
	m.touch(r)
	text := fmt.Sprintf("%s has ended: %s", r, outcome)
	if reason != "" {
		text += ": " + r.Reason
	}
	m.because("%s", text)
	if outcome == Failed {
		m.warn("%s", text)
	}
	if s := m.schedules[r.Schedule]; s != nil {
		m.noteResult(s, r)
	}
	if r.Kind == Retrain {
		for _, child := range slices.Clone(m.live) {
			if child.Parent == r.ID {
				m.halt(child, Cancelled, fmt.Sprintf("its retraining, run %d, has ended", r.ID))
			}
		}
	}
}

// halt ends a run, or has its process end.
func (m *Machine) halt(r *Run, outcome Outcome, reason string) {
	switch {
	case r.State == Waiting:
		m.end(r, outcome, reason)
	case r.Kind.usesWorkers():
		m.emit(Withdraw{r.ID, reason})
		m.end(r, outcome, reason)
	case r.State == Running:
		r.State, r.Outcome, r.Reason = Stopping, outcome, clip(reason)
		m.touch(r)
		m.emit(Terminate{r.ID, r.Attempt, reason})
		m.because("%s is told to end: %s", r, reason)
	}
}

func (m *Machine) cancelled(e Cancel) {
	r := m.known(e.ID)
	switch {
	case r == nil:
	case !r.isLive():
		m.refuse("run %d has ended: %s", r.ID, r.Outcome)
	default:
		m.halt(r, Cancelled, "it was cancelled")
		m.answer(r.ID)
	}
}

// known returns a run, or answers that there is none.
func (m *Machine) known(id ID) *Run {
	r := m.runs[id]
	if r == nil {
		m.refuseUnknown("there is no run %d", id)
	}
	return r
}

func (m *Machine) move(e Move) {
	r := m.known(e.ID)
	switch {
	case r == nil:
		return
	case r.State != Waiting:
		m.refuse("run %d does not wait: it is %s", r.ID, r.State)
		return
	case e.First:
		m.placeFirst(r)
	case e.Last:
		for _, v := range m.live {
			if v != r {
				r.Place = max(r.Place, v.Place+1)
			}
		}
	default:
		if err := checkPriority(e.Priority); err != nil {
			m.refuse("%v", err)
			return
		}
		r.Priority, r.Place = e.Priority, placeOf(r.ID, e.Priority)
	}
	m.sortLive()
	m.touch(r)
	m.because("%s is moved", r)
	m.answer(r.ID)
}

func (m *Machine) placeFirst(r *Run) {
	for _, v := range m.live {
		if v != r && v.State == Waiting {
			r.Place = min(r.Place, v.Place-1)
		}
	}
	m.sortLive()
	m.touch(r)
}

// prune removes the oldest runs that have ended, beyond the bounds.
func (m *Machine) prune() {
	for len(m.ended) > 0 {
		r := m.ended[0]
		if len(m.ended) <= m.config.KeepRuns && m.now.Sub(r.Ended) <= m.config.KeepFor {
			return
		}
		m.ended = m.ended[1:]
		delete(m.runs, r.ID)
		delete(m.dirty.runs, r.ID)
		for _, name := range r.Requests {
			delete(m.requests, name)
		}
		m.changed.RemovedRuns = append(m.changed.RemovedRuns, r.ID)
		if id := identityOf(r); m.taken[id] && r.Times == 0 {
			delete(m.taken, id)
			if s := m.schedules[r.Schedule]; s != nil && r.Scheduled.After(s.Forgotten) {
				s.Forgotten = r.Scheduled
				m.touchSchedule(s)
			}
		}
	}
}
