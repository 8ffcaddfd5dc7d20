package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/flight"
)

func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// stuckDevice: a rank has computed for long, and its ring waits for nobody; the others wait for
// it. Or the device came back, and the step that it took is recorded.
func stuckDevice(c *inquiry) (found []finding) {
	for _, e := range c.during(flight.Slow) {
		if !strings.HasPrefix(e.Text, flight.SlowDevice) {
			continue
		}
		m := e.member
		usual := fmt.Sprintf("A step usually takes it %s.", seconds(m.usualDevice()))
		found = append(found, finding{cause: causeDevice, culprit: m.culprit(), certainty: seen, at: e.begin(), events: []*event{e}, hint: deviceHint,
			says: fmt.Sprintf("The device of %s was stuck: step %d took it %s, from %s to %s UTC.", c.named(m, e.Generation), e.Step, seconds(e.Seconds), clock(e.begin()), clock(e.at)),
			more: []string{usual}})
	}
	for _, e := range c.during(flight.Doing) {
		m := e.member
		if e.Seconds < longWait.Seconds() || e.Text != flight.DoingText(flight.PlaceRank, flight.DoesCompute) || m.waitedAt(e.at) || m.steppedAfter(e.at) {
			continue
		}
		usual := m.usualDevice()
		f := finding{cause: causeDevice, culprit: m.culprit(), certainty: inferred, at: e.begin(), events: []*event{e}, hint: deviceHint,
			says: fmt.Sprintf("The device of %s is stuck: it computes the gradient after step %d since %s UTC, for %s.", c.named(m, e.Generation), e.Step, clock(e.begin()), seconds(e.Seconds))}
		if usual > 0 {
			f.more = append(f.more, fmt.Sprintf("A step usually takes its device %s; its process lives, since it sent its dump.", seconds(usual)))
		}
		if e.Seconds > 20*usual && usual > 0 || c.waitFor(m.ID, e.begin()) != nil {
			f.certainty = seen
		}
		found = append(found, f)
	}
	return found
}

const deviceHint = "look at the device (nvidia-smi, dmesg) and at what else computes on it; a worker whose device hangs ends 15 s after SIGTERM, and the others go on without it"

// stuckStore: a rank waits for its batch, which is made from shards that it maps.
func stuckStore(c *inquiry) (found []finding) {
	for _, e := range c.during(flight.Doing) {
		m := e.member
		if e.Seconds < longWait.Seconds() || e.Text != flight.DoingText(flight.PlaceRank, flight.DoesRead) || m.steppedAfter(e.at) {
			continue
		}
		found = append(found, finding{cause: causeStore, culprit: Culprit{Kind: Disk, Worker: m.ID, Host: m.Host}, certainty: inferred, at: e.begin(), events: []*event{e},
			says: fmt.Sprintf("%s waits for its batch after step %d since %s UTC, for %s: that is made of shards, which it reads from the store.", title(c.named(m, e.Generation)), e.Step, clock(e.begin()), seconds(e.Seconds)),
			hint: "look at the shard store's file system on that host (mount, NFS server), and at what takes its processors"})
	}
	return found
}

// waitedAt reports whether the member's ring waited for a message at the dump of that time.
func (m *member) waitedAt(at time.Time) bool {
	for _, e := range m.events {
		if e.Kind == flight.Waits && e.at.Sub(at).Abs() < 100*time.Millisecond && e.Seconds > longWait.Seconds()/2 {
			return true
		}
	}
	return false
}

// steppedAfter reports whether the member made a step after that time.
func (m *member) steppedAfter(at time.Time) bool {
	for _, e := range slices.Backward(m.events) {
		if e.Kind == flight.Stepped {
			return e.at.After(at)
		}
	}
	return false
}

// usualDevice is the median time of the member's device in a step; 0: it is not known.
func (m *member) usualDevice() float64 {
	var all []float64
	for _, e := range m.events {
		if p := e.Phases; e.Kind == flight.Stepped {
			all = append(all, float64(p.Gradient+p.Copy+p.Update))
		}
	}
	return median(all)
}

// refusal is how systems say that nobody listens at a port, or that a firewall rejects.
const refusal = "connection refused"

// closedPort: others are refused at the data port of a worker that the coordinator hears.
func closedPort(c *inquiry) (found []finding) {
	refused := make(map[ergoflow.WorkerID][]*event)
	var order []ergoflow.WorkerID
	for _, e := range c.during(flight.Complains, flight.Checked, flight.Broken, flight.Failed, flight.Decided) {
		id := e.Peer
		if e.Kind == flight.Broken {
			id = e.Worker
		}
		if id == "" || !strings.Contains(e.Text, refusal) {
			continue
		}
		if refused[id] == nil {
			order = append(order, id)
		}
		refused[id] = append(refused[id], e)
	}
	for _, id := range order {
		events := refused[id]
		if c.lost(id) != nil {
			continue // its process has ended: the port is closed with it
		}
		by := make(map[ergoflow.WorkerID]bool)
		for _, e := range events {
			by[cmpOr(e.Worker, e.member.ID, id)] = true
		}
		first := events[0]
		f := finding{cause: causePort, culprit: c.culpritOf(id, 0), certainty: seen, at: c.firstSign(id, first.at), events: events[:min(4, len(events))],
			says: fmt.Sprintf("The data port of %s is closed: %s refused there since %s UTC.", c.who(id, first.Generation), was(len(by), "other worker"), clock(first.at)),
			more: []string{fmt.Sprintf("One of them says: %s.", first.Text), "The coordinator still hears that worker, so that its process lives."},
			hint: "open its data port (worker --listen) in the firewall, and look whether its address still belongs to its host; it joins again by itself"}
		found = append(found, f)
	}
	return found
}

// cmpOr is the first id that is not empty and not the one that is excluded.
func cmpOr(a, b, not ergoflow.WorkerID) ergoflow.WorkerID {
	if a != "" && a != not {
		return a
	}
	return b
}

func was(n int, what string) string {
	if n == 1 {
		return "1 " + what + " was"
	}
	return fmt.Sprintf("%d %ss were", n, what)
}

// firstSign is when others first complained about a worker in the incident.
func (c *inquiry) firstSign(id ergoflow.WorkerID, at time.Time) time.Time {
	for _, e := range c.during(flight.Complains, flight.Broken, flight.Silent) {
		if (e.Peer == id || e.Kind == flight.Broken && e.Worker == id) && e.at.Before(at) {
			at = e.at
		}
	}
	return at
}

// cutLink: a worker hears nothing from another, which the coordinator hears. Often both hear
// nothing soon, since a sender that gets no answers stops: then the one to which the other still
// sends, again and again, is the end that cannot be heard.
func cutLink(c *inquiry) (found []finding) {
	type pair struct{ deaf, mute ergoflow.WorkerID }
	heard := make(map[pair][]*event)
	var order []pair
	for _, e := range c.during(flight.Silent) {
		p := pair{e.Worker, e.Peer}
		if c.lost(p.mute) != nil || c.lost(p.deaf) != nil {
			continue // the process is silent, and not a link
		}
		if heard[p] == nil {
			order = append(order, p)
		}
		heard[p] = append(heard[p], e)
	}
	done := make(map[pair]bool)
	for _, p := range order {
		back := pair{p.mute, p.deaf}
		if done[back] {
			continue
		}
		done[p] = true
		atDeaf, atMute := c.linkAt(p.deaf, p.mute, heard[p][0].at), c.linkAt(p.mute, p.deaf, heard[p][0].at)
		if again(atDeaf) && !again(atMute) { // the other way round
			p, back, atDeaf, atMute = back, p, atMute, atDeaf
		}
		first := heard[p]
		if first == nil {
			first = heard[back]
		}
		at := first[0].at.Add(-silence)
		f := finding{cause: causeLink, certainty: seen, at: at, events: slices.Clone(first[:min(2, len(first))]), culprit: Culprit{Kind: Link, Worker: p.mute, Peer: p.deaf},
			hint: "mend the route or the firewall between the two data addresses (addr in `ergoflow status`); the worker that is left out joins again by itself"}
		mute, deaf := c.who(p.mute, first[0].Generation), c.who(p.deaf, first[0].Generation)
		switch {
		case again(atMute) && !again(atDeaf):
			f.says = fmt.Sprintf("The link from %s to %s carries nothing since %s UTC.", mute, deaf, clock(at))
			f.more = append(f.more, fmt.Sprintf("The other direction works: %s TCP segments reached %s after that, since %s got no answer and sent the same again.", number(atMute.Value), mute, deaf))
		case heard[back] == nil && atMute != nil && atMute.Seconds < silence.Seconds()-0.5:
			f.says = fmt.Sprintf("The link from %s to %s carries nothing since %s UTC.", mute, deaf, clock(at))
			f.more = append(f.more, fmt.Sprintf("The other direction worked: something had come %s before.", seconds(atMute.Seconds+0.25)))
		default:
			f.says = fmt.Sprintf("The link between %s and %s carries nothing since %s UTC.", mute, deaf, clock(at))
			f.more = append(f.more, "The dumps do not tell whether one direction still works.")
		}
		for _, e := range []*event{atDeaf, atMute} {
			if e != nil {
				f.events = append(f.events, e)
			}
		}
		f.more = append(f.more, "The coordinator hears both, so that both processes live.")
		found = append(found, f)
	}
	return found
}

// silence is how long a link carries nothing before its ring ends.
const silence = 1750 * time.Millisecond

func number(n float64) string { return fmt.Sprintf("%.0f", n) }

// again reports whether the other end of a link has sent again what had arrived.
func again(link *event) bool { return link != nil && link.Value >= 1 }

// linkAt is what a worker noted about its link to another when a generation broke; nil: nothing.
func (c *inquiry) linkAt(id, other ergoflow.WorkerID, at time.Time) *event {
	m := c.worker(id)
	if m == nil {
		return nil
	}
	for _, e := range m.events {
		if e.Kind == flight.Link && e.Worker == other && e.at.Sub(at).Abs() < together && e.Seconds > 0 {
			return e
		}
	}
	return nil
}
