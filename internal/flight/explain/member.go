package explain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/flight"
)

// An event is a record of a member, at a time that all members share.
type event struct {
	flight.Record
	at     time.Time
	member *member
}

// begin is when what the record tells of began.
func (e *event) begin() time.Time {
	switch e.Kind {
	case flight.Paused, flight.Slow, flight.Waits, flight.Doing, flight.Lost:
		return e.at.Add(-time.Duration(e.Seconds * float64(time.Second)))
	}
	return e.at
}

// A member is one process.
type member struct {
	flight.Identity
	run     string
	events  []*event // in the order of their numbers
	offset  time.Duration
	dumped  time.Time // the last time, in the time that all share
	present []*event  // of the last dump: what was so at that moment
}

// name is the member for people.
func (m *member) isWorker() bool { return m.Role == flight.Worker }

// maxEvents bounds the records that are kept of a member.
const maxEvents = 20_000

// gather merges the dumps of each process.
func gather(dumps []*flight.Dump) []*member {
	type key struct {
		role, host, id string
		pid            int
		began          int64
	}
	byKey := make(map[key][]*flight.Dump)
	var order []key
	for _, d := range dumps {
		p := d.Header.Process
		k := key{p.Role, p.Host, string(p.ID), p.PID, p.Began.UnixMilli()}
		if byKey[k] == nil {
			order = append(order, k)
		}
		byKey[k] = append(byKey[k], d)
	}
	var members []*member
	for _, k := range order {
		members = append(members, merge(byKey[k]))
	}
	return members
}

// merge makes a member of the dumps of one process.
func merge(dumps []*flight.Dump) *member {
	slices.SortStableFunc(dumps, func(a, b *flight.Dump) int { return cmp.Compare(a.Header.Since, b.Header.Since) })
	last := dumps[len(dumps)-1]
	m := &member{Identity: last.Header.Process, run: last.Header.Run}
	at := func(since float64) time.Time { return m.Began.Add(time.Duration(since * float64(time.Second))) }
	m.dumped = at(last.Header.Since)
	known := make(map[uint64]bool)
	for _, d := range dumps {
		for _, r := range d.Records {
			if known[r.Seq] {
				continue
			}
			known[r.Seq] = true
			e := &event{Record: r, at: at(r.Since), member: m}
			m.events = append(m.events, e)
			if d == last && r.Since >= d.Header.Since {
				m.present = append(m.present, e)
			}
		}
	}
	slices.SortFunc(m.events, func(a, b *event) int { return cmp.Compare(a.Seq, b.Seq) })
	m.events = m.events[max(0, len(m.events)-maxEvents):]
	return m
}

// align gives all members one time: that of a coordinator, or else of the member with the most
// steps. It takes the median of the differences between the times at which two members made the
// same step, and where they have none in common the time at which a worker's session opened.
func align(members []*member) {
	if len(members) == 0 {
		return
	}
	reference := slices.MaxFunc(members, func(a, b *member) int {
		isCoordinator := func(m *member) int {
			if m.Role == flight.Coordinator {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(isCoordinator(a), isCoordinator(b)), cmp.Compare(len(a.events), len(b.events)))
	})
	made := make(map[ergoflow.Mark]time.Time)
	joined := make(map[ergoflow.WorkerID]time.Time)
	for _, e := range reference.events {
		switch e.Kind {
		case flight.Stepped:
			made[ergoflow.Mark{Generation: e.Generation, Step: e.Step}] = e.at
		case flight.Joined:
			joined[e.Worker] = e.at
		}
	}
	for _, m := range members {
		if m == reference || m.Host == reference.Host && m.Host != "" && near(m, made) {
			continue // their clocks are the same
		}
		m.shift(m.difference(made, joined))
	}
}

// near reports whether a process of the same host shows no difference of clocks: unless its wall
// clock jumped, there is none.
func near(m *member, made map[ergoflow.Mark]time.Time) bool {
	d := m.difference(made, nil)
	return d.Abs() < 100*time.Millisecond
}

// difference is how far the reference's clock is ahead of the member's.
func (m *member) difference(made map[ergoflow.Mark]time.Time, joined map[ergoflow.WorkerID]time.Time) time.Duration {
	var all []time.Duration
	for _, e := range m.events {
		if e.Kind != flight.Stepped {
			continue
		}
		if at, ok := made[ergoflow.Mark{Generation: e.Generation, Step: e.Step}]; ok {
			all = append(all, at.Sub(e.at))
		}
	}
	if len(all) > 0 {
		slices.Sort(all)
		return all[len(all)/2]
	}
	for _, e := range slices.Backward(m.events) {
		if at, ok := joined[m.ID]; ok && e.Kind == flight.Joined {
			return at.Sub(e.at)
		}
	}
	return 0
}

func (m *member) shift(d time.Duration) {
	m.offset = d
	m.dumped = m.dumped.Add(d)
	for _, e := range m.events {
		e.at = e.at.Add(d)
	}
}

// ranks are the ranks of workers in generations, as members tell them.
type ranks map[ergoflow.Generation]map[ergoflow.WorkerID]int

func ranksOf(members []*member) ranks {
	r := make(ranks)
	for _, m := range members {
		for _, e := range m.events {
			if e.Kind != flight.Assigned || r[e.Generation] != nil {
				continue
			}
			r[e.Generation] = make(map[ergoflow.WorkerID]int)
			for rank, id := range strings.Fields(e.Members) {
				r[e.Generation][ergoflow.WorkerID(id)] = rank
			}
		}
	}
	return r
}

// of is the rank of a worker in a generation, or the last in which it had one.
func (r ranks) of(id ergoflow.WorkerID, generation ergoflow.Generation) (rank int, ok bool) {
	if rank, ok := r[generation][id]; ok {
		return rank, true
	}
	last := ergoflow.Generation(0)
	for g, members := range r {
		if in, has := members[id]; has && g >= last && (generation == 0 || g <= generation) {
			last, rank, ok = g, in, true
		}
	}
	return rank, ok
}
