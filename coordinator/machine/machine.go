package machine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
)

// Config holds the machine's times and bounds. Zero values mean the defaults.
type Config struct {
	Version       string        // that workers must have
	PingInterval  time.Duration // 250 ms
	PingTimeout   time.Duration // 1.5 s: a worker's silence that ends its session
	Patience      time.Duration // 10 s: the coordinator's, after which workers look for it elsewhere
	Lease         time.Duration // 4 s: in which a worker that was heard may apply steps
	Absence       time.Duration // 5 s: for which the members of the last generation are waited for; longer than Lease
	Settle        time.Duration // 2 s: for workers that still prepare, after the first has
	ReportTimeout time.Duration // 30 s: from Form to Report; a step under way ends before
	ReadyTimeout  time.Duration // 60 s: from Assign to Ready; states travel meanwhile
	DrainTimeout  time.Duration // 10 s: from Drain or Stop to Leave, whatever happens
	Rescan        time.Duration // 2 s: between looks into the shard store while generating
	Backoff       time.Duration // 250 ms: doubled by every complaint without a step, to 5 s
	Attempts      int           // 8: generations in a row that may end in complaints without a step
}

const maxBackoff = 5 * time.Second

func (c Config) withDefaults() Config {
	c.PingInterval = cmp.Or(c.PingInterval, 250*time.Millisecond)
	c.PingTimeout = cmp.Or(c.PingTimeout, 1500*time.Millisecond)
	c.Patience = cmp.Or(c.Patience, 10*time.Second)
	c.Lease = cmp.Or(c.Lease, 4*time.Second)
	c.Absence = cmp.Or(c.Absence, c.Lease*5/4)
	c.Settle = cmp.Or(c.Settle, 2*time.Second)
	c.ReportTimeout = cmp.Or(c.ReportTimeout, 30*time.Second)
	c.ReadyTimeout = cmp.Or(c.ReadyTimeout, time.Minute)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 10*time.Second)
	c.Rescan = cmp.Or(c.Rescan, 2*time.Second)
	c.Backoff = cmp.Or(c.Backoff, 250*time.Millisecond)
	c.Attempts = cmp.Or(c.Attempts, 8)
	return c
}

// Machine is the state. It is not for use by several goroutines.
type Machine struct {
	config   Config
	clock    time.Time     // as last told
	skew     time.Duration // by which it has gone backwards, all in all
	now      time.Time     // of the event being handled: clock + skew
	lastTick time.Time
	ledger   Ledger
	run      run
	workers  []*worker // in the order in which they came: the order of ranks
	sessions map[Session]*worker
	ids      map[ergoflow.WorkerID]*worker
	holders  map[ergoflow.WorkerID]bool // as the ledger has them
	current  *generation
	ended    string // why the last generation ended
	stopping bool
	stopped  bool
	orders   uint64   // to prepare, so far
	departed []Worker // the last maxWorkers that are no longer there, the newest last

	effects []Effect
	reasons []string
}

// worker is one session.
type worker struct {
	Worker
	session     Session
	heard       time.Time // last message
	pinged      time.Time
	beat        uint64 // number of the last heartbeat
	doing       string
	phase       phase
	order       uint64 // to prepare, the last one
	reason      string // why it is excluded
	draining    bool
	leaveReason string         // where draining
	leaveBy     time.Time      // where draining
	saving      bool           // where draining: its state is awaited as a checkpoint,
	saveFrom    ergoflow.Mark  // of this state or a later one
	hasState    bool           // a state of the present run, as far as is known
	state       ergoflow.Mark  // which
	steps       recent[Timing] // of its last generation
	slowness    slowness
	weight      float64 // share of the shards, relative to others; zero: 1
}

// phase of a worker in the present run.
type phase int

const (
	connected  phase = iota // nothing asked of it
	generating              // told to pull jobs
	preparing               // told to prepare
	prepared                // may be a member
	failed                  // excluded from the run
)

// New returns the machine that continues from a ledger; the zero Ledger begins.
// Its first event must be Start.
func New(config Config, ledger Ledger) *Machine {
	m := &Machine{config: config.withDefaults(), ledger: ledger,
		sessions: make(map[Session]*worker), ids: make(map[ergoflow.WorkerID]*worker)}
	m.setHolders(ledger.Holders)
	return m
}

// Step handles one event. Where the clock has gone backwards, no time has passed;
// where it has leapt forwards, see tick.
func (m *Machine) Step(now time.Time, event Event) (effects []Effect, reason string) {
	m.skew += max(0, m.clock.Sub(now))
	m.clock = now
	m.now, m.effects, m.reasons = now.Add(m.skew), nil, nil
	switch e := event.(type) {
	case Start:
		m.start()
	case Tick:
		m.tick()
	case Submit:
		m.submit(e)
	case Scanned:
		m.scanned(e)
	case Unreadable:
		if m.concerns(e.Run) && m.run.checkpoint == e.Damaged { // else there is a newer one by now
			m.run.hasCheckpoint, m.run.checkpoint = e.HasCheckpoint, e.Checkpoint
		}
	case Unpublished:
		m.unpublished(e)
	case Generated:
		m.generated(e)
	case Dead:
		m.dead(e)
	case Saved:
		m.saved(e)
	case NotSaved:
		m.notSaved(e)
	case Stop:
		m.stop()
	case Hello:
		m.hello(e)
	case Closed:
		m.closed(e)
	case Alive:
		m.alive(e)
	default:
		m.fromWorker(event)
	}
	m.advance()
	return m.effects, joinReasons(m.reasons)
}

// fromWorker handles the messages of an open session.
func (m *Machine) fromWorker(event Event) {
	switch e := event.(type) {
	case Heartbeat:
		if w := m.hear(e.Session); w != nil {
			m.heartbeat(w, e)
		}
	case Prepared:
		if w := m.hear(e.Session); w != nil {
			m.workerPrepared(w, e)
		}
	case Report:
		if w := m.hear(e.Session); w != nil {
			m.report(w, e)
		}
	case Ready:
		if w := m.hear(e.Session); w != nil {
			m.ready(w, e)
		}
	case Progress:
		if w := m.hear(e.Session); w != nil {
			m.progress(w, e)
		}
	case Complaint:
		if w := m.hear(e.Session); w != nil {
			m.complaint(w, e)
		}
	case Drain:
		if w := m.hear(e.Session); w != nil {
			m.drain(w, "drained")
		}
	case Failed:
		if w := m.hear(e.Session); w != nil {
			m.workerFailed(w, e)
		}
	case Refusal:
		if w := m.hear(e.Session); w != nil {
			m.refuse(ergoflow.WorkerID(e.From), fmt.Sprintf("by worker %s: %s", w.ID, e.Reason))
		}
	}
}

// advance does what is due, whatever the event was: it is the one place from
// which generations begin and workers are let go.
func (m *Machine) advance() {
	m.release()
	m.noteAbsence()
	m.admit()
	m.release()
	if m.stopping && !m.stopped && len(m.workers) == 0 {
		m.stopped = true
		m.emit(Stopped{})
	}
}

func (m *Machine) emit(e Effect) { m.effects = append(m.effects, e) }

func (m *Machine) send(w *worker, message Message) {
	m.emit(Send{Session: w.session, To: w.ID, Message: message})
}

func (m *Machine) persist() {
	ledger := m.ledger
	m.emit(Persist{ledger})
}

// refuse notes what a worker that follows the protocol does not say.
func (m *Machine) refuse(from ergoflow.WorkerID, reason string) {
	m.emit(Refused{From: string(from[:min(len(from), maxID)]), Reason: reason})
}

func (m *Machine) because(reason string) { m.reasons = append(m.reasons, reason) }

func joinReasons(reasons []string) string {
	var s string
	for i, r := range reasons {
		if i > 0 {
			s += "; "
		}
		s += r
	}
	return s
}

func (m *Machine) worker(s Session) *worker { return m.sessions[s] }

func (m *Machine) byID(id ergoflow.WorkerID) *worker { return m.ids[id] }

// hear returns the session's worker, now heard of, or nil.
func (m *Machine) hear(s Session) *worker {
	w := m.worker(s)
	if w != nil {
		w.heard = m.now
	}
	return w
}

func (m *Machine) add(w *worker) {
	m.workers = append(m.workers, w)
	m.sessions[w.session], m.ids[w.ID] = w, w
}

func (m *Machine) remove(w *worker) {
	delete(m.sessions, w.session)
	delete(m.ids, w.ID)
	m.workers = slices.DeleteFunc(m.workers, func(v *worker) bool { return v == w })
	m.departed = append(m.departed[max(0, len(m.departed)-maxWorkers+1):], w.Worker)
}

// Knows reports whether a process has been welcomed since this machine began: it is
// a worker, or was one not long ago. The checkpoint of one that was lost may be all
// that is left.
func (m *Machine) Knows(id ergoflow.WorkerID, secret uint64) bool {
	if secret == 0 { // none was given
		return false
	}
	if w := m.byID(id); w != nil && w.Secret == secret {
		return true
	}
	return slices.ContainsFunc(m.departed, func(w Worker) bool { return w.ID == id && w.Secret == secret })
}

// stop lets all workers go, as if all had asked to leave: the state that they
// hold is saved first.
func (m *Machine) stop() {
	m.stopping = true
	m.because("the coordinator ends")
	for _, w := range m.workers {
		m.drain(w, "the coordinator ends")
	}
}
