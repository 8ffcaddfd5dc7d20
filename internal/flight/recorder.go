package flight

import (
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ergoflow/ergoflow"
)

// Bounds of a recorder. A record has 232 bytes without its texts, so that all rings have 2.9 MiB
// and the texts of events 4 MiB.
const (
	maxEvents   = 8192
	maxSteps    = 4096
	maxOldSteps = 1024
	maxTexts    = 4 << 20 // bytes
)

// Roles of processes.
const (
	Worker      = "worker"
	Coordinator = "coordinator"
	Command     = "command"
)

// Identity says which process a dump is of.
type Identity struct {
	Role    string            `json:"role"`
	ID      ergoflow.WorkerID `json:"id,omitempty"` // of a worker
	Host    string            `json:"host"`
	PID     int               `json:"pid"`
	Version string            `json:"version"`
	Began   time.Time         `json:"began"` // by its wall clock
}

// A Recorder is the memory of one process. A nil *Recorder records nothing. All methods are
// safe for concurrent use.
type Recorder struct {
	began time.Time // with its monotonic reading

	mu       sync.Mutex
	identity Identity
	run      string // hash of the run
	seq      uint64
	events   ring
	steps    ring
	oldSteps ring
	texts    int // bytes in events
	doing    map[string]doing
}

// doing is something that the process does and that has not ended.
type doing struct {
	what       string
	generation ergoflow.Generation
	step       ergoflow.Step
	since      time.Time
}

// New returns the recorder of this process. The id of a worker follows by Name.
func New(role string) *Recorder {
	host, _ := os.Hostname() // empty where there is none
	r := &Recorder{began: time.Now(), doing: make(map[string]doing)}
	r.identity = Identity{Role: role, Host: clip(host, 128), PID: os.Getpid(), Version: ergoflow.Build(), Began: r.began.UTC()}
	r.events.most, r.steps.most, r.oldSteps.most = maxEvents, maxSteps, maxOldSteps
	r.Add(Record{Kind: Began})
	return r
}

// Name says which worker the process is.
func (r *Recorder) Name(id ergoflow.WorkerID) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.identity.ID = id
}

// Identity is the process.
func (r *Recorder) Identity() Identity {
	if r == nil {
		return Identity{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.identity
}

// Run says for which run the process works.
func (r *Recorder) Run(hash string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run = clip(hash, 64)
}

// Add records an event. It fills in the number and the times.
func (r *Recorder) Add(e Record) {
	if r == nil {
		return
	}
	e.clean()
	e.finite()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stamp(&e)
	r.texts += e.size()
	if old, full := r.events.push(e); full {
		r.texts -= old.size()
	}
	for r.texts > maxTexts {
		r.texts -= r.events.drop().size()
	}
}

// Step records a step that was applied. It allocates nothing.
func (r *Recorder) Step(generation ergoflow.Generation, step ergoflow.Step, loss float64, phases Phases) {
	if r == nil {
		return
	}
	e := Record{Kind: Stepped, Generation: generation, Step: step, Value: loss, Phases: phases}
	e.finite()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stamp(&e)
	old, full := r.steps.push(e)
	if !full {
		return
	}
	if last, ok := r.oldSteps.last(); !ok || old.Since-last.Since >= 1 || old.Generation != last.Generation {
		r.oldSteps.push(old)
	}
}

// Begin says what the process does from now on at a place, such as its rank. An empty text ends
// that.
func (r *Recorder) Begin(place, what string, generation ergoflow.Generation, step ergoflow.Step) {
	if r == nil {
		return
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if what == "" {
		delete(r.doing, place)
		return
	}
	r.doing[place] = doing{what, generation, step, now}
}

// finite replaces numbers that JSON cannot write.
func (e *Record) finite() {
	p := &e.Phases
	for _, v := range []*float64{&e.Value, &e.Seconds, &e.Limit, &p.Data, &p.Gradient, &p.Copy, &p.Ring, &p.Update, &p.Other} {
		if math.IsNaN(*v) || math.IsInf(*v, 0) {
			*v = 0
		}
	}
}

// stamp numbers a record; mu is held.
func (r *Recorder) stamp(e *Record) {
	now := time.Now()
	r.seq++
	e.Seq, e.Wall, e.Since = r.seq, now.Round(0).UTC(), now.Sub(r.began).Seconds()
}

// Dump is what the recorder holds now, with more that is known at this moment.
func (r *Recorder) Dump(occasion string, more ...Record) *Dump {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	d := &Dump{Header: Header{Format: Format, Process: r.identity, Run: r.run, Occasion: Clean(occasion), At: now.Round(0).UTC(), Since: now.Sub(r.began).Seconds()}}
	d.Records = slices.Concat(r.events.all(), r.oldSteps.all(), r.steps.all())
	for place, a := range r.doing {
		more = append(more, Record{Kind: Doing, Generation: a.generation, Step: a.step, Seconds: now.Sub(a.since).Seconds(), Text: DoingText(place, a.what)})
	}
	for _, e := range more {
		e.clean()
		e.finite()
		r.stamp(&e)
		d.Records = append(d.Records, e)
	}
	slices.SortFunc(d.Records, func(a, b Record) int { return int(a.Seq) - int(b.Seq) })
	return d
}

// A ring keeps the last records.
type ring struct {
	most  int
	first int // index of the oldest
	list  []Record
	size  int
}

// push adds a record, in place of the oldest if the ring is full.
func (g *ring) push(e Record) (old Record, full bool) {
	if g.size == g.most {
		old, full = g.list[g.first], true
		g.list[g.first] = e
		g.first = (g.first + 1) % g.most
		return old, full
	}
	if len(g.list) < g.most && g.first+g.size == len(g.list) {
		g.list = append(g.list, e)
	} else {
		g.list[(g.first+g.size)%g.most] = e
	}
	g.size++
	return old, false
}

// drop removes the oldest record of a ring that is not empty.
func (g *ring) drop() *Record {
	if len(g.list) < g.most { // so that an index is never beyond the list
		g.list = append(g.list, make([]Record, g.most-len(g.list))...)
	}
	old := g.list[g.first]
	g.list[g.first] = Record{}
	g.first, g.size = (g.first+1)%g.most, g.size-1
	return &old
}

func (g *ring) last() (Record, bool) {
	if g.size == 0 {
		return Record{}, false
	}
	return g.list[(g.first+g.size-1)%g.most], true
}

// all are the records, the oldest first.
func (g *ring) all() []Record {
	list := make([]Record, 0, g.size)
	for i := range g.size {
		list = append(list, g.list[(g.first+i)%g.most])
	}
	return list
}
