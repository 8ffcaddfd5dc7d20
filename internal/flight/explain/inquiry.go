package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/flight"
)

// An inquiry is what the rules look at.
type inquiry struct {
	members  []*member
	ranks    ranks
	events   []*event // of all members but steps, by time
	steps    []*event // of all members, by time
	stops    []*event // signs that something stopped, of the last incident
	from, to time.Time

	generation ergoflow.Generation // that trained when the incident began; 0: it is not known
}

// newCase merges and aligns the dumps of the run that the last of them is about.
func newCase(dumps []*flight.Dump, v *Verdict) *inquiry {
	c := &inquiry{members: gather(dumps)}
	align(c.members)
	c.choose(v)
	c.ranks = ranksOf(c.members)
	for _, m := range c.members {
		for _, e := range m.events {
			if e.Kind == flight.Stepped {
				c.steps = append(c.steps, e)
			} else {
				c.events = append(c.events, e)
			}
		}
	}
	byTime := func(a, b *event) int { return a.at.Compare(b.at) }
	slices.SortStableFunc(c.events, byTime)
	slices.SortStableFunc(c.steps, byTime)
	return c
}

// choose keeps the members of one run: that of the worker whose last sign of a stop is the
// latest, or else of the last dump. A coordinator is of all runs.
func (c *inquiry) choose(v *Verdict) {
	latest := make(map[string]time.Time)
	for _, m := range c.members {
		if m.run == "" {
			continue
		}
		if _, ok := latest[m.run]; !ok {
			latest[m.run] = time.Time{}
		}
		for _, e := range m.events {
			if isStop(e) && e.at.After(latest[m.run]) {
				latest[m.run] = e.at
			}
		}
	}
	var others []string
	for run, at := range latest {
		if v.Run == "" || at.After(latest[v.Run]) || at.Equal(latest[v.Run]) && run < v.Run {
			v.Run = run
		}
	}
	for run := range latest {
		if run != v.Run {
			others = append(others, fmt.Sprintf("%.12s", run))
		}
	}
	if len(others) == 0 {
		return
	}
	slices.Sort(others)
	v.Notes = append(v.Notes, fmt.Sprintf("the dumps are of %d runs: this is about run %.12s, and not about %s", len(latest), v.Run, strings.Join(others, ", ")))
	c.members = slices.DeleteFunc(c.members, func(m *member) bool { return m.run != "" && m.run != v.Run })
}

// Waits and work of the device that are shorter than this are no sign of a stop.
const longWait = 5 * time.Second

// isStop reports whether a record is a sign that something stopped or was disturbed.
func isStop(e *event) bool {
	switch e.Kind {
	case flight.Paused, flight.Clock, flight.Memory, flight.Slow, flight.Full, flight.Failed, flight.Diverged, flight.Left, flight.Unclean,
		flight.Stalled, flight.Complains, flight.Silent, flight.Lost, flight.Unfit, flight.Process:
		return true
	case flight.Waits:
		return e.Seconds >= longWait.Seconds()
	case flight.Doing:
		return e.Seconds >= longWait.Seconds() && strings.HasPrefix(e.Text, flight.DoingText(flight.PlaceRank, ""))
	case flight.Checked:
		return e.Text != "" && e.Text != flight.LinkWorks
	}
	return false
}

// quiet is the time without any sign that separates two incidents.
const quiet = 15 * time.Second

// findIncident finds the last signs that belong together. It reports whether there are any.
func (c *inquiry) findIncident() bool {
	var signs []*event
	for _, e := range c.events {
		if isStop(e) && !c.isOrderly(e) {
			signs = append(signs, e)
		}
	}
	if len(signs) == 0 {
		return false
	}
	slices.SortStableFunc(signs, func(a, b *event) int { return a.begin().Compare(b.begin()) })
	first := 0
	end := signs[0].at
	for i, e := range signs {
		if e.begin().Sub(end) > quiet {
			first = i
		}
		if e.at.After(end) {
			end = e.at
		}
	}
	c.stops = signs[first:]
	c.from, c.to = c.stops[0].begin(), end
	for _, e := range c.steps {
		if !e.at.After(c.from) {
			c.generation = e.Generation
		}
	}
	return true
}

// isOrderly reports whether a session ended because one of its ends left in order.
func (c *inquiry) isOrderly(e *event) bool {
	if e.Kind != flight.Left && e.Kind != flight.Lost {
		return false
	}
	if e.Kind == flight.Left && (strings.Contains(e.Text, flight.SaysTransferred) || strings.Contains(e.Text, flight.SaysLeft)) {
		return true
	}
	for _, m := range c.members {
		for _, other := range m.events {
			apart := other.at.Sub(e.at).Abs()
			if other.Kind == flight.Ends && apart < together && (m.Role == flight.Coordinator && e.Kind == flight.Left || m.ID == e.Worker && e.Kind == flight.Lost && strings.Contains(other.Text, flight.SaysLeft)) {
				return true
			}
		}
	}
	return false
}

// during are the signs of the incident of some kinds.
func (c *inquiry) during(kinds ...flight.Kind) (found []*event) {
	for _, e := range c.events {
		if slices.Contains(kinds, e.Kind) && !e.at.Before(c.from.Add(-time.Millisecond)) && !e.begin().After(c.to) {
			found = append(found, e)
		}
	}
	return found
}

// worker is the member with that id; nil: it has sent no dump.
func (c *inquiry) worker(id ergoflow.WorkerID) *member {
	for _, m := range slices.Backward(c.members) {
		if m.ID == id && id != "" {
			return m
		}
	}
	return nil
}

// lost is the record that the coordinator lost a worker in the incident; nil: it did not.
func (c *inquiry) lost(id ergoflow.WorkerID) *event {
	for _, e := range c.during(flight.Lost) {
		if e.Worker == id && !c.isOrderly(e) {
			return e
		}
	}
	return nil
}

// shortWait is a wait that every step may have, in seconds.
const shortWait = 0.2

// waitFor is the longest wait of another rank for a worker, about that time; nil: none is known.
func (c *inquiry) waitFor(id ergoflow.WorkerID, at time.Time) (longest *event) {
	for _, e := range c.during(flight.Waits) {
		if e.Worker == id && id != "" && e.Seconds >= shortWait && e.at.After(at.Add(-together)) && (longest == nil || e.Seconds > longest.Seconds) {
			longest = e
		}
	}
	return longest
}

// stopOfTraining is the last step that was made before training stopped, and the first after
// that: the two consecutive steps of a member that are the furthest apart about that time. If
// there is no next step, nobody had made one when the last dump was made. Nil: it is not known.
func (c *inquiry) stopOfTraining(at time.Time) (last, next *event) {
	widest := time.Duration(-1)
	for _, m := range c.members {
		var before *event
		apart := m.stepsApart()
		for _, e := range m.events {
			if e.Kind != flight.Stepped {
				continue
			}
			if p := before; p != nil && e.Step <= p.Step+apart && !e.at.Before(at) && !p.at.After(c.to.Add(together)) && e.at.Sub(p.at) > widest {
				widest, last, next = e.at.Sub(p.at), p, e
			}
			before = e
		}
	}
	if n := len(c.steps); n > 0 && (last == nil || widest < time.Second) {
		if e := c.steps[n-1]; c.lastSeen().Sub(e.at) > max(time.Second, widest) && !e.at.After(c.to.Add(together)) {
			return e, nil
		}
	}
	return last, next
}

// stepsApart is how far the step numbers of two consecutive records are apart: one, or with local
// steps those of a round.
func (m *member) stepsApart() ergoflow.Step {
	var apart, before ergoflow.Step
	for _, e := range m.events {
		if e.Kind != flight.Stepped {
			continue
		}
		if d := e.Step - before; before > 0 && d > 0 && (apart == 0 || d < apart) {
			apart = d
		}
		before = e.Step
	}
	return max(apart, 1)
}

// lastSeen is the time of the last dump.
func (c *inquiry) lastSeen() (last time.Time) {
	for _, m := range c.members {
		if m.dumped.After(last) {
			last = m.dumped
		}
	}
	return last
}
