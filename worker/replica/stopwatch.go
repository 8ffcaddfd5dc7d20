package replica

import "time"

// A Stopwatch measures consecutive parts of a step.
type Stopwatch struct{ last time.Time }

// NewStopwatch starts now.
func NewStopwatch() *Stopwatch { return &Stopwatch{time.Now()} }

// Lap is the time since the last Lap, or since the start, in seconds.
func (s *Stopwatch) Lap() float64 {
	now := time.Now()
	d := now.Sub(s.last).Seconds()
	s.last = now
	return d
}
