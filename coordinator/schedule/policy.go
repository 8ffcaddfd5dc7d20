package schedule

import (
	"fmt"
	"time"
)

// Missed says what happens to times that nobody started, because the coordinator was down.
type Missed string

// Policies for missed times.
const (
	MissedLast Missed = "last" // the newest one starts; the default
	MissedSkip Missed = "skip" // none starts more than a minute late, or than the deadline
	MissedAll  Missed = "all"  // the newest ones start, up to a bound
)

// Overlap says what happens to a time that comes while the schedule's last run is not over.
type Overlap string

// Policies for overlap.
const (
	OverlapQueue   Overlap = "queue"   // one run waits; the default
	OverlapSkip    Overlap = "skip"    // it does not start
	OverlapReplace Overlap = "replace" // it starts, and the run under way is cancelled
)

// Limits of a policy.
const (
	MaxCatchUp     = 100            // missed times that MissedAll starts
	DefaultCatchUp = 10             // where the policy has none
	MaxJitter      = 24 * time.Hour // of the start
	MaxDeadline    = 366 * 24 * time.Hour
	punctual       = time.Minute // delay within which a time is not missed
)

// Policy says how a schedule treats its times. The zero value is the default.
type Policy struct {
	Missed  Missed  `json:"missed,omitempty"`   // "" is last
	CatchUp int     `json:"catch_up,omitempty"` // bound of all; 0 is 10
	Overlap Overlap `json:"overlap,omitempty"`  // "" is queue
	// DeadlineSeconds after a time it does not start any more; 0 is no deadline.
	DeadlineSeconds int64 `json:"deadline_seconds,omitempty"`
	// JitterSeconds spreads the starts of schedules: a time starts up to so much later, by a
	// function of the schedule's name and the time.
	JitterSeconds int64 `json:"jitter_seconds,omitempty"`
}

// Validate refuses policies that contradict themselves.
func (p Policy) Validate() error {
	switch p.Missed {
	case "", MissedLast, MissedSkip, MissedAll:
	default:
		return fmt.Errorf("missed is %.40q: must be last, skip or all", string(p.Missed))
	}
	switch p.Overlap {
	case "", OverlapQueue, OverlapSkip, OverlapReplace:
	default:
		return fmt.Errorf("overlap is %.40q: must be queue, skip or replace", string(p.Overlap))
	}
	switch {
	case p.CatchUp != 0 && p.Missed != MissedAll:
		return fmt.Errorf("catch_up is %d, but missed is not all", p.CatchUp)
	case p.CatchUp < 0 || p.CatchUp > MaxCatchUp:
		return fmt.Errorf("catch_up is %d, not in 1…%d", p.CatchUp, MaxCatchUp)
	case p.JitterSeconds < 0 || p.JitterSeconds > int64(MaxJitter/time.Second):
		return fmt.Errorf("jitter is %d s, not in 0…%d s (%v)", p.JitterSeconds, int64(MaxJitter/time.Second), MaxJitter)
	case p.DeadlineSeconds < 0 || p.DeadlineSeconds > int64(MaxDeadline/time.Second):
		return fmt.Errorf("deadline is %d s, not in 0…%d s (366 days)", p.DeadlineSeconds, int64(MaxDeadline/time.Second))
	case p.DeadlineSeconds != 0 && p.deadline() < p.jitter()+punctual:
		return fmt.Errorf("deadline is %v, less than a minute above the jitter of %v: times would pass before they start", p.deadline(), p.jitter())
	}
	return nil
}

func (p Policy) deadline() time.Duration { return time.Duration(p.DeadlineSeconds) * time.Second }
func (p Policy) jitter() time.Duration   { return time.Duration(p.JitterSeconds) * time.Second }

// IsMissed reports whether a time that has not started by now is a missed one.
func (p Policy) IsMissed(t, now time.Time) bool { return now.Sub(t) > p.jitter()+punctual }

// Deadline is the instant after which a time does not start any more; the zero time: it has
// none.
func (p Policy) Deadline(t time.Time) time.Time {
	if p.DeadlineSeconds == 0 {
		return time.Time{}
	}
	return t.Add(p.deadline())
}

// late is the delay after which a time does not start any more; 0 is none.
func (p Policy) late() time.Duration {
	if p.DeadlineSeconds == 0 && p.Missed == MissedSkip {
		return p.jitter() + punctual
	}
	return p.deadline()
}

// atOnce is how many times may start together.
func (p Policy) atOnce() int {
	if p.Missed != MissedAll {
		return 1
	}
	if p.CatchUp == 0 {
		return DefaultCatchUp
	}
	return p.CatchUp
}
