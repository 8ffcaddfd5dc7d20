package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/internal/flight"
)

// killedCoordinator: a coordinator found at its start that the last one had not ended in order,
// or the workers' streams to it broke and nothing came from it later.
func killedCoordinator(c *inquiry) (found []finding) {
	left := c.brokenStreams()
	for _, e := range c.during(flight.Unclean) {
		f := finding{cause: causeKilled, culprit: Culprit{Kind: Coordinator, Host: e.member.Host, PID: e.PID}, certainty: seen, at: e.at, events: []*event{e}, hint: coordinatorHint}
		when := fmt.Sprintf("before %s UTC, when the next one began", clock(e.at))
		for _, l := range left {
			if l.at.Before(e.at) && e.at.Sub(l.at) < time.Hour {
				f.at, when = l.at, fmt.Sprintf("at %s UTC", clock(l.at))
				f.events = append(f.events, l)
				break
			}
		}
		f.says = fmt.Sprintf("The coordinator (pid %d, host %s) ended %s, and not in order: it was killed, or its machine went down.", e.PID, e.member.Host, when)
		f.addStreams(left)
		f.more = append(f.more, fmt.Sprintf("The next coordinator (pid %d) began at %s UTC.", e.member.PID, clock(e.member.Began.Add(e.member.offset))))
		found = append(found, f)
	}
	if len(found) > 0 || len(left) == 0 {
		return found
	}
	for _, m := range c.members {
		if m.Role == flight.Coordinator && (m.dumped.After(left[0].at) || m.ended()) {
			return nil
		}
	}
	f := finding{cause: causeKilled, culprit: Culprit{Kind: Coordinator}, certainty: inferred, at: left[0].at, hint: coordinatorHint,
		says: fmt.Sprintf("The coordinator ended at %s UTC: it was killed, or its machine went down.", clock(left[0].at))}
	f.addStreams(left)
	f.more = append(f.more, "No coordinator has stored a dump since.")
	return []finding{f}
}

const coordinatorHint = "start it again on the same directory: workers find it by themselves, and nothing is lost"

// addStreams adds what workers noticed of the coordinator's end.
func (f *finding) addStreams(left []*event) {
	if len(left) == 0 {
		return
	}
	f.more = append(f.more, fmt.Sprintf("The sessions of %s broke at that time: %s.", plural(len(left), "worker"), left[0].Text))
	f.events = append(f.events, left[:min(3, len(left))]...)
}

// brokenStreams are the sessions that ended because a stream broke, and not because the
// coordinator ended them.
func (c *inquiry) brokenStreams() (left []*event) {
	for _, e := range c.during(flight.Left) {
		if strings.Contains(e.Text, "EOF") || strings.Contains(e.Text, "connection re") || strings.Contains(e.Text, "transport") || strings.Contains(e.Text, "Unavailable") {
			if c.lost(e.member.ID) == nil {
				left = append(left, e)
			}
		}
	}
	return left
}

// ended reports whether the process ended in order.
func (m *member) ended() bool {
	for _, e := range m.events {
		if e.Kind == flight.Ends {
			return true
		}
	}
	return false
}

// silentCoordinator: workers hear nothing from the coordinator, and their streams did not break.
func silentCoordinator(c *inquiry) (found []finding) {
	var silent []*event
	for _, e := range c.during(flight.Left) {
		if strings.Contains(e.Text, flight.SaysSilentCoordinator) {
			silent = append(silent, e)
		}
	}
	if len(silent) == 0 {
		return nil
	}
	f := finding{cause: causeCoordinator, culprit: Culprit{Kind: Coordinator}, certainty: inferred, at: silent[0].at.Add(-10 * time.Second), events: silent[:min(3, len(silent))],
		says: fmt.Sprintf("The coordinator fell silent for %s at about %s UTC, and their streams did not break: it is stopped or overloaded, or its host is cut off.", plural(len(silent), "worker"), clock(silent[0].at.Add(-10*time.Second))),
		hint: "look at the coordinator's host and process"}
	return []finding{f}
}
