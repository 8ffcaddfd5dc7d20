package simulation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/worker/protocol"
)

// process is a worker: an adapter around its protocol, as package worker is, with a device
// that computes nothing.
type process struct {
	host
	w     *world
	pid   int
	alive bool

	session     *protocol.Session // nil: it looks for the coordinator
	stream      *stream
	coordinator *coordinator // of the last stream
	draining    bool
	dismissed   bool
	term        uint64 // the latest of a coordinator that it has obeyed
	ended       error  // the session's, until its work has ended

	run      *run // that it prepares or has prepared for; nil: none
	prepared bool
	newest   ergoflow.Generation // whose ring it has joined
	ordered  string              // the settings in the last order to prepare
	settings string              // those that it has prepared for
	node     *node               // the state; nil: none
	leader   *process            // the member that it follows; nil: none

	work   *work
	saving bool   // an upload is under way
	then   func() // called when the upload has ended
}

// work uses the device.
type work struct {
	cancelled bool
	busyUntil time.Duration  // until then the device cannot be interrupted
	assign    message.Assign // of a rank
	ring      *ring
	sum       *sum
}

// newProcess starts a worker, with the ID of a process that is gone or a new one.
func (w *world) newProcess(id ergoflow.WorkerID) {
	p := &process{w: w, pid: len(w.processes) + 1, alive: true}
	p.id = id
	if id == "" {
		p.id = ergoflow.WorkerID(fmt.Sprintf("w%d", p.pid))
	}
	if w.several() {
		p.rate = w.drift() - w.sabotage.drift
	}
	w.processes = append(w.processes, p)
	w.logf("%s starts", p)
	p.at(w.between(10*time.Millisecond, time.Second), p.look)
}

func (p *process) String() string { return fmt.Sprintf("%s(%d)", p.id, p.pid) }

// at schedules a call in this process.
func (p *process) at(d time.Duration, happens func()) {
	p.w.on(&p.host, d, func() {
		if p.alive {
			happens()
		}
	})
}

// look finds the coordinator and opens a session.
func (p *process) look() {
	if p.dismissed {
		p.w.fail("rule 9: %s looks for the coordinator that has dismissed it", p)
	}
	c := p.w.reached(p)
	if c == nil {
		p.at(p.w.between(150*time.Millisecond, 400*time.Millisecond), p.look)
		return
	}
	hello := message.Hello{Worker: message.Worker{ID: p.id, DataAddress: p.address(), Device: "none", PID: p.pid, Secret: uint64(p.pid)}, Newest: p.newest}
	if p.prepared {
		hello.Run = p.run.plan.Run
		if p.node != nil {
			hello.HasState, hello.State = true, p.mark()
		}
	}
	p.coordinator = c
	p.stream = &stream{w: p.w, worker: p, coordinator: c, incarnation: c.incarnation, term: c.term()}
	p.session, p.ended = protocol.NewSession(hello), nil
	p.post(protocol.Opened{})
	if p.draining {
		p.post(protocol.Drain{})
	}
	p.tick(p.session)
}

func (p *process) address() string { return fmt.Sprintf("%s:%d", p.id, p.pid) }

// mark is the mark of its state, as it tells the coordinator.
func (p *process) mark() ergoflow.Mark {
	mark := p.node.mark
	if newest := p.node.run.newest; p.w.sabotage.noMarks && newest != nil {
		mark.Generation = newest.generation // all states have the same generation, so that their steps decide
	}
	return mark
}

func (p *process) tick(session *protocol.Session) {
	p.at(250*time.Millisecond, func() {
		if p.session == session {
			latest := p.w.gossiped(p)
			p.post(protocol.Tick{Term: latest})
			if p.session != session && latest > p.term {
				p.w.happened["worker leaves a silent leader"]++
			}
			p.tick(session)
		}
	})
}

func (p *process) drain() {
	if !p.draining {
		p.draining = true
		if p.session != nil {
			p.post(protocol.Drain{})
		}
	}
}

func (p *process) receive(s *stream, m message.FromCoordinator) {
	if p.stream == s && p.session != nil {
		if s.term < p.term {
			p.w.happened["worker finds an earlier leader"]++
			if !p.w.sabotage.lowerTerms {
				p.post(protocol.Broken{Err: errors.New("the coordinator leads no more")})
				return
			}
		}
		p.term = max(p.term, s.term)
		_, leave := m.(message.Leave)
		p.dismissed = p.dismissed || leave
		p.post(protocol.Received{Message: p.w.sabotage.received(m)})
	}
}

func (p *process) streamBroke(s *stream) {
	s.workerClosed = true
	if p.stream == s && p.session != nil {
		p.post(protocol.Broken{Err: errors.New("the stream broke")})
	}
}

// post feeds the protocol an event and executes the effects, unless the process crashes
// among them.
func (p *process) post(e protocol.Event) {
	if _, ended := e.(protocol.Ended); ended {
		p.leaveRing()
		p.work = nil
	}
	if p.session == nil {
		p.rest()
		return
	}
	for _, effect := range p.session.Step(p.time(p.w), e) {
		if !p.w.calm && p.w.oneIn(p.w.weather.crash) {
			p.w.happened["worker crashes between effects"]++
			p.crash()
			return
		}
		p.execute(effect)
		if !p.alive {
			return
		}
	}
	p.rest()
}

func (p *process) execute(effect protocol.Effect) {
	switch e := effect.(type) {
	case protocol.Send:
		p.stream.up(e.Message)
	case protocol.Prepare:
		p.prepare(e.Order)
	case protocol.Describe:
		p.begin(&work{}, p.w.between(0, 20*time.Millisecond), func() { p.describe(e.Generation) })
	case protocol.Join:
		p.join(e.Assign)
	case protocol.Drop:
		p.begin(&work{}, 0, func() {
			p.drop()
			p.post(protocol.Ended{})
		})
	case protocol.Cancel:
		p.cancel(e.Reason)
	case protocol.Compute:
		p.compute()
	case protocol.Apply:
		p.apply()
	case protocol.Save:
		p.save(e)
	case protocol.CheckLink:
		p.checkLink(e.Peer)
	case protocol.End:
		p.end(e.Err)
	default:
		p.w.fail("%s: unexpected %T", p, effect)
	}
}

// drop forgets the run and its state.
func (p *process) drop() { p.run, p.prepared, p.node, p.leader = nil, false, nil, nil }

// prepare maps shards and compiles, again with new settings, and then follows the member that
// the order names. A state stays.
func (p *process) prepare(order message.Prepare) {
	if run := p.w.withHash(order.Plan.Run); p.run != run {
		if !p.w.sabotage.ignoreRun {
			p.drop()
		}
		p.run = run
	}
	p.ordered = string(order.Plan.Config)
	took := p.w.between(time.Millisecond, 20*time.Millisecond)
	if !p.prepared || p.settings != p.ordered {
		took = p.w.between(100*time.Millisecond, 3*time.Second)
		p.prepared = p.node != nil
	}
	p.begin(&work{}, took, func() {
		p.prepared, p.settings = true, p.ordered
		p.follow(order.Follow)
		p.post(protocol.Ended{})
	})
}

func (p *process) end(err error) {
	p.w.logf("%s ends its session: %v", p, err)
	p.ended, p.session = err, nil
	p.stream.closeByWorker()
}

// rest continues once a session and its work have ended.
func (p *process) rest() {
	if p.session != nil || p.work != nil || p.ended == nil || p.stream == nil {
		return
	}
	p.stream = nil
	switch {
	case errors.Is(p.ended, protocol.ErrLeft):
		p.uploaded(func() { p.exit("left") })
	case errors.Is(p.ended, protocol.ErrRefused):
		if strings.Contains(p.ended.Error(), "lost its ledger") {
			p.w.fail("rule 20: %s: %v", p, p.ended)
		}
		p.exit("refused")
	case errors.Is(p.ended, protocol.ErrTransferred):
		p.uploaded(func() {
			if !p.w.sabotage.keepRun {
				p.drop()
			}
			p.look()
		})
	default:
		p.at(p.w.between(0, 300*time.Millisecond), p.look)
	}
}

// uploaded calls f when no upload is under way.
func (p *process) uploaded(f func()) {
	if !p.saving {
		f()
		return
	}
	p.then = f
}

func (p *process) exit(why string) {
	p.w.logf("%s exits: %s", p, why)
	p.alive = false
	p.replace(p.w.oneIn(2))
}

// replace starts another process after a while, so that the run continues.
func (p *process) replace(same bool) {
	id := ergoflow.WorkerID("")
	if same {
		id = p.id
	}
	p.w.after(p.w.between(100*time.Millisecond, 5*time.Second), func() {
		if p.w.process(id) == nil && len(p.w.alive()) < p.w.weather.workers {
			p.w.newProcess(id)
		}
	})
}

// crash ends the process as SIGKILL does, or the end of its host.
func (p *process) crash() {
	p.w.logf("%s crashes", p)
	if p.stream != nil && (p.w.weather.knownDead || p.w.calm) {
		s := p.stream
		s.carryUp(func() { s.coordinator.streamBroke(s, "the stream broke") })
	}
	if p.w.weather.knownDead || p.w.calm {
		p.leaveRing()
	}
	p.alive, p.session, p.work = false, nil, nil
	p.replace(p.w.oneIn(2))
}

// begin starts work that is done after a while.
func (p *process) begin(w *work, took time.Duration, done func()) {
	p.work = w
	p.at(took, func() {
		if p.work == w && !w.cancelled {
			done()
		}
	})
}

// cancel ends the work as soon as the device can be interrupted.
func (p *process) cancel(reason string) {
	w := p.work
	w.cancelled = true
	err := fmt.Errorf("%w: %s", context.Canceled, reason)
	if w.ring != nil {
		err = w.ring.blame(w.assign.Rank, err)
	}
	p.leaveRing()
	p.at(max(0, w.busyUntil-p.w.now)+p.w.between(0, 10*time.Millisecond), func() {
		if p.work == w {
			p.post(protocol.Ended{Err: err})
		}
	})
}

// broke ends the work because of an error.
func (p *process) broke(w *work, err error) {
	if p.alive && p.work == w && !w.cancelled {
		p.at(max(0, w.busyUntil-p.w.now), func() {
			if p.work == w && !w.cancelled {
				w.cancelled = true
				p.post(protocol.Ended{Err: err})
			}
		})
	}
}

func (p *process) describe(generation ergoflow.Generation) {
	p.leader = nil
	report := message.Report{Generation: generation}
	if p.node != nil {
		report.HasState, report.State, report.Hash = true, p.mark(), p.node.hash()
	}
	p.post(protocol.Described{Report: report})
	p.post(protocol.Ended{})
}

// save takes a checkpoint and uploads it beside later work.
func (p *process) save(e protocol.Save) {
	n := p.node
	if n == nil {
		return
	}
	if p.saving {
		if e.Final {
			p.then = func() { p.save(e) }
		}
		return
	}
	p.saving = true
	c, incarnation := p.coordinator, p.coordinator.incarnation
	p.at(p.w.between(10*time.Millisecond, 2*time.Second), func() {
		lost := p.w.open(p.id, c.id) > 0
		p.saving = false
		if lost && e.Final && p.session != nil {
			p.post(protocol.NotSaved{Err: errors.New("it does not arrive")})
			if !p.alive {
				return
			}
		}
		p.w.on(&c.host, p.w.delay(), func() {
			if !lost && c.up && c.incarnation == incarnation {
				c.save(p, n, e.Final)
			}
		})
		if then := p.then; then != nil {
			p.then = nil
			then()
		}
	})
}
