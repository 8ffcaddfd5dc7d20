package protocol

import (
	"time"
)

// A lease bounds how long a worker applies steps without hearing from the coordinator.
// The coordinator replaces members that it cannot hear by others, which continue from an
// older state. By then the old members must have stopped, though the coordinator cannot
// tell them. The coordinator counts from the last message that it received. The worker
// counts from the time at which it sent the last heartbeat that it knows was received.
// That is earlier, and a lease is shorter than the coordinator's wait: no clocks need to
// agree.
//
// A step is not lost when the lease ends before it is applied: the rank applies it when
// the next ping renews the lease, if its generation has not ended.
type lease struct {
	length time.Duration // zero: no lease is needed
	number uint64        // of the last heartbeat
	sent   []time.Time   // when the last heartbeats were sent that are not known to be received
	until  time.Time
}

// maxUnheard bounds the length of sent.
const maxUnheard = 64

// beat returns the number of the heartbeat that is sent now.
func (l *lease) beat(now time.Time) uint64 {
	if len(l.sent) == maxUnheard {
		l.sent = append(l.sent[:0], l.sent[1:]...)
	}
	l.number++
	l.sent = append(l.sent, now)
	return l.number
}

// heard renews the lease: the coordinator has received the heartbeat of that number.
func (l *lease) heard(number uint64) {
	first := l.number - uint64(len(l.sent)) + 1
	if number < first || number > l.number {
		return // already known, dropped from sent, or never sent
	}
	l.until = l.sent[number-first].Add(l.length)
	l.sent = append(l.sent[:0], l.sent[number-first+1:]...)
}

func (l *lease) valid(now time.Time) bool { return l.length == 0 || now.Before(l.until) }
