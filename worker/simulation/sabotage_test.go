package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// sabotage breaks the protocol in one known way. It changes what passes between the two
// state machines, never the machines.
type sabotage struct {
	name string
	want string // prefix of the finding; empty: any

	noRingFence    bool // the ring accepts chunks of an older generation
	noLease        bool // workers apply steps without a lease
	noAbsence      bool // the coordinator does not wait for absent holders
	noMarks        bool // states are compared by their step alone
	noPresence     bool // a worker that comes back does not tell its state
	localCommit    bool // a step is committed when one member has applied it
	forgetLaggard  bool // a worker that is a step behind keeps its state
	admitEarly     bool // a worker is ready before it has the state
	latePersist    bool // the coordinator announces a generation before it is durable
	lateCheckpoint bool // the coordinator announces a checkpoint before it is durable
	followGaps     bool // a follower applies an update after it missed one
	deafRings      bool // nobody notices that nothing comes from another
	noNames        bool // the coordinator does not learn which members are silent
	neverMended    bool // no check finds a link mended
	noStart        bool // the state from which a run begins is not stored
	noMost         bool // the coordinator does not know the most of a run
	keepRun        bool // a worker that moves keeps its run and its state
	ignoreRun      bool // a worker that prepares for another run keeps the state of the old one
	alone          bool // no world has several runs
	forgetStart    bool // the coordinator does not know that a run begins from an earlier state

	one           bool    // all worlds have one coordinator
	many          bool    // all worlds have several coordinators
	unverified    bool    // a leader tells of heartbeats before it has verified that it leads
	lowerTerms    bool    // workers obey leaders of terms that are over
	minorSaved    bool    // a leader calls a checkpoint saved that it alone has
	lingers       bool    // leaders that reach no majority do not step down by themselves
	unfencedSaved bool    // a leader calls a checkpoint saved without verifying that it leads
	noFetch       bool    // a leader does not fetch the checkpoints that it lacks
	noReturn      bool    // a leader uses a checkpoint that no majority has
	anyLeader     bool    // coordinators vote for those who lack entries
	noSync        bool    // coordinators acknowledge entries before they are durable
	drift         float64 // by which coordinators' clocks run faster, and workers' slower
}

var sabotages = []sabotage{
	{name: "skip the ring's fence", noRingFence: true, want: "rule"},
	{name: "skip the lease", noLease: true, want: "rule 7"},
	{name: "do not wait for absent holders", noAbsence: true},
	{name: "compare states by step alone", noMarks: true},
	{name: "forget the state of a worker that comes back", noPresence: true, want: "rule 6"},
	{name: "commit when one member has applied a step", localCommit: true, want: "rule 5"},
	{name: "forget the laggard", forgetLaggard: true},
	{name: "admit before the state is there", admitEarly: true},
	{name: "announce a generation before it is durable", one: true, latePersist: true, want: "rule"},
	{name: "announce a checkpoint before it is durable", lateCheckpoint: true},
	{name: "follow with a gap", followGaps: true},
	{name: "do not notice silence", deafRings: true, want: "rule 12"},
	{name: "do not name the silent", noNames: true, want: "rule 12"},
	{name: "do not find links mended", neverMended: true, want: "rule 12"},
	{name: "forget a run's most", noMost: true, want: "rule 15"},
	{name: "move without forgetting the run", keepRun: true},
	{name: "take a state into another run", one: true, ignoreRun: true},
	{name: "forget that a run begins from an earlier state", noStart: true, forgetStart: true, want: "rule 13"},
	{name: "execute effects before their entry is committed", many: true, latePersist: true, want: "rule"},
	{name: "hear heartbeats without verifying", many: true, unverified: true, want: "rule 7"},
	{name: "let clocks run apart", many: true, alone: true, drift: 0.5, want: "rule 7"},
	{name: "obey earlier leaders", many: true, lowerTerms: true, want: "rule 20"},
	{name: "call a checkpoint saved that a minority has", many: true, minorSaved: true, want: "rule 19"},
	{name: "call a checkpoint saved without verifying", many: true, lingers: true, unfencedSaved: true, want: "rule 19"},
	{name: "do not fetch checkpoints", many: true, noFetch: true, want: "rule 19"},
	{name: "use a checkpoint that a minority has", many: true, noReturn: true},
	{name: "elect those who lack entries", many: true, anyLeader: true, want: "rule 18"},
	{name: "acknowledge entries that are not durable", many: true, noSync: true, want: "rule 18"},
}

// config changes what the machine is configured with.
func (s sabotage) config(c machine.Config) machine.Config {
	if s.noAbsence {
		c.Absence = time.Nanosecond
	}
	return c
}

// plan changes what is submitted.
func (s sabotage) plan(p ergoflow.Plan) ergoflow.Plan {
	if s.forgetStart {
		p.Start = ""
	}
	return p
}

// hello changes what a worker tells of itself.
func (s sabotage) hello(h message.Hello) message.Hello {
	h.HasState = h.HasState && !s.noPresence
	return h
}

// events changes what the machine receives from a worker.
func (s sabotage) events(c *coordinator, e machine.Received) []machine.Event {
	if m, ok := e.Message.(message.Complaint); ok && s.noNames {
		m.Silent = nil
		e.Message = m
	}
	if _, ok := e.Message.(message.Progress); !ok || !s.localCommit {
		return []machine.Event{e}
	}
	var all []machine.Event // of all workers, if one sends it
	for _, other := range c.ordered() {
		all = append(all, machine.Received{Session: other.number, Message: e.Message})
	}
	return all
}

// bounds changes those that are submitted with a run.
func (s sabotage) bounds(b ergoflow.WorkerBounds) ergoflow.WorkerBounds {
	if s.noMost {
		b.Max = 0
	}
	return b
}

// order changes a message that the machine sends.
func (s sabotage) order(c *coordinator, e machine.Send) message.FromCoordinator {
	if m, ok := e.Message.(message.Assign); ok && s.forgetLaggard {
		if stream := c.sessions[e.Session]; stream != nil && stream.worker.node != nil {
			m.Source.Kind = message.SourceOwn
			return m
		}
	}
	return e.Message
}

// received changes a message that a worker receives.
func (s sabotage) received(m message.FromCoordinator) message.FromCoordinator {
	if welcome, ok := m.(message.Welcome); ok && s.noLease {
		welcome.Lease = 0
		return welcome
	}
	return m
}

// keepStale and takeStale make a ring without its fence.
func (w *world) keepStale(r *ring, rank int) {
	if w.sabotage.noRingFence && r.parts[rank].state != nil {
		w.stale[rank] = r.parts[rank]
	}
}

func (w *world) takeStale(_ *ring, parts []part) []part {
	for rank := range parts {
		if old, ok := w.stale[rank]; ok && old.state.mark.Step == parts[rank].state.mark.Step {
			parts[rank] = old
			delete(w.stale, rank)
		}
	}
	return parts
}

// sabotageSeeds is the number of worlds within which each sabotage shows. Some show in one of five hundred.
const sabotageSeeds = 3000

// TestSabotageIsFound checks that the checker can fail: it finds each sabotage in a world of
// sabotageSeeds, all of which pass without one.
func TestSabotageIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: thousands of worlds for each sabotage, each of one goroutine")
	}
	for _, s := range sabotages {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(sabotageSeeds) {
				w := simulate(seed, s, false)
				if w.broken == "" {
					continue
				}
				t.Logf("found by seed %d: %s", seed, w.broken)
				if !strings.HasPrefix(w.broken, s.want) {
					t.Errorf("found for another reason than %s", s.want)
				}
				return
			}
			t.Errorf("not found in %d seeds", sabotageSeeds)
		})
	}
}
