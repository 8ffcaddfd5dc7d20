package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/data/random"
)

// State is what a schedule remembers.
type State struct {
	// Decided: about times up to this one all is decided. A new schedule begins with the time
	// at which it was added.
	Decided time.Time `json:"decided"`
	// Started has the newest times that were started. It keeps them from a second start where
	// the clock went back by more than a day, and Decided with it.
	Started []time.Time `json:"started,omitempty"`
	Paused  bool        `json:"paused,omitempty"`
}

// Decision is what Due decides.
type Decision struct {
	Start   []time.Time // times that start now, in order; with the schedule's name they name runs
	Passed  []Passed    // times that do not start, in order
	Next    time.Time   // first time that is not decided
	Wake    time.Time   // when Due has to be asked again at the latest: Next and its jitter
	Warning string      // of the clock; otherwise empty
}

// Passed is a row of times that do not start, for one reason.
type Passed struct {
	First  time.Time
	Last   time.Time
	Times  int // how many; counted up to MaxCounted
	Reason string
}

// MaxCounted is up to where Passed.Times is counted.
const MaxCounted = 1000

// clockError is how far the clock has to go back for times to be decided again. By less, the
// schedule waits until the clock has come back to where it was.
const clockError = 24 * time.Hour

// Due decides about the times that have come since it was last asked. It has nothing to say
// before Wake of the last decision. The new state has to be stored together with the runs that
// start. Ask before a change of Paused, so that the times of a pause are passed over and do
// not start when it ends.
//
// Due called again with the new state starts nothing twice. A clock that goes ahead leads to
// as many starts as the policy has for missed times, whatever the distance.
func (s Spec) Due(name string, p Policy, st State, now time.Time) (State, Decision) {
	var d Decision
	if ahead := st.Decided.Sub(now); ahead > clockError {
		d.Warning = fmt.Sprintf("the clock shows %s, but times up to %s are decided: it went back. Times after now count again",
			now.UTC().Format(time.RFC3339), st.Decided.UTC().Format(time.RFC3339))
		st.Decided = now
	}
	if last := s.ready(name, p, st.Decided, now); !last.IsZero() {
		d.Start, d.Passed = s.divide(p, st, last, now)
		st.Decided = last
		st.Started = remember(st.Started, d.Start, p.atOnce()+8)
	}
	if d.Next = s.Next(st.Decided); !d.Next.IsZero() {
		d.Wake = d.Next.Add(p.Delay(name, d.Next))
	}
	return st, d
}

// ready returns the last of the times after decided whose start has come, and that of all
// before it; the zero time if there is none.
func (s Spec) ready(name string, p Policy, decided, now time.Time) time.Time {
	last := s.Latest(decided, now.Add(-p.jitter())) // all these are
	from := decided
	if !last.IsZero() {
		from = last
	}
	for t := s.Next(from); !t.IsZero() && !t.Add(p.Delay(name, t)).After(now); t = s.Next(t) {
		last = t
	}
	return last
}

// divide decides about all times after st.Decided up to last.
func (s Spec) divide(p Policy, st State, last, now time.Time) (start []time.Time, passed []Passed) {
	pass := func(after, until time.Time, reason string) {
		if times := s.Between(after, until, MaxCounted); len(times) > 0 {
			passed = append(passed, Passed{times[0], s.Latest(after, until), len(times), reason})
		}
	}
	if st.Paused {
		pass(st.Decided, last, "paused")
		return nil, passed
	}
	from := st.Decided // about what comes now
	if late := p.late(); late > 0 {
		if limit := now.Add(-late - 1); limit.After(from) { // late itself is in time
			from = limit
			if from.After(last) {
				from = last
			}
			pass(st.Decided, from, fmt.Sprintf("too late: more than %v after its time", late))
		}
	}
	newest := last
	for range p.atOnce() {
		t := s.Latest(from, newest)
		if t.IsZero() {
			break
		}
		start = append(start, t)
		newest = t.Add(-1)
	}
	slices.Reverse(start)
	if len(start) > 0 {
		pass(from, newest, "missed: "+instead(p))
	}
	for _, t := range start {
		if started(st.Started, t) {
			pass(t.Add(-1), t, "started before")
		}
	}
	return slices.DeleteFunc(start, func(t time.Time) bool { return started(st.Started, t) }), passed
}

// instead says what starts in place of a missed time.
func instead(p Policy) string {
	if n := p.atOnce(); n > 1 {
		return fmt.Sprintf("of more than %d missed times the newest start", n)
	}
	return "a later time starts instead"
}

func started(times []time.Time, t time.Time) bool { return slices.ContainsFunc(times, t.Equal) }

// remember returns the newest times of both lists, in order.
func remember(times, more []time.Time, keep int) []time.Time {
	if len(more) == 0 {
		return times
	}
	all := make([]time.Time, 0, len(times)+len(more))
	for _, t := range slices.Concat(times, more) {
		all = append(all, t.UTC())
	}
	slices.SortFunc(all, time.Time.Compare)
	return slices.Clip(all[max(0, len(all)-keep):])
}

// Delay is how long after a time it starts: uniform on [0, jitter) in whole seconds, as a
// function of the schedule's name and the time alone.
func (p Policy) Delay(name string, t time.Time) time.Duration {
	if p.JitterSeconds == 0 {
		return 0
	}
	hash, _ := random.Key(0, "schedule/jitter/"+name, uint64(t.Unix()))
	return time.Duration(hash%uint64(p.JitterSeconds)) * time.Second
}
