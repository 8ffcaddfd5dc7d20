package queue

import (
	"fmt"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/schedule"
)

// tick handles the scheduled times that have come.
func (m *Machine) tick() {
	for _, name := range m.scheduleNames() {
		s := m.schedules[name]
		if s.Paused || !s.read {
			continue
		}
		if s.Decided.After(m.now) { // the clock was set back
			s.Decided = later(m.now, s.Forgotten)
			s.wake = time.Time{}
		}
		if !m.now.Before(s.wake) {
			m.decide(s)
		}
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// decide starts or skips the times of a schedule that have come since it was last asked.
func (m *Machine) decide(s *scheduled) {
	st, d := s.spec.Due(s.Name, s.Policy, s.State, m.now)
	s.wake = d.Wake
	if d.Next.IsZero() {
		s.wake = m.now.Add(24 * time.Hour) // it comes no more
	}
	if !st.Decided.Equal(s.Decided) {
		m.touchSchedule(s)
	}
	s.State = st
	if d.Warning != "" {
		m.because("schedule %s: %s", s.Name, d.Warning)
	}
	for _, p := range d.Passed {
		if p.Times > 1 || !m.isTaken(s, p.First) {
			m.skip(s, p)
		}
	}
	for _, t := range d.Start {
		m.startAt(s, t)
	}
}

// startAt adds the run of a scheduled time, or skips it.
func (m *Machine) startAt(s *scheduled, t time.Time) {
	if m.isTaken(s, t) {
		return
	}
	for _, r := range m.runsOf(s) {
		switch {
		case s.Missed == schedule.MissedAll && s.IsMissed(t, m.now):
			// The missed ones are to run one after the other.
		case s.Overlap == schedule.OverlapReplace:
			m.halt(r, Replaced, fmt.Sprintf("the schedule's next time, %s, has come", t.UTC().Format(time.RFC3339)))
		case s.Overlap == schedule.OverlapSkip && r.isUnderWay():
			m.skip(s, only(t, fmt.Sprintf("run %d of the schedule is under way", r.ID)))
			return
		case r.State == Waiting:
			m.skip(s, only(t, fmt.Sprintf("run %d of the schedule waits already", r.ID)))
			return
		}
	}
	r := m.add(Run{Kind: Retrain, Name: s.Config, Config: s.Config, Schedule: s.Name, Scheduled: t.UTC(), Deadline: s.Deadline(t).UTC(), Priority: s.Priority})
	m.because("%s is due at %s", r, t.UTC().Format(time.RFC3339))
}

// isTaken reports whether a scheduled time has, or may have had, a run of its own.
func (m *Machine) isTaken(s *scheduled, t time.Time) bool {
	return m.taken[identity{s.Name, t.Unix()}] || !t.After(s.Forgotten)
}

func only(t time.Time, reason string) schedule.Passed {
	return schedule.Passed{First: t, Last: t, Times: 1, Reason: reason}
}

// skip enters skipped times as one run that has ended. Times in a row that are skipped for
// one reason are one run.
func (m *Machine) skip(s *scheduled, p schedule.Passed) {
	uncounted := p.Times == schedule.MaxCounted
	if r := m.runs[s.newest]; r != nil && r.Times > 0 && r.Reason == p.Reason && p.First.After(r.Through) {
		r.Through, r.Times, r.Uncounted = p.Last.UTC(), r.Times+p.Times, r.Uncounted || uncounted
		r.Ended = m.now // it is kept from now on
		m.ended = append(slices.DeleteFunc(m.ended, func(v *Run) bool { return v == r }), r)
		m.touch(r)
		m.noteResult(s, r)
		return
	}
	r := m.add(Run{Kind: Retrain, State: Ended, Name: s.Config, Config: s.Config, Schedule: s.Name,
		Scheduled: p.First.UTC(), Through: p.Last.UTC(), Times: p.Times, Uncounted: uncounted,
		Ended: m.now, Outcome: Skipped, Reason: p.Reason})
	m.because("schedule %s skips %d times from %s: %s", s.Name, p.Times, r.Scheduled.Format(time.RFC3339), p.Reason)
	m.noteResult(s, r)
}
