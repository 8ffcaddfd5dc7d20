package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// sabotage breaks the protocol in one known way. All of it is done to what goes
// between the two state machines, which stay as they are.
type sabotage struct {
	name string
	want string // how the finding begins; empty: any

	noRingFence    bool // chunks of an older generation are taken for the new one's
	noLease        bool // steps are applied however long ago the coordinator was heard
	noAbsence      bool // members that are away are not waited for
	noMarks        bool // states are told apart by their step alone
	noPresence     bool // who comes back does not say what it holds
	localCommit    bool // a step is committed when one ring has ended
	forgetLaggard  bool // who is a step behind keeps what it has
	admitEarly     bool // ready before the state is there
	latePersist    bool // generations are announced before they are durable
	lateCheckpoint bool // checkpoints are
	followGaps     bool // who follows makes whatever update comes, after one that did not
}

var sabotages = []sabotage{
	{name: "skip the ring's fence", noRingFence: true, want: "rule 2"},
	{name: "skip the lease", noLease: true, want: "rule 7"},
	{name: "do not wait for members that are away", noAbsence: true},
	{name: "compare states by step alone", noMarks: true},
	{name: "forget who comes back with a state", noPresence: true, want: "rule 6"},
	{name: "commit when the local ring has ended", localCommit: true, want: "rule 5"},
	{name: "forget the laggard", forgetLaggard: true},
	{name: "admit before the state is there", admitEarly: true},
	{name: "announce a generation before it is durable", latePersist: true, want: "rule 3"},
	{name: "announce a checkpoint before it is durable", lateCheckpoint: true},
	{name: "follow with a gap", followGaps: true},
}

// config changes what the machine is configured with.
func (s sabotage) config(c machine.Config) machine.Config {
	if s.noAbsence {
		c.Absence = time.Nanosecond
	}
	return c
}

// hello changes what a worker says of itself.
func (s sabotage) hello(h message.Hello) message.Hello {
	h.HasState = h.HasState && !s.noPresence
	return h
}

// events changes what the machine hears of a worker.
func (s sabotage) events(c *coordinator, e machine.Received) []machine.Event {
	if _, ok := e.Message.(message.Progress); !ok || !s.localCommit {
		return []machine.Event{e}
	}
	var all []machine.Event // everybody's, if it is one's
	for _, other := range c.ordered() {
		all = append(all, machine.Received{Session: other.number, Message: e.Message})
	}
	return all
}

// order changes what the machine tells a worker.
func (s sabotage) order(c *coordinator, e machine.Send) message.FromCoordinator {
	if m, ok := e.Message.(message.Assign); ok && s.forgetLaggard {
		if stream := c.sessions[e.Session]; stream != nil && stream.worker.node != nil {
			m.Source.Kind = message.SourceOwn
			return m
		}
	}
	return e.Message
}

// received changes what a worker hears.
func (s sabotage) received(m message.FromCoordinator) message.FromCoordinator {
	if welcome, ok := m.(message.Welcome); ok && s.noLease {
		welcome.Lease = 0
		return welcome
	}
	return m
}

// keepStale and takeStale are the ring without its fence.
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

// TestSabotageIsFound shows that the checker can fail: each way of breaking the
// protocol is found within a thousand seeds, all of which pass without it.
func TestSabotageIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: up to a thousand worlds for each sabotage, each of one goroutine")
	}
	for _, s := range sabotages {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(1000) {
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
			t.Error("not found in 1000 seeds")
		})
	}
}
