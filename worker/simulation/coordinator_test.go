package simulation

import (
	"fmt"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// coordinator is the process around a machine, with its disks.
type coordinator struct {
	host
	w           *world
	up          bool
	incarnation int
	machine     *machine.Machine
	sessions    map[machine.Session]*stream
	last        machine.Session
	scanning    bool

	disk        machine.Ledger
	checkpoints []*node // durable
}

const tick = 100 * time.Millisecond

func (c *coordinator) start() {
	c.up, c.hangs, c.scanning = true, 0, false
	c.incarnation++
	c.machine = machine.New(c.w.sabotage.config(machine.Config{Version: "v"}), c.disk)
	c.sessions = map[machine.Session]*stream{}
	c.w.logf("coordinator starts")
	c.step(machine.Start{})
	c.step(machine.Submit{Plan: c.w.sabotage.plan(c.w.plan), Until: machine.StageTrain})
	c.at(tick, c.tick)
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
	effects, reason := c.machine.Step(c.w.time(), e)
	if reason != "" {
		c.w.logf("coordinator = %s", reason)
	}
	for _, effect := range effects {
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

func (c *coordinator) execute(effect machine.Effect) {
	w := c.w
	switch e := effect.(type) {
	case machine.Persist:
		if w.sabotage.latePersist {
			ledger := e.Ledger
			c.at(300*time.Millisecond, func() { c.disk = ledger })
			return
		}
		c.disk = e.Ledger
	case machine.Send:
		if _, ping := e.Message.(message.Ping); !ping {
			w.logf("coordinator ► %s", e)
		}
		w.ordered(c, e)
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
		c.scan()
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

// scan reads the disks, which takes a while.
func (c *coordinator) scan() {
	if c.scanning {
		return
	}
	c.scanning = true
	e := machine.Scanned{Run: c.w.plan.Run}
	for k := range c.w.plan.Shards + 1 {
		e.Present = append(e.Present, k)
	}
	if newest := c.newest(); newest != nil {
		e.HasCheckpoint, e.Checkpoint = true, newest.mark
	}
	c.at(c.w.between(time.Millisecond, 300*time.Millisecond), func() {
		c.scanning = false
		c.step(e)
	})
}

// newest is the checkpoint with the greatest mark.
func (c *coordinator) newest() *node {
	var newest *node
	for _, n := range c.checkpoints {
		if newest == nil || n.mark.Compare(newest.mark) > 0 {
			newest = n
		}
	}
	return newest
}

// save stores a checkpoint that has arrived, and tells the machine once it is durable.
func (c *coordinator) save(p *process, n *node, final bool) {
	w := c.w
	upload := machine.Upload{Worker: p.id, Secret: uint64(p.pid), Run: w.plan.Run, State: n.mark}
	if err := c.machine.CheckUpload(upload); err != nil {
		w.logf("coordinator refuses the checkpoint %s of %s: %v", n.mark, p, err)
		w.happened["checkpoints refused"]++
		return
	}
	w.uploaded(c, upload)
	if !w.calm && w.oneIn(w.weather.unsaved) {
		e := machine.NotSaved{Run: w.plan.Run, Step: n.mark.Step, Reason: "no space left"}
		if n.mark.Step%2 == 0 { // a full disk; otherwise a file that cannot be written
			e.Short = &machine.Shortage{Path: "/disk", Bytes: 1}
		}
		c.step(e)
		return
	}
	w.logf("coordinator stores the checkpoint %s", n.mark)
	if w.sabotage.lateCheckpoint {
		c.at(500*time.Millisecond, func() { c.checkpoints = append(c.checkpoints, n) })
	} else {
		c.checkpoints = append(c.checkpoints, n)
	}
	times := 1
	if !w.calm && w.oneIn(w.weather.twice) {
		times = 2
	}
	for range times {
		c.at(w.between(0, 5*time.Millisecond), func() { c.step(machine.Saved{Run: w.plan.Run, State: n.mark, Final: final}) })
	}
}

func (c *coordinator) done() bool { return c.up && c.disk.Finished }

func (c *coordinator) status() string {
	if !c.up {
		return "the coordinator is down"
	}
	return fmt.Sprintf("%+v", c.machine.Status())
}

// stop ends the process as SIGTERM does: the machine dismisses all workers, in bounded time.
func (c *coordinator) stop() {
	c.step(machine.Stop{})
	c.at(12*time.Second, c.crash)
}
