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

// coordinator is the process around a machine, with its disks.
type coordinator struct {
	host
	w           *world
	up          bool
	incarnation int
	fleet       *fleet.Fleet
	sessions    map[machine.Session]*stream
	last        machine.Session
	scanning    map[string]bool
	conducts    map[int]string // slot → hash of its run

	disk map[int]machine.Ledger // by slot
}

const tick = 100 * time.Millisecond

func (c *coordinator) start() {
	c.up, c.hangs, c.scanning, c.conducts = true, 0, map[string]bool{}, map[int]string{}
	c.incarnation++
	c.fleet = fleet.New(c.w.sabotage.config(machine.Config{Version: "v"}), c.disk)
	c.sessions = map[machine.Session]*stream{}
	c.w.logf("coordinator starts")
	for slot, ledger := range c.disk {
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

// at schedules a call in this incarnation of the process.
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
	c.w.logf("coordinator crashes")
	c.up = false
	for _, s := range c.ordered() {
		if c.w.weather.knownDead || c.w.calm {
			s.carryDown(func() { s.worker.streamBroke(s) })
		}
		s.coordinatorClosed = true
	}
	c.w.after(c.w.between(50*time.Millisecond, 4*time.Second), func() {
		if !c.up {
			c.start()
		}
	})
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
	if _, beat := m.(message.Heartbeat); !beat {
		c.w.logf("coordinator ◄ %s: %s%+v", s.worker.id, strings.TrimPrefix(fmt.Sprintf("%T", m), "message."), m)
	}
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

// step handles an event and executes its effects, unless the process crashes
// among them.
func (c *coordinator) step(e machine.Event) {
	effects, reason := c.fleet.Step(c.w.time(), e)
	if reason != "" {
		c.w.logf("coordinator = %s", reason)
	}
	for _, effect := range effects {
		if _, ok := effect.Effect.(machine.Lost); ok {
			continue // it only tells the flight recorder: a crash beside it is none between effects
		}
		crash := !c.w.calm && c.w.oneIn(c.w.weather.crash)
		if crash && c.w.oneIn(2) {
			c.w.happened["coordinator crashes between effects"]++
			c.crash()
			return
		}
		c.execute(effect)
		if crash && c.up {
			c.w.happened["coordinator crashes between effects"]++
			c.crash()
			return
		}
		if !c.up {
			return
		}
	}
	c.w.observe(c)
}

func (c *coordinator) execute(effect fleet.Effect) {
	w := c.w
	switch e := effect.Effect.(type) {
	case machine.Persist:
		delete(c.conducts, effect.Slot)
		if p := e.Ledger.Plan; p != nil {
			c.conducts[effect.Slot] = p.Run
		}
		if w.sabotage.latePersist {
			c.at(300*time.Millisecond, func() { c.persist(effect.Slot, e.Ledger) })
			return
		}
		c.persist(effect.Slot, e.Ledger)
	case machine.Send:
		if _, ping := e.Message.(message.Ping); !ping {
			w.logf("coordinator ► %s", e)
		}
		w.ordered(c, effect.Slot, e)
		order := w.sabotage.order(c, e)
		if s := c.sessions[e.Session]; s != nil {
			s.down(order)
		}
	case machine.Close:
		w.logf("coordinator %s", e)
		if s := c.sessions[e.Session]; s != nil {
			delete(c.sessions, e.Session)
			s.closeByCoordinator()
		}
	case machine.Scan:
		c.scan(w.withHash(e.Plan.Run))
	case machine.Warn:
		w.logf("coordinator warns: %s", e.Text)
		if strings.Contains(e.Text, "differ") {
			w.fail("%s", e.Text)
		}
	case machine.AwaitRoom:
		c.at(w.between(0, 3*time.Second), func() { c.step(machine.Room{}) })
	case machine.Stopped:
		c.crash() // in order: no worker is left
	}
}

// persist makes a slot's ledger durable.
func (c *coordinator) persist(slot int, l machine.Ledger) {
	c.disk[slot] = l
	if l.Plan != nil {
		r := c.w.withHash(l.Plan.Run)
		r.finished, r.failure = l.Finished, l.Failure
	}
}

// scan reads the disks, which takes a while.
func (c *coordinator) scan(r *run) {
	if c.scanning[r.plan.Run] {
		return
	}
	c.scanning[r.plan.Run] = true
	e := machine.Scanned{Run: r.plan.Run}
	for k := range r.plan.Shards + 1 {
		e.Present = append(e.Present, k)
	}
	if newest := r.newestCheckpoint(); newest != nil {
		e.HasCheckpoint, e.Checkpoint = true, newest.mark
	}
	c.at(c.w.between(time.Millisecond, 300*time.Millisecond), func() {
		delete(c.scanning, r.plan.Run)
		c.step(e)
	})
}

// save stores a checkpoint that has arrived, and tells the machine once it is durable.
func (c *coordinator) save(p *process, n *node, final bool) {
	w, r := c.w, n.run
	upload := machine.Upload{Worker: p.id, Secret: uint64(p.pid), Run: r.plan.Run, State: n.mark}
	if err := c.fleet.CheckUpload(upload); err != nil {
		w.logf("coordinator refuses the checkpoint %s of %s: %v", n.mark, p, err)
		w.happened["checkpoints refused"]++
		return
	}
	w.uploaded(c, r, upload)
	if !w.calm && w.oneIn(w.weather.unsaved) {
		e := machine.NotSaved{Run: r.plan.Run, Step: n.mark.Step, Reason: "no space left"}
		if n.mark.Step%2 == 0 { // a full disk; otherwise a file that cannot be written
			e.Short = &machine.Shortage{Path: "/disk", Bytes: 1}
		}
		c.step(e)
		return
	}
	w.logf("coordinator stores the checkpoint %s", n.mark)
	if w.sabotage.lateCheckpoint {
		c.at(500*time.Millisecond, func() { r.checkpoints = append(r.checkpoints, n) })
	} else {
		r.checkpoints = append(r.checkpoints, n)
	}
	times := 1
	if !w.calm && w.oneIn(w.weather.twice) {
		times = 2
	}
	for range times {
		c.at(w.between(0, 5*time.Millisecond), func() { c.step(machine.Saved{Run: r.plan.Run, State: n.mark, Final: final}) })
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
