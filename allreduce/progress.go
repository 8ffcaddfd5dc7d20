package allreduce

import (
	"sync"
	"time"

	"github.com/ergoflow/ergoflow"
)

// Progress is how far a ring has come, for people who ask why it stands still.
type Progress struct {
	Generation ergoflow.Generation
	Rank       int
	Waits      *Wait // for a message of another rank; nil: it does not wait for one
	Links      []LinkProgress
}

// A Wait is a message that the ring waits for.
type Wait struct {
	From  int // rank
	Chunk Chunk
	Since time.Time
}

// A Chunk is one message of the schedule.
type Chunk struct {
	Step    ergoflow.Step
	Bucket  int // call of AllReduce within the step
	Segment int // in an exchange: the rank whose vector it is
	Number  int // within the segment
}

// LinkProgress is the state of the streams between this rank and another.
type LinkProgress struct {
	Rank           int
	Sent, Received *Chunk        // the last; nil: none yet, or no such stream
	Quiet          time.Duration // nothing has come for so long, not even signs of life; counted while the ring waits
	Repeated       uint64        // TCP segments that have come in this time: the other sends again what has arrived
	Unreachable    bool          // there is no way to its host
}

// tracker notes the progress of a ring. AllReduce writes it, Progress reads it.
type tracker struct {
	mu       sync.Mutex
	waits    *Wait
	wait     Wait // what waits points to
	sent     map[int]Chunk
	received map[int]Chunk
}

func chunkOf(h header) Chunk {
	return Chunk{h.step, int(h.bucket), int(h.segment), int(h.chunk)}
}

func (t *tracker) noteSent(to int, h header) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sent == nil {
		t.sent = make(map[int]Chunk)
	}
	t.sent[to] = chunkOf(h)
}

func (t *tracker) noteWait(from int, h header) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wait = Wait{from, chunkOf(h), now}
	t.waits = &t.wait
}

// noteReceived ends the wait that noteWait has begun.
func (t *tracker) noteReceived() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.received == nil {
		t.received = make(map[int]Chunk)
	}
	t.received[t.wait.From] = t.wait.Chunk
	t.waits = nil
}

// Progress returns how far the ring has come, also after it has failed.
func (r *Ring) Progress() Progress {
	p := Progress{Generation: r.id.Generation, Rank: r.id.Rank}
	r.tracker.mu.Lock()
	defer r.tracker.mu.Unlock()
	if w := r.tracker.waits; w != nil {
		waits := *w
		p.Waits = &waits
	}
	links := make(map[int]*LinkProgress)
	of := func(rank int) *LinkProgress {
		if links[rank] == nil {
			links[rank] = &LinkProgress{Rank: rank}
		}
		return links[rank]
	}
	for _, to := range r.sinks {
		l := of(to.rank)
		l.Unreachable = to.unreachable.Load()
		if c, ok := r.tracker.sent[to.rank]; ok {
			l.Sent = &c
		}
	}
	for _, from := range r.sources {
		l := of(from.rank)
		l.Quiet, l.Repeated = time.Duration(from.silence.beats.Load())*beatInterval, from.silence.repeated.Load()
		if c, ok := r.tracker.received[from.rank]; ok {
			l.Received = &c
		}
	}
	for rank := range r.id.World {
		if l := links[rank]; l != nil {
			p.Links = append(p.Links, *l)
		}
	}
	return p
}
