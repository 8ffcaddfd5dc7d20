package machine

import (
	"math/bits"
	"time"

	"github.com/ergoflow/ergoflow"
)

// A straggler costs time, so the machine adds up time. A worker under a CPU quota
// that may compute for 30 ms of every 100 makes two steps in three as fast as the
// others; the third takes 70 ms longer. A median over steps does not show that, a
// mean does: 23 ms a step. But after one pause of two seconds a mean over ten seconds
// is high as well. So the machine takes means over windows of a second, or of one
// step where that takes longer. At least 7 of the last 10 windows must agree before
// the machine acts, and the median of their means is the number that it reports.
const (
	windowLength = time.Second
	windowCount  = 10
	minWindows   = 3 // for a median
)

// A window sums up consecutive steps of a generation. Slices are by rank, times in
// seconds.
type window struct {
	steps   int
	own     []float64 // time for the member's own part
	last    []int     // steps in which the member entered the ring last
	awaited []float64 // time for which the first member in the ring waited for it in these
}

func newWindow(world int) window {
	return window{own: make([]float64, world), last: make([]int, world), awaited: make([]float64, world)}
}

// mean is the time of a member's own part per step, in seconds: Σ own / steps.
func (w window) mean(rank int) float64 { return w.own[rank] / float64(w.steps) }

// windows are the recent ones of one generation.
type windows struct {
	members []ergoflow.WorkerID // by rank
	begun   time.Time           // the open window
	open    window
	closed  []window // the oldest first
}

func newWindows(members []ergoflow.WorkerID) windows {
	return windows{members: members, open: newWindow(len(members))}
}

// add takes a step that all members have made, the rank that entered the ring last,
// and for how long the first one waited for it, in seconds.
func (s *windows) add(timings []Timing, last int, awaited float64) {
	s.open.steps++
	for rank, t := range timings {
		s.open.own[rank] += t.own()
	}
	s.open.last[last]++
	s.open.awaited[last] += awaited
}

// close closes the open window where it is long enough and has a step, and reports
// whether it did.
func (s *windows) close(now time.Time) bool {
	if now.Sub(s.begun) < windowLength || s.open.steps == 0 {
		return false
	}
	s.closed = append(s.closed[max(0, len(s.closed)-windowCount+1):], s.open)
	s.open, s.begun = newWindow(len(s.members)), now
	return true
}

// latest is a member's mean in the window that was closed last.
func (s *windows) latest(rank int) float64 { return s.closed[len(s.closed)-1].mean(rank) }

// median is the lower median of a member's means in the closed windows; zero: not
// known yet.
func (s *windows) median(rank int) float64 {
	if len(s.closed) < minWindows {
		return 0
	}
	return median(s.closed, func(w window) float64 { return w.mean(rank) })
}

// WaitsFor names the worker that delays its generation most, in the steps of about the
// last ten seconds.
type WaitsFor struct {
	Worker  ergoflow.WorkerID `json:"worker"`  // with the longest sum of waits
	Steps   int               `json:"steps"`   // in which it was last
	Of      int               `json:"of"`      // all steps
	Seconds float64           `json:"seconds"` // Σ wait of the first member for it / Of
}

// waitsFor is nil where no member has waited for another.
func (s *windows) waitsFor() *WaitsFor {
	if len(s.members) < 2 {
		return nil
	}
	sum := newWindow(len(s.members))
	for _, w := range append(s.closed[:len(s.closed):len(s.closed)], s.open) {
		sum.steps += w.steps
		for rank := range s.members {
			sum.last[rank] += w.last[rank]
			sum.awaited[rank] += w.awaited[rank]
		}
	}
	if sum.steps == 0 {
		return nil
	}
	most := 0
	for rank := range s.members {
		if sum.awaited[rank] > sum.awaited[most] {
			most = rank
		}
	}
	return &WaitsFor{s.members[most], sum.last[most], sum.steps, sum.awaited[most] / float64(sum.steps)}
}

// An alarm is a condition in the last windows, a bit for each, the newest in the
// lowest.
type alarm uint16

// requiredWindows of the last windowCount must meet the condition. They need not be
// consecutive: one fast second does not end a slow phase.
const requiredWindows = 7

func (a *alarm) add(met bool) {
	*a = *a << 1 & (1<<windowCount - 1)
	if met {
		*a |= 1
	}
}

func (a alarm) raised() bool { return bits.OnesCount16(uint16(a)) >= requiredWindows }
