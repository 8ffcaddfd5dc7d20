package machine

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/data/random"
)

// TestInvariants sends the machine random events: workers that connect, leave, fall
// silent, report false steps and answer old generations; submissions, scans, checkpoints
// and restarts. After every event the invariants of chaos.check must hold. In the end,
// with workers that follow the protocol, training must continue.
func TestInvariants(t *testing.T) {
	seeds := 1500
	if testing.Short() {
		seeds = 300
	}
	for seed := range seeds {
		c := newChaos(uint64(seed))
		for range 150 {
			c.random()
			if c.fault != "" {
				t.Fatalf("seed %d: %s", seed, c.fault)
			}
		}
		if c.recover(); c.fault != "" {
			t.Fatalf("seed %d: %s", seed, c.fault)
		}
	}
}

// chaos drives a machine and a twin, which must have the same effects, and checks these.
type chaos struct {
	r             *rand.Rand
	now           time.Time
	machine, twin *Machine
	plan          ergoflow.Plan
	next          Session
	open          map[Session]ergoflow.WorkerID
	fault         string

	persisted  ergoflow.Generation // in the ledger on disk
	ledger     Ledger
	formed     map[ergoflow.Generation]map[ergoflow.WorkerID]Session
	reported   map[ergoflow.Generation]map[ergoflow.WorkerID]message.Report
	assigned   map[ergoflow.Generation][]message.Assign
	ready      map[ergoflow.Generation]map[ergoflow.WorkerID]bool
	gone       map[ergoflow.Generation]bool // aborted or finished
	latest     ergoflow.Generation
	checkpoint *ergoflow.Mark
	outbox     []Send
}

func newChaos(seed uint64) *chaos {
	c := &chaos{r: random.New(seed, "machine/property"), now: time.Unix(0, 0),
		open:   map[Session]ergoflow.WorkerID{},
		formed: map[ergoflow.Generation]map[ergoflow.WorkerID]Session{}, reported: map[ergoflow.Generation]map[ergoflow.WorkerID]message.Report{},
		assigned: map[ergoflow.Generation][]message.Assign{}, ready: map[ergoflow.Generation]map[ergoflow.WorkerID]bool{},
		gone: map[ergoflow.Generation]bool{}}
	c.plan = ergoflow.Plan{Run: "r", Dataset: "d", Shards: 1 + c.r.IntN(8), Steps: 50, CheckpointEvery: 5}
	c.restart()
	c.event(Submit{Plan: c.plan, Until: StageTrain})
	return c
}

func (c *chaos) restart() {
	c.machine, c.twin = New(Config{}, c.ledger), New(Config{}, c.ledger)
	c.open = map[Session]ergoflow.WorkerID{}
	if c.latest > 0 {
		c.gone[c.latest] = true
	}
	c.event(Start{})
}

func (c *chaos) session() Session {
	if len(c.open) == 0 || c.r.IntN(20) == 0 {
		return Session(c.r.IntN(10))
	}
	var all []Session
	for s := range c.open {
		all = append(all, s)
	}
	slices.Sort(all)
	return all[c.r.IntN(len(all))]
}

func (c *chaos) random() {
	c.now = c.now.Add(time.Duration(c.r.IntN(300)) * time.Millisecond)
	s := c.session()
	g := c.latest
	if c.r.IntN(10) == 0 {
		g = ergoflow.Generation(c.r.IntN(int(c.latest) + 2))
	}
	step := c.machine.Status().Step + ergoflow.Step(c.r.IntN(3)) - 1
	if c.r.IntN(20) == 0 {
		step = ergoflow.Step(c.r.IntN(70) - 10)
	}
	switch n := c.r.IntN(100); {
	case n < 8:
		c.hello(c.id())
	case n < 11:
		delete(c.open, s)
		c.event(Closed{s, "broke"})
	case n < 40 && len(c.outbox) > 0: // behave
		send := c.outbox[0]
		c.outbox = c.outbox[1:]
		c.answer(send)
	case n < 50:
		c.event(Tick{})
	case n < 55:
		c.event(Received{s, message.Prepared{Run: "r", Number: c.machine.orders - uint64(c.r.IntN(2))}})
	case n < 60:
		c.event(Received{s, message.Report{Generation: g, HasState: c.r.IntN(2) == 0, State: ergoflow.Mark{Generation: c.made(), Step: step},
			Hash: string('a' + rune(c.r.IntN(2)))}})
	case n < 65:
		c.event(Received{s, message.Ready{Generation: g}})
	case n < 80:
		c.event(Received{s, message.Progress{Generation: g, Step: step, Samples: 10}})
	case n < 83:
		complaint := message.Complaint{Generation: g, Step: step, Reason: "ring"}
		for c.r.IntN(2) == 0 {
			complaint.Silent = append(complaint.Silent, c.id())
		}
		c.event(Received{s, complaint})
	case n < 84:
		c.event(Received{s, message.Drain{}})
	case n < 85:
		c.event(Drain{Worker: c.id(), By: "operator/ada"})
	case n < 86:
		c.event(Received{s, message.Failed{Run: "r", Reason: "no"}})
	case n < 90:
		c.save(step)
	case n < 95:
		c.scanned()
	case n < 96:
		c.restart()
	case n < 97:
		c.event(Generated{"r", c.r.IntN(c.plan.Shards + 1)})
	case n < 98:
		c.event(Submit{Plan: c.plan, Until: StageTrain})
	case n < 99:
		c.now = c.now.Add(time.Duration(c.r.IntN(15)) * time.Second)
		c.event(Tick{})
	case n < 100 && c.r.IntN(2) == 0:
		c.event(Received{s, message.LinkChecked{Peer: c.id()}})
	default:
		c.event(Received{s, message.Heartbeat{Doing: "x", Number: c.r.Uint64N(9), Run: []string{"r", ""}[c.r.IntN(2)],
			State: ergoflow.Mark{Generation: c.made(), Step: ergoflow.Step(c.r.IntN(60))}}})
	}
}

func (c *chaos) id() ergoflow.WorkerID { return ergoflow.WorkerID(fmt.Sprintf("w%d", c.r.IntN(6))) }

func (c *chaos) hello(id ergoflow.WorkerID) {
	c.next++
	c.open[c.next] = id
	held := ergoflow.Mark{Generation: c.made(), Step: ergoflow.Step(c.r.IntN(60))}
	c.event(Opened{Session: c.next, Hello: message.Hello{
		Worker: message.Worker{ID: id, DataAddress: string(id) + ":1"}, Run: "r", HasState: c.r.IntN(2) == 0, State: held,
	}, Identity: identityOf(id)})
}

func identityOf(id ergoflow.WorkerID) string { return "ergoflow://lab/worker/" + string(id) }

// checkMember wants the process of the worker, as it presented itself and as its certificate
// names it.
func checkMember(m message.Member, fail func(string, ...any)) {
	if m != (message.Member{ID: m.ID, DataAddress: string(m.ID) + ":1", Identity: identityOf(m.ID)}) {
		fail("it names %+v", m)
	}
}

// made is a generation that may, or cannot, have made a state.
func (c *chaos) made() ergoflow.Generation { return ergoflow.Generation(c.r.IntN(int(c.latest) + 2)) }

func (c *chaos) save(step ergoflow.Step) {
	if step >= 0 && step < c.plan.Steps { // a run that ends is the scripts' matter
		state := ergoflow.Mark{Generation: min(c.made(), c.latest), Step: step}
		if c.ledger.Failure == "" && (c.checkpoint == nil || state.Compare(*c.checkpoint) > 0) {
			c.checkpoint = &state
		}
		c.event(Saved{"r", state, c.r.IntN(2) == 0})
	}
}

func (c *chaos) scanned() {
	e := Scanned{Run: "r"}
	if c.checkpoint != nil {
		e.HasCheckpoint, e.Checkpoint = true, *c.checkpoint
	}
	for k := range c.plan.Shards + 1 {
		e.Present = append(e.Present, k)
	}
	c.event(e)
}

// answer is the answer of a worker that follows the protocol.
func (c *chaos) answer(send Send) {
	switch m := send.Message.(type) {
	case message.Ping:
		c.event(Received{send.Session, message.Heartbeat{Number: m.Heard + 1}})
	case message.Prepare:
		c.event(Received{send.Session, message.Prepared{Run: m.Plan.Run, Number: m.Number}})
	case message.Form:
		held := ergoflow.Mark{Generation: m.Generation - 1, Step: c.machine.Status().Step}
		c.event(Received{send.Session, message.Report{Generation: m.Generation, HasState: true, State: held, Hash: "a"}})
	case message.Assign:
		c.event(Received{send.Session, message.Ready{Generation: m.Generation}})
	case message.Go:
		c.event(Received{send.Session, message.Progress{Generation: m.Generation, Step: c.machine.Status().Step + 1, Samples: 10}})
	case message.CheckLink:
		c.event(Received{send.Session, message.LinkChecked{Peer: m.Peer.ID}})
	case message.Save:
		c.save(c.machine.Status().Step)
	}
}

// recover connects two workers that follow the protocol, and lets time pass: they must
// make a step.
func (c *chaos) recover() {
	c.event(Submit{Plan: c.plan, Until: StageTrain})
	c.scanned()
	for _, id := range []ergoflow.WorkerID{"x", "y"} {
		c.hello(id)
	}
	before := c.machine.Status().Generation
	for range 600 {
		c.now = c.now.Add(250 * time.Millisecond)
		c.event(Tick{})
		for len(c.outbox) > 0 && c.fault == "" {
			send := c.outbox[0]
			c.outbox = c.outbox[1:]
			// The others of before have fallen silent; only x and y answer.
			if send.To == "x" || send.To == "y" {
				c.answer(send)
			}
		}
		s := c.machine.Status()
		if s.State == "training" && s.Generation > before && slices.ContainsFunc(s.Workers, func(w WorkerStatus) bool {
			return w.Rank >= 0 && (w.ID == "x" || w.ID == "y") && w.Step > 0
		}) || s.Step == c.plan.Steps || c.fault != "" {
			return
		}
	}
	c.fault = fmt.Sprintf("two good workers do not train: %+v", c.machine.Status())
}

func (c *chaos) event(e Event) {
	before, from, charged, counted := c.machine.Status(), c.machine.now, c.machine.goodput.total(), c.machine.goodput.open
	effects, reason := c.machine.Step(c.now, e)
	if passed := c.machine.now.Sub(from); counted && charged+passed != c.machine.goodput.total() {
		c.fault = fmt.Sprintf("%#v: after %v the parts of the time have grown from %v to %v", e, passed, charged, c.machine.goodput.total())
		return
	}
	again, because := c.twin.Step(c.now, e)
	if reason != because || !reflect.DeepEqual(effects, again) {
		c.fault = fmt.Sprintf("%#v: two machines differ: %v %q, %v %q", e, effects, reason, again, because)
		return
	}
	if e, ok := e.(Received); ok {
		c.note(e, before)
	}
	for _, effect := range effects {
		if c.fault == "" {
			c.check(effect)
		}
	}
	if s := c.machine.Status(); c.fault == "" && (s.State == "training" || s.State == "forming") {
		for id := range c.formed[s.Generation] {
			if !slices.ContainsFunc(s.Workers, func(w WorkerStatus) bool { return w.ID == id }) {
				c.fault = fmt.Sprintf("%#v: generation %d goes on without its member %s", e, s.Generation, id)
			}
		}
		for _, l := range s.CutLinks {
			a, b := c.machine.byID(l.Workers[0]), c.machine.byID(l.Workers[1])
			if a == nil || b == nil || c.machine.current.has(a.ID) && c.machine.current.has(b.ID) {
				c.fault = fmt.Sprintf("%#v: generation %d needs the cut link of %v", e, s.Generation, l.Workers)
			}
		}
	}
}

// note records an event of the machine, and checks that progress of another generation
// does not change the step.
func (c *chaos) note(e Received, before Status) {
	id, open := c.open[e.Session]
	switch m := e.Message.(type) {
	case message.Report:
		if open && c.formed[m.Generation][id] == e.Session && len(c.assigned[m.Generation]) == 0 {
			if _, twice := c.reported[m.Generation][id]; !twice {
				c.reported[m.Generation][id] = m
			}
		}
	case message.Ready:
		if open && c.formed[m.Generation][id] == e.Session && len(c.assigned[m.Generation]) > 0 {
			c.ready[m.Generation][id] = true
		}
	case message.Progress:
		after := c.machine.Status().Step
		if (c.gone[m.Generation] || m.Generation != c.latest || before.State != "training") && after != before.Step {
			c.fault = fmt.Sprintf("progress %+v moved the step from %d to %d in state %s", m, before.Step, after, before.State)
		}
	}
}

// check compares one effect with those before it.
func (c *chaos) check(effect Effect) {
	fail := func(format string, args ...any) {
		c.fault = fmt.Sprintf("%s: %s", effect, fmt.Sprintf(format, args...))
	}
	switch e := effect.(type) {
	case Persist:
		if err := e.Ledger.Validate(); err != nil {
			fail("persists %v: %v", e.Ledger, err)
		}
		if e.Ledger.Generation < c.persisted {
			fail("generation goes back from %d", c.persisted)
		}
		c.ledger, c.persisted = e.Ledger, e.Ledger.Generation
		if e.Ledger.Finished || e.Ledger.Failure != "" {
			c.gone[c.latest] = true
		}
	case Close:
		delete(c.open, e.Session)
	case Send:
		if _, ok := c.open[e.Session]; !ok {
			fail("to a closed session")
		}
		c.outbox = append(c.outbox, e)
		switch m := e.Message.(type) {
		case message.Form:
			if m.Generation > c.latest {
				if m.Generation != c.latest+1 && c.latest == c.persisted {
					fail("numbers are skipped after %d", c.latest)
				}
				if c.latest > 0 && !c.gone[c.latest] && c.anyOpen(c.formed[c.latest]) {
					fail("generation %d has not ended", c.latest)
				}
				c.latest = m.Generation
				c.formed[m.Generation] = map[ergoflow.WorkerID]Session{}
				c.reported[m.Generation] = map[ergoflow.WorkerID]message.Report{}
				c.ready[m.Generation] = map[ergoflow.WorkerID]bool{}
			}
			if m.Generation != c.persisted || m.Generation != c.latest {
				fail("persisted is %d, latest %d", c.persisted, c.latest)
			}
			c.formed[m.Generation][e.To] = e.Session
		case message.Prepare:
			if m.Follow != (message.Member{}) {
				checkMember(m.Follow, fail)
			}
		case message.CheckLink:
			checkMember(m.Peer, fail)
		case message.Assign:
			for _, member := range m.Members {
				checkMember(member, fail)
			}
			c.checkAssign(e.To, m, fail)
		case message.Go:
			if c.gone[m.Generation] || m.Generation != c.latest {
				fail("it has ended")
			}
			if len(c.ready[m.Generation]) != len(c.assigned[m.Generation]) {
				fail("%d of %d are ready", len(c.ready[m.Generation]), len(c.assigned[m.Generation]))
			}
			if len(c.assigned[m.Generation]) != len(c.formed[m.Generation]) {
				fail("%d of %d are assigned", len(c.assigned[m.Generation]), len(c.formed[m.Generation]))
			}
			c.partition(c.assigned[m.Generation], fail)
		case message.Abort:
			if m.Generation != c.latest {
				fail("the latest is %d", c.latest)
			}
			c.gone[m.Generation] = true
		}
	}
}

// anyOpen reports whether any session is open: otherwise no worker is left to be told
// that the generation has ended.
func (c *chaos) anyOpen(members map[ergoflow.WorkerID]Session) bool {
	for _, s := range members {
		if _, ok := c.open[s]; ok {
			return true
		}
	}
	return false
}

func (c *chaos) checkAssign(to ergoflow.WorkerID, a message.Assign, fail func(string, ...any)) {
	g := a.Generation
	switch {
	case c.gone[g] || g != c.latest:
		fail("it has ended")
	case a.Rank < 0 || a.Rank >= len(a.Members) || a.Members[a.Rank].ID != to:
		fail("rank %d is not the receiver's", a.Rank)
	case a.Saves != (a.Rank == 0):
		fail("saves")
	case len(a.Members) != len(c.formed[g]) || len(c.reported[g]) != len(a.Members):
		fail("%d members, %d formed, %d reported", len(a.Members), len(c.formed[g]), len(c.reported[g]))
	}
	var best ergoflow.Mark
	has := false
	for _, r := range c.reported[g] {
		if r.HasState && c.possible(r.State) && (!has || r.State.Compare(best) > 0) {
			best, has = r.State, true
		}
	}
	own := c.reported[g][to]
	switch source := a.Source; source.Kind {
	case message.SourceOwn:
		if !own.HasState || own.State != best || source.State != best {
			fail("it reported %+v, the best is %s", own, best)
		}
	case message.SourcePeer:
		peer := c.reported[g][source.Peer.ID]
		if source.Peer.ID == to || !peer.HasState || peer.State != best || source.State != best {
			fail("the peer reported %+v, the best is %s", peer, best)
		}
	case message.SourceCheckpoint:
		if has && source.State.Compare(best) <= 0 {
			fail("a member holds %s", best)
		}
	case message.SourceFresh:
		if has {
			fail("a member holds %s", best)
		}
	default:
		fail("no source")
	}
	for _, other := range c.assigned[g] {
		if !slices.Equal(other.Members, a.Members) || other.Source.State != a.Source.State {
			fail("another was told %s", other)
		}
	}
	c.assigned[g] = append(c.assigned[g], a)
}

func (c *chaos) possible(m ergoflow.Mark) bool {
	return m.Step >= 0 && m.Step <= c.plan.Steps && m.Generation <= c.persisted
}

func (c *chaos) partition(assigns []message.Assign, fail func(string, ...any)) {
	owned := make([]bool, c.plan.Shards)
	for _, a := range assigns {
		if len(a.Shards) == 0 {
			fail("rank %d owns nothing", a.Rank)
		}
		for _, k := range a.Shards {
			if k < 0 || k >= len(owned) || owned[k] {
				fail("shard %d has two owners", k)
				return
			}
			owned[k] = true
		}
	}
	if i := slices.Index(owned, false); i >= 0 {
		fail("shard %d has no owner", i)
	}
}
