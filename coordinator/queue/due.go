package queue

import (
	"fmt"
	"slices"
	"time"
)

// tick handles the scheduled times that have come.
func (m *Machine) tick() {
	for _, name := range m.scheduleNames() {
		s := m.schedules[name]
		if s.Paused || s.after == nil {
			continue
		}
		if s.Handled.After(m.now) { // the clock was set back
			s.Handled = later(m.now, s.Forgotten)
			s.next = s.after(s.Handled)
		}
		if !s.next.IsZero() && !s.next.After(m.now.Add(-s.offset())) {
			m.handle(s)
		}
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// handle starts or skips the times of a schedule that have come since the last ones.
func (m *Machine) handle(s *schedule) {
	until := m.now.Add(-s.offset())
	inTime := until.Add(-m.config.Grace)
	missed := m.times(s, s.Handled, inTime)
	fresh := m.times(s, later(s.Handled, inTime), until)
	m.catchUp(s, missed, fresh.count > 0)
	for _, t := range fresh.newest {
		m.startAt(s, t, false)
	}
	m.advanceTo(s, later(missed.seen, fresh.seen))
}

// advanceTo notes that the times up to t are handled.
func (m *Machine) advanceTo(s *schedule, t time.Time) {
	s.Handled = later(s.Handled, t)
	s.next = s.after(s.Handled)
	m.touchSchedule(s)
}

// catchUp applies the policy for missed times.
func (m *Machine) catchUp(s *schedule, missed span, fresh bool) {
	keep := 0
	reason := "missed: the coordinator was not there to start it"
	switch {
	case missed.count == 0:
		return
	case s.Missed == MissedLast && fresh:
		reason = "missed, and made up for by the next one"
	case s.Missed == MissedLast:
		keep, reason = 1, "missed, and made up for by the last missed one"
	case s.Missed == MissedAll:
		keep, reason = MaxCatchUp, fmt.Sprintf("missed, and followed by %d more that are started", MaxCatchUp)
	}
	started := missed.newest[max(0, len(missed.newest)-keep):]
	m.skipSpan(s, missed.without(len(started)), reason)
	for _, t := range started {
		m.startAt(s, t, true)
	}
}

// startAt adds the run of a scheduled time, or skips it.
func (m *Machine) startAt(s *schedule, t time.Time, caughtUp bool) {
	if m.isTaken(s, t) {
		return
	}
	var deadline time.Time
	if s.Deadline > 0 {
		deadline = t.Add(s.offset() + s.Deadline.duration())
		if m.now.After(deadline) {
			m.skipSpan(s, only(t), fmt.Sprintf("its start deadline of %v is over", s.Deadline.duration()))
			return
		}
	}
	for _, r := range m.runsOf(s) {
		switch {
		case caughtUp && s.Missed == MissedAll: // they are to run one after the other
		case s.Overlap == OverlapReplace:
			m.halt(r, Replaced, fmt.Sprintf("the schedule's next time, %s, has come", t.UTC().Format(time.RFC3339)))
		case s.Overlap == OverlapSkip && r.isUnderWay():
			m.skipSpan(s, only(t), fmt.Sprintf("run %d of the schedule is under way", r.ID))
			return
		case r.State == Waiting:
			m.skipSpan(s, only(t), fmt.Sprintf("run %d of the schedule waits already", r.ID))
			return
		}
	}
	r := m.add(Run{Kind: Retrain, Name: s.Config, Config: s.Config, Schedule: s.Name, Scheduled: t.UTC(), Deadline: deadline, Priority: s.Priority})
	m.because("%s is due at %s", r, t.UTC().Format(time.RFC3339))
}

// isTaken reports whether a scheduled time has, or may have had, a run of its own.
func (m *Machine) isTaken(s *schedule, t time.Time) bool {
	return m.taken[identity{s.Name, t.Unix()}] || !t.After(s.Forgotten)
}

// skipSpan enters skipped times as one run that has ended. Times in a row that are skipped
// for one reason are one run.
func (m *Machine) skipSpan(s *schedule, times span, reason string) {
	if times.count == 0 {
		return
	}
	if r := m.runs[s.newest]; r != nil && r.Times > 0 && r.Reason == reason && times.first.After(r.Through) {
		r.Through, r.Times, r.Uncounted = times.last.UTC(), r.Times+times.count, r.Uncounted || times.uncounted
		r.Ended = m.now // it is kept from now on
		m.ended = append(slices.DeleteFunc(m.ended, func(v *Run) bool { return v == r }), r)
		m.touch(r)
		m.noteResult(s, r)
		return
	}
	r := Run{Kind: Retrain, State: Ended, Name: s.Config, Config: s.Config, Schedule: s.Name,
		Scheduled: times.first.UTC(), Through: times.last.UTC(), Times: times.count, Uncounted: times.uncounted,
		Ended: m.now, Outcome: Skipped, Reason: reason}
	added := m.add(r)
	m.because("schedule %s skips %d times from %s: %s", s.Name, times.count, added.Scheduled.Format(time.RFC3339), reason)
	m.noteResult(s, added)
}

// span is scheduled times in a row.
type span struct {
	first, last time.Time
	count       int
	uncounted   bool        // there are more
	newest      []time.Time // the last ones, at least MaxCatchUp of more
	seen        time.Time   // the last one, even if it has a run
}

func only(t time.Time) span { return span{first: t, last: t, count: 1, newest: []time.Time{t}} }

func (p *span) add(t time.Time) {
	if p.count == 0 {
		p.first = t
	}
	p.last = t
	p.count++
	if len(p.newest) == 2*MaxCatchUp {
		p.newest = append(p.newest[:0], p.newest[MaxCatchUp:]...)
	}
	p.newest = append(p.newest, t)
}

// without returns the span without its newest n times.
func (p span) without(n int) span {
	switch {
	case n == 0:
	case n >= p.count:
		return span{}
	case n < len(p.newest):
		p.last = p.newest[len(p.newest)-n-1]
		p.count -= n
	default: // the time before the newest is not known
		p.last = p.newest[0].Add(-time.Second)
		p.count -= n
	}
	return p
}

// maxCounted bounds the times that are counted one by one: a schedule of every minute has
// half a million in a year.
const maxCounted = 10_000

// times finds the times of a schedule in (after, until] that have no run.
func (m *Machine) times(s *schedule, after, until time.Time) span {
	p := m.walk(s, after, until)
	if !p.uncounted {
		return p
	}
	// The newest times: from ever earlier beginnings, until there are enough.
	for back := time.Hour; ; back *= 4 {
		tail := m.walk(s, later(p.last, until.Add(-back)), until)
		if tail.count >= MaxCatchUp || !until.Add(-back).After(p.last) {
			p.last, p.newest, p.seen = tail.last, tail.newest, tail.seen
			return p
		}
	}
}

// walk finds up to maxCounted of these times, from the first on.
func (m *Machine) walk(s *schedule, after, until time.Time) (p span) {
	for {
		t := s.after(after)
		if !t.After(after) || t.After(until) { // zero: there is none
			return p
		}
		if p.count == maxCounted {
			p.uncounted = true
			return p
		}
		if !m.isTaken(s, t) {
			p.add(t)
		}
		after, p.seen = t, t
	}
}
