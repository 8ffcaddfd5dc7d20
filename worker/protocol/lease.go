package protocol

import (
	"time"
)

// A lease is how long steps may be applied without a word of the coordinator.
// Members that it cannot hear it replaces after a while by others that go on
// from an older state; by then these members must have stopped, though nobody
// can tell them. The coordinator counts from when it last heard of the worker.
// The worker counts from when it sent the last heartbeat that it knows was heard,
// which is before, and a shorter time: no clocks need to agree.
//
// A step whose lease has run out is not lost: it is applied when the next ping
// renews the lease, if its generation still is.
type lease struct {
	length time.Duration // zero: none is needed
	number uint64        // of the last heartbeat
	sent   []time.Time   // when the last heartbeats were, those not known to be heard
	until  time.Time
}

// maxUnheard bounds the memory of heartbeats without an answer.
const maxUnheard = 64

// beat returns the number of a heartbeat that is sent now.
func (l *lease) beat(now time.Time) uint64 {
	if len(l.sent) == maxUnheard {
		l.sent = append(l.sent[:0], l.sent[1:]...)
	}
	l.number++
	l.sent = append(l.sent, now)
	return l.number
}

// heard renews the lease: the coordinator has the heartbeat of that number.
func (l *lease) heard(number uint64) {
	first := l.number - uint64(len(l.sent)) + 1
	if number < first || number > l.number {
		return // known, forgotten, or never sent
	}
	l.until = l.sent[number-first].Add(l.length)
	l.sent = append(l.sent[:0], l.sent[number-first+1:]...)
}

func (l *lease) valid(now time.Time) bool { return l.length == 0 || now.Before(l.until) }
