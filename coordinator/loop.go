package coordinator

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/consensus"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/dashboard"
	"github.com/ergoflow/ergoflow/coordinator/fleet"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/internal/disk"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/internal/tracing"
)

// tickInterval is the time between two ticks of the machine.
const tickInterval = 50 * time.Millisecond

// loop owns the fleet and the queue. Other goroutines reach it through do.
type loop struct {
	fleet     *fleet.Fleet
	runs      *queue.Machine
	models    *dashboard.Models // the registry; nil: none
	processes *processes        // of retrainings
	messages  *convert.Messages
	ledger    *ledger
	saved     *checkpoint.Store
	store     shards
	archiving *archiving // of saved; nil: checkpoints are on the disk alone
	queue     *jobs.Queue
	log       *slog.Logger // of the coordinator itself; about has others
	events    *journal.Journal
	stored    rate.Sometimes // is an event: a small run stores many a second, which would leave no room for others
	base      *slog.Logger   // what it says is no event
	beat      func()         // at each tick
	readable  sync.Map       // run (string) → ID (string) of its last checkpoint that was read without damage
	gossip    string         // where to join, for the status
	security  *security      // nil: plain text
	uploading atomic.Int32   // checkpoints that are arriving
	tallies   tallies
	tracer    *tracing.Tracer
	work      chan func()
	ended     chan struct{} // closed when run has returned
	stopped   chan struct{} // closed when all workers have left
	fatal     error         // why run returned before ctx ended
	helpers   sync.WaitGroup
	ctx       context.Context // of helpers; ends with run
	sessions  map[machine.Session]*session
	last      machine.Session
	flight    *flight.Keeper
	flights   *flights
	asked     <-chan os.Signal // for dumps
	answer    string           // to the Submit being handled
	reasons   []Decision
	refused   refusals
	scanning  map[string]bool // runs

	pending  []queue.Event // of the queue, which the present one has caused
	started  bool          // the fleet has, and the queue may hear of its runs
	workers  int           // as the queue knows
	stepping bool          // the queue handles an event
	answered queue.Answer  // to the request being handled

	newestStep  ergoflow.Mark // that any worker has told of
	incidentDue bool          // all processes will dump soon
	dumped      time.Time     // when they last did

	term     *consensus.Term // in which this coordinator leads; nil: it is the only one
	begun    time.Time       // when it began to
	standing func() standing // for the metrics
	copies   *copies         // nil likewise

	bucket    *bucket   // nil: the shards are elsewhere, or this coordinator is the only one
	collected sync.Once // what the others' buckets have

	watched map[string]context.CancelFunc // runs whose job results are subscribed to; ends that
	// publishing counts the publications of jobs under way, of each run that had one.
	publishing map[string]int
	few        map[string]bool // runs of which the queue had too few jobs at the last look
}

// Decision is a reason of the fleet, for the status.
type Decision struct {
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"`
}

// KeptDecisions is the number of decisions in the status. If there are fewer, these are all
// since the coordinator started.
const KeptDecisions = 20

// storedInterval is the time between two events about checkpoints that are stored, at least.
const storedInterval = 10 * time.Second

// run handles work until ctx ends or the ledger cannot be written. All goroutines that it
// started have ended when it returns.
func (l *loop) run(ctx context.Context) error {
	helping, stop := context.WithCancel(ctx)
	l.ctx = helping
	defer l.helpers.Wait()
	defer close(l.ended) // before the wait: a helper may be waiting for the loop
	defer stop()
	defer func() {
		why := "the coordinator ends"
		if l.term != nil {
			why = "the coordinator does not lead any more"
		}
		for _, s := range l.sessions {
			s.close(why)
		}
	}()
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	queueTicker := time.NewTicker(queueInterval)
	defer queueTicker.Stop()
	l.keepFlight(l.asked)
	l.step(machine.Start{})
	l.started = true
	l.stepQueue(queue.Start{Conducting: l.conducting(), Finished: l.outcomes()})
	for l.fatal == nil {
		select {
		case f := <-l.work:
			f()
		case <-ticker.C:
			l.step(machine.Tick{})
			l.beat()
		case <-queueTicker.C:
			l.stepQueue(queue.Tick{})
		case <-ctx.Done():
			return nil
		}
	}
	return l.fatal
}

// about is the log of a topic. What it says is also an event.
func (l *loop) about(t journal.Topic) *slog.Logger { return l.events.Logger(l.base, t) }

// do has the loop call f and waits for that. It returns false if the loop has ended.
func (l *loop) do(f func()) bool {
	done := make(chan struct{})
	select {
	case l.work <- func() { defer close(done); f() }:
		<-done
		return true
	case <-l.ended:
		return false
	}
}

// post hands an event to the machine.
func (l *loop) post(e machine.Event) bool { return l.do(func() { l.step(e) }) }

// step lets the fleet handle one event, and executes the effects in order.
func (l *loop) step(e machine.Event) {
	l.noteEvent(e)
	effects, reason := l.fleet.Step(time.Now(), e)
	if reason != "" {
		l.noteReason(reason)
		l.about(journal.Training).Info(reason)
		l.reasons = append(l.reasons, Decision{time.Now().UTC(), reason})
		l.reasons = l.reasons[max(0, len(l.reasons)-KeptDecisions):]
	}
	persisted := false
	for _, effect := range effects {
		if l.fatal != nil {
			return // the ledger is not durable
		}
		l.execute(effect)
		if _, ok := effect.Effect.(machine.Persist); ok {
			persisted = true
		}
	}
	if persisted { // as every end of a run is
		l.noteOutcomes()
	}
	if _, ok := e.(machine.Tick); ok { // there may be thousands of other events a second
		l.noteWorkers()
	}
}

func (l *loop) execute(effect fleet.Effect) {
	switch e := effect.Effect.(type) {
	case machine.Persist:
		if err := l.timed(flight.SlowWrite+l.ledger.db.Path(), func() error { return l.ledger.persist(effect.Slot, e.Ledger) }); err != nil {
			l.flight.Add(flight.Record{Kind: flight.Failed, Text: err.Error()})
			l.fatal = err
		}
	case machine.Send:
		if s := l.sessions[e.Session]; s != nil {
			if ping, ok := e.Message.(message.Ping); ok && l.term != nil {
				ping.Heard = min(ping.Heard, s.vouched)
				e.Message = ping
			}
			s.send(l.messages.ToWorker(e.Message))
		}
	case machine.Lost:
		l.noteLost(l.sessions[e.Session], e)
	case machine.Close:
		if s := l.sessions[e.Session]; s != nil {
			s.close(e.Reason)
			delete(l.sessions, e.Session)
		}
	case machine.Scan:
		l.scan(e.Plan)
	case machine.Publish:
		l.publish(e.Plan, e.Shards)
	case machine.Answer:
		l.answer = e.Refusal
	case machine.Refused:
		l.refused.add(e.From, e.Reason)
	case machine.Warn:
		l.about(journal.Training).Warn(e.Text)
		l.noteWarning(e)
	case machine.AwaitRoom:
		l.help(func(ctx context.Context) {
			if disk.Await(ctx, e.Short.Path, e.Short.Bytes) == nil {
				l.post(machine.Room{})
			}
		})
	case machine.Stopped:
		close(l.stopped)
	}
}

// help runs f beside the loop; run waits for it.
func (l *loop) help(f func(ctx context.Context)) {
	l.helpers.Go(func() { f(l.ctx) })
}

// Status is the document of `ergoflow status --json`.
type Status struct {
	machine.Status
	Reason    string     `json:"reason"`    // the last decision
	Decisions []Decision `json:"decisions"` // the last ones, the newest last
	Refused   []Refusal  `json:"refused"`   // likewise
	PID       int        `json:"pid"`       // the coordinator's
	Version   string     `json:"version"`
	Protocol  uint32     `json:"protocol"` // the newest that it speaks
	Gossip    string     `json:"gossip"`   // host:port to join
	Term      uint64     `json:"term"`     // in which this coordinator leads; 0: it is the only one
	Secured   bool       `json:"secured"`  // whether connections are encrypted and authenticated
	// AcceptsPlaintext says that a secured cluster accepts workers in plain text, too; Plaintext
	// has the ids of those that are there.
	AcceptsPlaintext bool        `json:"accepts_plaintext"`
	Plaintext        []string    `json:"plaintext"`
	Runs             []queue.Run `json:"runs"`    // that are under way, the next that wait, and the last that ended
	Waiting          int         `json:"waiting"` // runs, also those that Runs leaves out
	// Archive is where checkpoints are besides the coordinator's disk; nil: nowhere.
	Archive *Archive `json:"archive"`
	// Conducts has every run that workers are for, in the order in which they were submitted.
	// The fields of machine.Status describe one of them, or the last that ended.
	Conducts []fleet.RunStatus `json:"conducts"`
}

// inPlaintext are the workers without a certificate of a secured cluster. It belongs to the loop.
func (l *loop) inPlaintext() []string {
	workers := []string{} // never null in JSON
	if l.security.acceptsPlaintext() {
		for _, s := range l.sessions {
			if s.cert == nil && !s.closed {
				workers = append(workers, s.from)
			}
		}
	}
	slices.Sort(workers)
	return workers
}

// status describes the coordinator, and of its runs the one with that hash, if it conducts
// that.
func (l *loop) status(run string) Status {
	s := Status{Status: l.fleet.Status(run), Conducts: l.fleet.UnderWay(), Decisions: append([]Decision{}, l.reasons...),
		Refused: append([]Refusal{}, l.refused.last...), PID: os.Getpid(), Version: ergoflow.Build(), Protocol: ergoflow.ThisRelease().Protocol, Gossip: l.gossip, Secured: l.security != nil,
		AcceptsPlaintext: l.security.acceptsPlaintext(), Plaintext: l.inPlaintext(),
		Archive: l.archiving.status(), Waiting: l.runs.Waiting(), Runs: shownRuns(l.runs.Runs(statusEnded), statusLive+statusEnded)}
	if l.term != nil {
		s.Term = l.term.Number()
	}
	if n := len(l.reasons); n > 0 {
		s.Reason = l.reasons[n-1].Reason
	}
	return s
}
