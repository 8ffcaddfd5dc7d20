package registry

import (
	"errors"
	"fmt"
	"time"
)

// ErrLocked: another holder has the lock. A LockedError says which.
var ErrLocked = errors.New("it is being retrained already")

// LockedError is ErrLocked with the holder.
type LockedError struct {
	Model  string
	Holder Holder
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("model %s: %v, by %v", e.Model, ErrLocked, e.Holder)
}

func (e *LockedError) Unwrap() error { return ErrLocked }

// Policy says what Lock does where another holder has the lock.
type Policy string

const (
	Wait    Policy = "wait"    // until the other releases it
	Skip    Policy = "skip"    // fail with ErrLocked
	Replace Policy = "replace" // ask the other to end, and wait for that
)

// Times of the lock.
const (
	leaseTime = time.Minute      // a holder that is silent for so long loses the lock
	beatTime  = 10 * time.Second // between two signs of life
	pollTime  = time.Second      // between two looks of those who wait
)

// lock is the record of who holds the lock.
type lock struct {
	Holder Holder        `json:"holder"`
	Fence  uint64        `json:"fence"` // grows with every holder
	Beat   uint64        `json:"beat"`  // counts the holder's signs of life
	Clock  time.Duration `json:"clock"` // of the holder's machine since its start, at the last one
	Since  time.Time     `json:"since"` // for people
	Asked  bool          `json:"asked"` // to end, by one who replaces it
}

// watch is what one who wants the lock has seen of its holder, on its own monotonic clock.
// Wall clocks of two machines are never compared.
type watch struct {
	fence, beat uint64
	first       time.Duration // when it saw this sign of life first
	seen        bool          // that the holder gave one after the first that it saw
	asked       time.Duration // when it asked the holder to end; 0: not yet
}

// look updates the watch with the record at a time.
func (w watch) look(l lock, now time.Duration) watch {
	if w.fence == l.Fence && w.beat == l.Beat {
		return w
	}
	next := watch{fence: l.Fence, beat: l.Beat, first: now}
	if w.fence == l.Fence {
		next.seen, next.asked = true, w.asked
	}
	return next
}

// verdict is what to do about a lock that another has.
type verdict int

const (
	stay verdict = iota // look again later
	take                // take it over
	fail                // it is held, and the policy is Skip
	ask                 // ask its holder to end
)

// judge decides, at a time on me's clock, what me does about a lock; gone says that its
// holder is a process of this machine that has ended. The reason is that of a takeover.
func judge(me Holder, policy Policy, l lock, w watch, gone bool, now time.Duration) (verdict, string) {
	silent := now - w.first
	if me.sameBoot(l.Holder) { // one clock for both: no need to watch
		silent = now - l.Clock
	}
	switch {
	case gone:
		return take, fmt.Sprintf("%v has ended without releasing the lock", l.Holder)
	case me.rebooted(l.Holder):
		return take, fmt.Sprintf("%s was started again since %v held the lock", l.Holder.Host, l.Holder)
	case silent >= leaseTime:
		return take, fmt.Sprintf("%v gave no sign of life for %v", l.Holder, leaseTime)
	case policy == Skip && (w.seen || me.sameBoot(l.Holder)):
		return fail, ""
	case policy == Replace && w.asked == 0:
		return ask, ""
	case policy == Replace && now-w.asked >= leaseTime:
		return take, fmt.Sprintf("%v was asked to end, and did not within %v", l.Holder, leaseTime)
	}
	return stay, ""
}
