package machine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// Config holds the machine's times and bounds. Zero values mean the defaults.
type Config struct {
	Release       ergoflow.Release
	PingInterval  time.Duration // 250 ms: between pings of a member of the generation
	PingedAtOnce  int           // 512: workers outside it that are pinged in each interval; where there are more, they take turns
	PingTimeout   time.Duration // 1.5 s: a member's silence after which its session ends; that of others, times the turns; doubled, see pingTimeout
	Patience      time.Duration // 10 s: the coordinator's silence after which workers look for it elsewhere
	Lease         time.Duration // 4 s: time after a heartbeat in which a worker may apply steps
	Absence       time.Duration // 5 s: wait for a holder to come back; longer than Lease
	Settle        time.Duration // 2 s: wait for workers that still prepare, after the first is prepared
	ReportTimeout time.Duration // 30 s: from Form to Report; a step under way ends first
	ReadyTimeout  time.Duration // 60 s: from Assign to Ready; members fetch states meanwhile
	DrainTimeout  time.Duration // 10 s: from Drain or Stop to Leave, in any case
	Rescan        time.Duration // 2 s: between scans of the shard store while generating
	Backoff       time.Duration // 250 ms: before the third attempt in a row; doubled for each further one, up to 5 s
	Attempts      int           // 8: generations in a row that end in complaints without a step before the run fails
}

const maxBackoff = 5 * time.Second

func (c Config) withDefaults() Config {
	c.PingInterval = cmp.Or(c.PingInterval, 250*time.Millisecond)
	c.PingedAtOnce = cmp.Or(c.PingedAtOnce, 512)
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
	config    Config
	clock     time.Time     // of the last event
	skew      time.Duration // sum of the clock's jumps backwards
	now       time.Time     // of the event being handled: clock + skew
	lastTick  time.Time
	ledger    Ledger
	run       run
	workers   []*worker // in the order of their sessions, and so of ranks
	sessions  map[Session]*worker
	ids       map[ergoflow.WorkerID]*worker
	addresses map[string]*worker         // by data address
	leaving   int                        // workers that drain
	phases    [failed + 1]int            // workers in each phase
	holders   map[ergoflow.WorkerID]bool // as the ledger has them
	inherited bool                       // they are of another coordinator, or of this one before it was started again
	numerics  uint32                     // of the workers that work; 0: there was none yet
	taken     ergoflow.Generation        // the last number that another machine has used
	earlier   ergoflow.Generation        // the number of the generation before the last
	current   *generation
	previous  *generation // the last one that has ended after its members were told to connect
	links     []*cutLink  // between connected workers
	ended     string      // why the last generation ended
	// gatherUntil is when the next generation may form after a worker was lost, or left, while one
	// formed; zero: that was not so, or a tick since then has come. If many go at once, each would
	// cost a generation with messages to all members. It is as long after the end as that generation
	// had been forming, at most PingTimeout: where forming takes long, those that are silent are then
	// known together.
	gatherUntil time.Time
	stopping    bool
	stopped     bool
	orders      uint64    // to prepare, sent so far
	departed    []process // the last maxWorkers that are gone, the newest last
	goodput     account

	effects []Effect
	reasons []string
}

// process is a worker, as it describes itself and as the coordinator sees it.
type process struct {
	message.Worker
	elsewhere bool   // on another host than the coordinator
	loopback  bool   // its data address is a loopback address
	identity  string // in its certificate, or as message.Member
}

// member is the process as the others reach it.
func (p process) member() message.Member {
	return message.Member{ID: p.ID, DataAddress: p.DataAddress, Identity: p.identity}
}

// worker is one session.
type worker struct {
	process
	host        string // from which its session comes
	session     Session
	heard       time.Time // last message
	pinged      time.Time
	asked       time.Time // when it was pinged first after its last message; zero: it was not
	beat        uint64    // number of the last heartbeat
	doing       string
	phase       phase
	order       uint64 // number of the last order to prepare
	reason      string // why it failed
	draining    bool
	leaveReason string         // where draining
	leaveBy     time.Time      // where draining
	transferred bool           // where draining: it opens another session
	saving      bool           // where draining: the coordinator awaits its checkpoint,
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
	connected  phase = iota // has no order
	generating              // told to pull jobs
	preparing               // told to prepare
	prepared                // may be a member
	failed                  // cannot continue the run
)

// New returns the machine that continues from a ledger, or begins with the zero Ledger.
// Its first event must be Start.
func New(config Config, ledger Ledger) *Machine {
	m := &Machine{config: config.withDefaults(), ledger: ledger, numerics: ledger.Numerics, earlier: max(1, ledger.Generation) - 1,
		sessions: make(map[Session]*worker), ids: make(map[ergoflow.WorkerID]*worker), addresses: make(map[string]*worker)}
	m.setHolders(ledger.Holders)
	m.inherited = true
	return m
}

// Step handles one event. If the clock has gone backwards, no time passes in the
// machine. Jumps forwards are in tick.
func (m *Machine) Step(now time.Time, event Event) (effects []Effect, reason string) {
	m.skew += max(0, m.clock.Sub(now))
	m.clock = now
	m.now, m.effects, m.reasons = now.Add(m.skew), nil, nil
	m.charge()
	switch e := event.(type) {
	case Start:
		m.start()
	case Tick:
		m.tick()
	case Submit:
		m.submit(e)
	case Withdraw:
		m.withdraw(e)
	case Scanned:
		m.scanned(e)
	case Unreadable:
		if m.concerns(e.Run) && m.run.checkpoint == e.Damaged { // otherwise there is a newer one by now
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
	case Room:
		m.room()
	case Stop:
		m.stop()
	case Opened:
		m.opened(e)
	case Arrived:
		m.displace(e.Opened)
	case Transfer:
		m.transfer(e)
	case Drain:
		m.drainFor(e)
	case Received:
		if w := m.hear(e.Session); w != nil {
			m.received(w, e.Message)
		}
	case Closed:
		m.closed(e)
	case Alive:
		m.alive(e)
	}
	m.advance()
	m.beginTime()
	return m.effects, joinReasons(m.reasons)
}

// received handles a message of an open session.
func (m *Machine) received(w *worker, received message.FromWorker) {
	switch e := received.(type) {
	case message.Heartbeat:
		m.heartbeat(w, e)
	case message.Prepared:
		m.workerPrepared(w, e)
	case message.Report:
		m.report(w, e)
	case message.Ready:
		m.ready(w, e)
	case message.Progress:
		m.progress(w, e)
	case message.Complaint:
		m.complaint(w, e)
	case message.LinkChecked:
		m.linkChecked(w, e)
	case message.Drain:
		m.drain(w, "drained")
	case message.Failed:
		m.workerFailed(w, e)
	case message.Refusal:
		m.refuse(ergoflow.WorkerID(e.From), fmt.Sprintf("by worker %s: %s", w.ID, e.Reason))
	}
}

// advance does what is due after any event: it is the one place from which generations
// begin and workers are dismissed.
func (m *Machine) advance() {
	m.release()
	m.reviveHolders()
	m.noteAbsence()
	m.chooseNumerics()
	m.admit()
	m.release()
	if m.stopping && !m.stopped && len(m.workers) == 0 {
		m.stopped = true
		m.emit(Stopped{})
	}
}

// Raise has the numbers of later generations follow one that another machine has begun: no two
// generations of a coordinator have one number.
func (m *Machine) Raise(last ergoflow.Generation) { m.taken = max(m.taken, last) }

// Generation is the last generation that the machine has begun.
func (m *Machine) Generation() ergoflow.Generation { return m.ledger.Generation }

// Sessions counts the open ones.
func (m *Machine) Sessions() int { return len(m.workers) }

// Workers counts those that do not leave, and can work for the run or have none.
func (m *Machine) Workers() int {
	n := 0
	for _, w := range m.workers {
		if m.isOfUse(w) {
			n++
		}
	}
	return n
}

// isOfUse reports whether a worker stays, and can work for the run, or for another if that has
// ended.
func (m *Machine) isOfUse(w *worker) bool {
	return !w.draining && !m.waits(w) && (w.phase != failed || m.finished())
}

// Spare are up to n of Workers, in the order in which their loss costs the run least: those
// outside the generation, then members from the last rank on, since rank 0 writes the
// checkpoints.
func (m *Machine) Spare(n int) []Session {
	var spare []*worker
	for _, w := range slices.Backward(m.workers) {
		if m.isOfUse(w) {
			spare = append(spare, w)
		}
	}
	rank := func(w *worker) int {
		if g := m.current; g != nil && g.has(w.ID) {
			return g.ranks[w.ID]
		}
		return ergoflow.MaxWorld
	}
	slices.SortStableFunc(spare, func(a, b *worker) int { return cmp.Compare(rank(b), rank(a)) })
	sessions := make([]Session, min(n, len(spare)))
	for i := range sessions {
		sessions[i] = spare[i].session
	}
	return sessions
}

func (m *Machine) emit(e Effect) { m.effects = append(m.effects, e) }

func (m *Machine) send(w *worker, what message.FromCoordinator) {
	m.emit(Send{Session: w.session, To: w.ID, Message: what})
}

func (m *Machine) persist() {
	ledger := m.ledger
	m.emit(Persist{ledger})
}

// refuse reports a message that violates the protocol.
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

// hear returns the session's worker after a message of it; nil: there is none.
func (m *Machine) hear(s Session) *worker {
	w := m.worker(s)
	if w != nil {
		w.heard, w.asked = m.now, time.Time{}
	}
	return w
}

// silentFor is how long a worker that was pinged has not been heard. The time before the ping
// counts as far as it can for a member.
func (m *Machine) silentFor(w *worker) time.Duration {
	if w.asked.IsZero() {
		return 0
	}
	return min(m.now.Sub(w.heard), m.now.Sub(w.asked)+m.config.PingInterval)
}

func (m *Machine) add(w *worker) {
	m.workers = append(m.workers, w)
	m.sessions[w.session], m.ids[w.ID], m.addresses[w.DataAddress] = w, w, w
	m.phases[w.phase]++
}

func (m *Machine) remove(w *worker) {
	delete(m.sessions, w.session)
	delete(m.ids, w.ID)
	delete(m.addresses, w.DataAddress)
	if w.draining {
		m.leaving--
	}
	m.phases[w.phase]--
	m.forgetLinks(w.ID)
	m.workers = slices.DeleteFunc(m.workers, func(v *worker) bool { return v == w })
	m.departed = append(m.departed[max(0, len(m.departed)-maxWorkers+1):], w.process)
}

// stop drains all workers as if each had asked to leave: their state is saved first.
func (m *Machine) stop() {
	m.stopping = true
	m.because("the coordinator ends")
	for _, w := range m.workers {
		m.drain(w, "the coordinator ends")
	}
}
