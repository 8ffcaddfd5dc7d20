package worker

import (
	"maps"
	"slices"
	"sync"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// A meter counts what a worker does, for its metrics. It outlives sessions and generations. Its
// methods may be called concurrently.
type meter struct {
	mu sync.Mutex
	counts
	place place
	ring  *allreduce.Ring // of the generation; nil: it is in none
	// past has what the links of earlier generations carried, of the workers of this one alone:
	// so the number of series is bounded by a generation's.
	past map[ergoflow.WorkerID]traffic
}

// counts are all since the start of the process.
type counts struct {
	steps    uint64
	phases   message.Timing // seconds, summed over the steps
	broken   uint64         // generations that ended with an error of this worker
	jobs     map[jobOutcome]uint64
	uploads  map[uploadOutcome]uint64
	upload   float64 // seconds of the uploads
	fetched  map[message.SourceKind]uint64
	refusals uint64
}

// place is where a worker is in a generation.
type place struct {
	generation ergoflow.Generation
	rank       int // −1: it is in none
	members    []ergoflow.WorkerID
}

// traffic are bytes of numbers on a link.
type traffic struct{ sent, received uint64 }

type jobOutcome string

const (
	jobMade      jobOutcome = "made"
	jobFailed    jobOutcome = "failed"
	jobPostponed jobOutcome = "postponed" // the disk is full
	jobStopped   jobOutcome = "stopped"   // handed back
)

type uploadOutcome string

const (
	uploadSaved   uploadOutcome = "saved"
	uploadFailed  uploadOutcome = "failed"
	uploadSkipped uploadOutcome = "skipped" // the one before was under way
)

func newMeter() *meter {
	return &meter{place: place{rank: -1}, past: make(map[ergoflow.WorkerID]traffic), counts: counts{
		jobs: make(map[jobOutcome]uint64), uploads: make(map[uploadOutcome]uint64), fetched: make(map[message.SourceKind]uint64),
	}}
}

// joined says that the worker takes part in a generation. Links of workers that are not in it are
// forgotten.
func (m *meter) joined(ring *allreduce.Ring, members []ergoflow.WorkerID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := ring.Identity()
	m.ring, m.place = ring, place{id.Generation, id.Rank, members}
	maps.DeleteFunc(m.past, func(w ergoflow.WorkerID, _ traffic) bool { return !slices.Contains(members, w) })
}

// left says that the generation has ended.
func (m *meter) left() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ring == nil {
		return
	}
	m.past = m.links()
	m.ring, m.place.rank = nil, -1
}

// generation is the ring of the generation with its members by rank; nil: the worker is in none.
func (m *meter) generation() (*allreduce.Ring, []ergoflow.WorkerID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ring, m.place.members
}

// links has the bytes of every link, of earlier generations, too; mu is held.
func (m *meter) links() map[ergoflow.WorkerID]traffic {
	links := maps.Clone(m.past)
	if m.ring == nil {
		return links
	}
	for _, t := range m.ring.Traffic() {
		id := m.place.members[t.Rank]
		before := links[id]
		links[id] = traffic{before.sent + t.Sent, before.received + t.Received}
	}
	return links
}

// stepped counts a step.
func (m *meter) stepped(t message.Timing) {
	m.count(func(c *counts) {
		c.steps++
		c.phases.Data += t.Data
		c.phases.Gradient += t.Gradient
		c.phases.Copy += t.Copy
		c.phases.Ring += t.Ring
		c.phases.Update += t.Update
		c.phases.Other += t.Other
	})
}

func (m *meter) count(add func(c *counts)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	add(&m.counts)
}

// reading is what the metrics of one scrape are made of.
type reading struct {
	counts
	place
	links map[ergoflow.WorkerID]traffic
}

func (m *meter) read() reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := reading{m.counts, m.place, m.links()}
	r.jobs, r.uploads, r.fetched = maps.Clone(r.jobs), maps.Clone(r.uploads), maps.Clone(r.fetched)
	return r
}
