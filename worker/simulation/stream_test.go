package simulation

import (
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// stream is one session's connection. Messages keep their order in each direction. Those
// on their way when the stream breaks are lost. When one side ends the stream, the other
// learns of it after the messages that were sent before, or never.
type stream struct {
	w           *world
	worker      *process
	coordinator *coordinator
	incarnation int    // of the coordinator
	term        uint64 // of that
	number      machine.Session
	beats       []beat // that are not verified
	heard       uint64 // the last that is

	toCoordinator, toWorker         time.Duration // when the last message arrives
	heldUp, heldDown                time.Duration // until then messages are held
	coordinatorClosed, workerClosed bool          // this side is done with it
	broken                          bool
}

// up sends a worker's message; it arrives once or, rarely, twice.
func (s *stream) up(m message.FromWorker) {
	if s.workerClosed {
		return
	}
	if !s.coordinatorIsThere() { // and another process answers at its address
		s.workerHears(s.w.delay())
		return
	}
	for range s.copies() {
		s.carryUp(func() { s.coordinator.receive(s, m) })
	}
}

func (s *stream) down(m message.FromCoordinator) {
	if s.coordinatorClosed {
		return
	}
	for range s.copies() {
		s.carryDown(func() { s.worker.receive(s, m) })
	}
}

func (s *stream) copies() int {
	if s.w.calm || !s.w.oneIn(s.w.weather.twice) {
		return 1
	}
	return 2
}

func (s *stream) carryUp(arrives func()) {
	s.toCoordinator = max(s.toCoordinator, s.w.now+s.w.delay())
	s.w.on(&s.coordinator.host, s.toCoordinator-s.w.now, func() { s.arriveUp(arrives) })
}

func (s *stream) arriveUp(arrives func()) {
	if d := s.hold(&s.heldUp, s.worker.id, s.coordinator.id); d > 0 {
		s.w.on(&s.coordinator.host, d, func() { s.arriveUp(arrives) })
		return
	}
	if !s.broken && !s.coordinatorClosed && s.coordinatorIsThere() {
		arrives()
	}
}

func (s *stream) carryDown(arrives func()) {
	s.toWorker = max(s.toWorker, s.w.now+s.w.delay())
	s.w.on(&s.worker.host, s.toWorker-s.w.now, func() { s.arriveDown(arrives) })
}

func (s *stream) arriveDown(arrives func()) {
	if d := s.hold(&s.heldDown, s.coordinator.id, s.worker.id); d > 0 {
		s.w.on(&s.worker.host, d, func() { s.arriveDown(arrives) })
		return
	}
	if !s.broken && !s.workerClosed && s.worker.alive {
		arrives()
	}
}

// hold is for how long a message is held that arrives over a link: while that is cut, and behind
// earlier ones, also where it is mended early.
func (s *stream) hold(until *time.Duration, from, to ergoflow.WorkerID) time.Duration {
	*until = max(*until, s.w.now+s.w.open(from, to))
	return *until - s.w.now
}

func (s *stream) coordinatorIsThere() bool {
	return s.coordinator.up && s.coordinator.incarnation == s.incarnation
}

// snap breaks the stream: each side learns of it after its own delay.
func (s *stream) snap() {
	s.broken = true
	s.workerHears(s.w.delay())
	s.coordinatorHears(s.w.delay(), "the stream broke")
}

// workerHears tells the worker that the stream is broken, even over a cut link: its own
// host finds out.
func (s *stream) workerHears(d time.Duration) {
	s.w.on(&s.worker.host, d, func() {
		if !s.workerClosed && s.worker.alive {
			s.worker.streamBroke(s)
		}
	})
}

func (s *stream) coordinatorHears(d time.Duration, why string) {
	s.w.on(&s.coordinator.host, d, func() {
		if !s.coordinatorClosed && s.coordinatorIsThere() {
			s.coordinator.streamBroke(s, why)
		}
	})
}

// closeByWorker ends the stream in order: messages that were sent before arrive before.
func (s *stream) closeByWorker() {
	if s.workerClosed {
		return
	}
	s.workerClosed = true
	s.carryUp(func() { s.coordinator.streamBroke(s, "the worker ended its stream") })
}

func (s *stream) closeByCoordinator() {
	if s.coordinatorClosed {
		return
	}
	s.carryDown(func() { s.worker.streamBroke(s) })
	s.coordinatorClosed = true
}

// beat is a heartbeat that came, and the coordinator's last round at that time.
type beat struct{ number, round uint64 }

// hears notes a heartbeat.
func (s *stream) hears(m message.FromWorker) {
	if b, ok := m.(message.Heartbeat); ok && s.coordinator.consensus != nil {
		s.beats = append(s.beats, beat{b.Number, s.coordinator.consensus.round})
	}
}

// verified has a ping tell only of heartbeats that came before the coordinator verified that it
// leads: before the round began that a majority has answered last.
func (s *stream) verified(m message.FromCoordinator) message.FromCoordinator {
	ping, ok := m.(message.Ping)
	if !ok || s.coordinator.consensus == nil || s.w.sabotage.unverified {
		return m
	}
	heard := uint64(0)
	for len(s.beats) > 0 && s.beats[0].round < s.coordinator.consensus.verified {
		heard = max(heard, s.beats[0].number)
		s.beats = s.beats[1:]
	}
	s.heard = max(s.heard, heard)
	return message.Ping{Heard: min(ping.Heard, s.heard)}
}
