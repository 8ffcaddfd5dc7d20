package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/fleet"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// coordinator is the process around a machine, with its disk. Where there are several, it
// conducts while it leads, which is one incarnation.
type coordinator struct {
	host
	w           *world
	consensus   *consensus // nil: there is one coordinator
	others      []*coordinator
	away        time.Duration // a process that has ended is not started again before
	up          bool          // it conducts
	incarnation int           // no two coordinators have the same
	fleet       *fleet.Fleet
	inbox       []machine.Event // behind the one that is handled
	effects     []fleet.Effect  // of that event, to be executed
	busy        bool            // an event is handled
	sessions    map[machine.Session]*stream
	last        machine.Session
	scanning    map[string]bool
	scanned     map[*run]bool    // it has told the machine which checkpoints there are
	secured     map[*run][]*node // checkpoints that it knows a majority to have
	conducts    map[int]string   // slot → hash of its run

	disk   map[int]machine.Ledger // by slot; of several coordinators it is the log
	stored map[*run][]*node       // checkpoints on its disk
}

const tick = 100 * time.Millisecond

// start begins to conduct.
func (c *coordinator) start() {
	c.up, c.hangs, c.scanning, c.conducts = true, 0, map[string]bool{}, map[int]string{}
	c.inbox, c.effects, c.busy, c.scanned = nil, nil, false, map[*run]bool{}
	c.secured = map[*run][]*node{}
	c.w.incarnations++
	c.incarnation = c.w.incarnations
	disk := c.disk
	if c.consensus != nil {
		disk = c.consensus.ledgers()
		c.w.fleet.quietSince, c.w.fleet.unfairSince = c.w.now, 0 // workers come back, and may move
	}
	c.fleet = fleet.New(c.w.sabotage.config(machine.Config{Patience: c.w.weather.patience, PingedAtOnce: c.w.weather.pinged}), disk)
	c.sessions = map[machine.Session]*stream{}
	c.w.logf("%s starts", c.id)
	for slot, ledger := range disk {
		if ledger.Plan != nil {
			c.conducts[slot] = ledger.Plan.Run
		}
	}
	c.step(machine.Start{})
	for _, r := range c.w.runs {
		if !r.hasEnded() && c.up {
			c.submit(r)
		}
	}
	c.at(tick, c.tick)
}

// submit hands a run to the fleet, as the queue does when it begins and after each start.
func (c *coordinator) submit(r *run) {
	c.step(fleet.Submit{Workers: c.w.sabotage.bounds(r.workers),
		Submit: machine.Submit{Plan: c.w.sabotage.plan(r.plan), Until: machine.StageTrain, Entry: r.entry}})
}

// at schedules a call in this incarnation.
func (c *coordinator) at(d time.Duration, happens func()) {
	incarnation := c.incarnation
	c.w.on(&c.host, d, func() {
		if c.up && c.incarnation == incarnation {
			happens()
		}
	})
}

func (c *coordinator) tick() {
	c.at(tick, c.tick)
	c.step(machine.Tick{})
}

// crash ends the process. Messages that it sent before still arrive.
func (c *coordinator) crash() {
	c.w.logf("%s crashes", c.id)
	c.up = false
	for _, s := range c.ordered() {
		if c.w.weather.knownDead || c.w.calm {
			s.carryDown(func() { s.worker.streamBroke(s) })
		}
		s.coordinatorClosed = true
	}
	c.sessions = nil
	if c.consensus != nil {
		c.consensus.crash()
	}
	c.w.after(c.w.between(50*time.Millisecond, 4*time.Second), c.restart)
}

// restart starts the process again.
func (c *coordinator) restart() {
	switch {
	case c.w.now < c.away && !c.w.calm:
		c.w.after(c.away-c.w.now, c.restart)
	case c.consensus == nil && !c.up:
		c.start()
	case c.consensus != nil && c.consensus.down:
		c.consensus.begin()
	}
}

// depose ends the loop of a coordinator that leads no more: it closes all sessions.
func (c *coordinator) depose() {
	if !c.up {
		return // its first entry was not committed
	}
	c.up = false
	for _, s := range c.ordered() {
		s.closeByCoordinator()
	}
	c.sessions = nil
	c.w.happened["a leader is deposed"]++
}

func (c *coordinator) ordered() []*stream {
	var all []*stream
	for n := machine.Session(1); n <= c.last; n++ {
		if s := c.sessions[n]; s != nil {
			all = append(all, s)
		}
	}
	return all
}

func (c *coordinator) receive(s *stream, m message.FromWorker) {
	if _, beat := m.(message.Heartbeat); !beat && c.w.verbose {
		c.w.logf("%s ◄ %s: %s%+v", c.id, s.worker.id, strings.TrimPrefix(fmt.Sprintf("%T", m), "message."), m)
	}
	s.hears(m)
	hello, ok := m.(message.Hello)
	if !ok {
		for _, e := range c.w.sabotage.events(c, machine.Received{Session: s.number, Message: m}) {
			c.step(e)
		}
		return
	}
	if s.number != 0 {
		return // the adapter accepts one Hello a session
	}
	c.last++
	s.number = c.last
	c.sessions[s.number] = s
	c.step(machine.Opened{Session: s.number, Hello: c.w.sabotage.hello(hello)})
}

func (c *coordinator) streamBroke(s *stream, why string) {
	s.coordinatorClosed = true
	if s.number == 0 || c.sessions[s.number] == nil {
		return
	}
	delete(c.sessions, s.number)
	c.step(machine.Closed{Session: s.number, Reason: why})
}

// step handles an event, after those that came before it, and executes its effects, unless the
// process crashes among them.
func (c *coordinator) step(e machine.Event) {
	if !c.up {
		return
	}
	c.inbox = append(c.inbox, e)
	if !c.busy {
		c.work()
	}
}

// work handles the events that wait.
func (c *coordinator) work() {
	c.busy = true
	for len(c.inbox) > 0 {
		e := c.inbox[0]
		c.inbox = c.inbox[1:]
		effects, reason := c.fleet.Step(c.time(), e)
		if reason != "" {
			c.w.logf("%s = %s", c.id, reason)
		}
		if c.effects = effects; !c.executeAll() {
			return
		}
	}
	c.busy = false
}

// executeAll executes the effects of an event. It reports false where the process has crashed,
// or waits until what it persists is committed: then that continues.
func (c *coordinator) executeAll() bool {
	for len(c.effects) > 0 {
		effect := c.effects[0]
		c.effects = c.effects[1:]
		if _, ok := effect.Effect.(machine.Lost); ok {
			continue // it only tells the flight recorder: a crash beside it is none between effects
		}
		crash := !c.w.calm && c.w.oneIn(c.w.weather.crash)
		if crash && c.w.oneIn(2) {
			c.w.happened["coordinator crashes between effects"]++
			c.crash()
			return false
		}
		waits := c.execute(effect)
		if crash && c.up {
			c.w.happened["coordinator crashes between effects"]++
			c.crash()
			return false
		}
		if !c.up || waits {
			return false
		}
	}
	c.w.observe(c)
	return true
}

// time is what the host's clock shows.
func (h *host) time(w *world) time.Time {
	return time.Unix(1_000_000, 0).Add(w.now + time.Duration(h.rate*float64(w.now)))
}

func (c *coordinator) time() time.Time { return c.host.time(c.w) }

// execute executes an effect. It reports whether the others must wait until it is done.
func (c *coordinator) execute(effect fleet.Effect) (waits bool) {
	w := c.w
	switch e := effect.Effect.(type) {
	case machine.Persist:
		delete(c.conducts, effect.Slot)
		if p := e.Ledger.Plan; p != nil {
			c.conducts[effect.Slot] = p.Run
		}
		return c.persist(effect.Slot, e.Ledger)
	case machine.Send:
		if _, ping := e.Message.(message.Ping); !ping && w.verbose {
			w.logf("%s ► %s", c.id, e)
		}
		w.ordered(c, effect.Slot, e)
		order := w.sabotage.order(c, e)
		if s := c.sessions[e.Session]; s != nil {
			s.down(s.verified(order))
		}
	case machine.Close:
		w.logf("%s %s", c.id, e)
		if s := c.sessions[e.Session]; s != nil {
			delete(c.sessions, e.Session)
			s.closeByCoordinator()
		}
	case machine.Scan:
		c.scan(w.withHash(e.Plan.Run))
	case machine.Warn:
		w.logf("%s warns: %s", c.id, e.Text)
		if strings.Contains(e.Text, "differ") {
			w.fail("%s", e.Text)
		}
	case machine.AwaitRoom:
		c.at(w.between(0, 3*time.Second), func() { c.step(machine.Room{}) })
	case machine.Stopped:
		c.crash() // in order: no worker is left
	}
	return false
}

// persist makes a slot's ledger durable, on one disk or by an entry that is committed. It
// reports whether the effects after it must wait.
func (c *coordinator) persist(slot int, l machine.Ledger) (waits bool) {
	write := func() {
		c.disk[slot] = l
		c.w.durable(l)
	}
	switch {
	case c.consensus == nil && c.w.sabotage.latePersist:
		c.at(300*time.Millisecond, write)
	case c.consensus == nil:
		write()
	case c.w.sabotage.latePersist:
		c.consensus.propose(entry{by: c.incarnation, slot: slot, ledger: &l}, func() {})
	default:
		incarnation := c.incarnation
		c.consensus.propose(entry{by: c.incarnation, slot: slot, ledger: &l}, func() {
			if c.up && c.incarnation == incarnation && c.executeAll() {
				c.work()
			}
		})
		return true
	}
	return false
}

// durable notes what a ledger says about its run that is never lost.
func (w *world) durable(l machine.Ledger) {
	if l.Plan != nil {
		r := w.withHash(l.Plan.Run)
		r.finished, r.failure = l.Finished, l.Failure
	}
}

// done reports whether all runs are finished.
func (c *coordinator) done() bool {
	return c.up && !slices.ContainsFunc(c.w.runs, func(r *run) bool { return !r.finished })
}

func (c *coordinator) status() string {
	if !c.up {
		return "the coordinator is down"
	}
	text := ""
	for _, r := range c.w.runs {
		text += fmt.Sprintf("%+v; ", c.fleet.Status(r.plan.Run))
	}
	return text
}

// stop ends the process as SIGTERM does: the machine dismisses all workers, in bounded time.
func (c *coordinator) stop() {
	c.step(machine.Stop{})
	c.at(12*time.Second, c.crash)
}
