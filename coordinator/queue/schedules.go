package queue

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/schedule"
)

// maxSchedules bounds them.
const maxSchedules = 10_000

// scheduled is a schedule with what follows from it.
type scheduled struct {
	Schedule
	spec   schedule.Spec
	read   bool      // whether spec could be read
	wake   time.Time // nothing is due before; zero: unknown
	newest ID        // its last run
}

func (m *Machine) touchSchedule(s *scheduled) { m.dirty.schedules[s.Name] = true }

func (m *Machine) scheduleNames() []string { return slices.Sorted(maps.Keys(m.schedules)) }

// parse reads the spec of a schedule.
func (s *scheduled) parse() (err error) {
	s.spec, err = schedule.Parse(s.Spec, s.Zone)
	s.read = err == nil
	return err
}

// parseSchedules parses those of the ledger. One that cannot be read, perhaps because an
// earlier version wrote it, must not keep the coordinator from starting.
func (m *Machine) parseSchedules() {
	for _, name := range m.scheduleNames() {
		s := m.schedules[name]
		if err := s.parse(); err != nil && !s.Paused {
			m.pause(s, fmt.Sprintf("its times cannot be read: %v", err))
			m.warn("schedule %s is paused: %s", s.Name, s.Why)
		}
	}
}

func (m *Machine) addSchedule(given Schedule) {
	given = given.withDefaults()
	err := given.Validate()
	s := &scheduled{Schedule: given}
	s.State, s.Added = schedule.State{Decided: m.now}, m.now
	if err == nil {
		err = s.parse()
	}
	old := m.schedules[given.Name]
	switch {
	case m.stopping:
		m.refuse("the coordinator ends")
	case err != nil:
		m.refuse("%v", err)
	case old != nil && equalSettings(old.Schedule, given):
		m.answer(0)
	case old != nil:
		m.refuse("there is a schedule %s already, with other settings", given.Name)
	case len(m.schedules) >= maxSchedules:
		m.refuse("there are %d schedules already", len(m.schedules))
	default:
		m.schedules[s.Name] = s
		m.touchSchedule(s)
		m.because("schedule %s is added", s.Name)
		m.answer(0)
	}
}

// named returns a schedule, or answers that there is none.
func (m *Machine) named(name string) *scheduled {
	s := m.schedules[name]
	if s == nil {
		m.refuseUnknown("there is no schedule %.64q", name)
	}
	return s
}

func (m *Machine) removeSchedule(name string) {
	s := m.named(name)
	if s == nil {
		return
	}
	for _, r := range m.runsOf(s) {
		if r.State == Waiting {
			m.end(r, Cancelled, "its schedule was removed")
		}
	}
	delete(m.schedules, name)
	delete(m.dirty.schedules, name)
	m.changed.RemovedSchedules = append(m.changed.RemovedSchedules, name)
	m.because("schedule %s is removed", name)
	m.answer(0)
}

func (m *Machine) pauseSchedule(name string) {
	s := m.named(name)
	if s == nil {
		return
	}
	if !s.Paused {
		m.pause(s, "a person paused it")
	}
	m.answer(0)
}

// pause has times pass without runs. A run that waits for its turn is skipped; one that a
// person started is not.
func (m *Machine) pause(s *scheduled, why string) {
	s.Paused, s.Why = true, clip(why)
	m.touchSchedule(s)
	m.because("schedule %s is paused: %s", s.Name, why)
	for _, r := range m.runsOf(s) {
		if r.State == Waiting && r.Attempt == 0 && !r.Scheduled.IsZero() {
			m.end(r, Skipped, "its schedule is paused")
		}
	}
}

func (m *Machine) resumeSchedule(name string) {
	s := m.named(name)
	if s == nil {
		return
	}
	if err := s.parse(); err != nil {
		m.refuse("%v", err)
		return
	}
	if s.Paused {
		m.decide(s) // the times of the pause are skipped
		s.Paused, s.Why, s.Failures = false, "", 0
		m.touchSchedule(s)
		m.because("schedule %s is resumed", name)
	}
	m.answer(0)
}

// runSchedule adds a run that belongs to no time of the calendar.
func (m *Machine) runSchedule(name, request string) {
	if m.isAnswered(request) {
		return
	}
	if err := checkRequest(request); err != nil {
		m.refuse("%v", err)
		return
	}
	s := m.named(name)
	if s == nil {
		return
	}
	for _, r := range m.runsOf(s) {
		if r.State == Waiting {
			m.refuse("run %d of schedule %s waits already", r.ID, name)
			return
		}
	}
	r := m.add(Run{Kind: Retrain, Name: s.Config, Config: s.Config, Schedule: s.Name, Priority: s.Priority})
	m.noteRequest(r, request)
	m.because("a person starts %s", r)
	m.answer(r.ID)
}

// runsOf are a schedule's runs that have not ended.
func (m *Machine) runsOf(s *scheduled) []*Run {
	var list []*Run
	for _, r := range m.live {
		if r.Schedule == s.Name {
			list = append(list, r)
		}
	}
	return list
}

// noteResult enters the end of a run into its schedule. Failures in a row pause it.
func (m *Machine) noteResult(s *scheduled, r *Run) {
	result := &Result{Run: r.ID, Scheduled: r.Scheduled, Ended: r.Ended, Outcome: r.Outcome, Reason: r.Reason}
	m.touchSchedule(s)
	if r.Attempt == 0 {
		s.Skipped = result
		return
	}
	s.Last = result
	switch r.Outcome {
	case Done:
		s.Failures, s.LastDone = 0, r.Ended
	case Failed:
		s.Failures++
		if s.Failures >= s.PauseAfter && !s.Paused {
			m.pause(s, fmt.Sprintf("%d failures in a row; the last, run %d: %s", s.Failures, r.ID, r.Reason))
			m.warn("schedule %s has paused itself after %s", s.Name, s.Why)
		}
	}
}

// ScheduleStatus is a schedule as `ergoflow schedules list --json` shows it.
type ScheduleStatus struct {
	Schedule
	Next []time.Time `json:"next"` // when the next runs begin, jitter included; empty: paused
}

// Schedules returns them by name, each with its next n times.
func (m *Machine) Schedules(n int) []ScheduleStatus {
	list := make([]ScheduleStatus, 0, len(m.schedules))
	for _, name := range m.scheduleNames() {
		list = append(list, m.schedules[name].status(n))
	}
	return list
}

// Schedule returns one.
func (m *Machine) Schedule(name string, n int) (ScheduleStatus, bool) {
	if s := m.schedules[name]; s != nil {
		return s.status(n), true
	}
	return ScheduleStatus{}, false
}

func (s *scheduled) status(n int) ScheduleStatus {
	st := ScheduleStatus{Schedule: s.Schedule, Next: []time.Time{}}
	if s.Paused || !s.read {
		return st
	}
	for _, t := range s.spec.Following(s.Decided, n) {
		st.Next = append(st.Next, t.Add(s.Delay(s.Name, t)))
	}
	return st
}
