package machine

import (
	"math/bits"
	"time"

	"github.com/ergoflow/ergoflow"
)

// Slowness costs time, so time is what is added up. Of a worker that may compute
// for 30 ms of every 100, two steps in three are as fast as anyone's and the third
// takes 70 ms longer: a median of steps sees nothing, a mean sees 23 ms a step. But
// one pause of two seconds lets a mean over ten of them look slow. So there are looks,
// each the mean over a second, or over one step where that takes longer. Of the last
// ten most must agree before anything is said, and their median says by how much.
const (
	lookFor    = time.Second
	lookBack   = 10
	leastLooks = 3 // before which there is no median
)

// A look is what the members of a generation did in some steps on end. Slices are by
// rank, times in seconds.
type look struct {
	steps   int
	own     []float64 // for their own parts
	last    []int     // steps in which it entered the ring last
	awaited []float64 // in these, by the first
}

func newLook(world int) look {
	return look{own: make([]float64, world), last: make([]int, world), awaited: make([]float64, world)}
}

// looks are those of one generation.
type looks struct {
	members []ergoflow.WorkerID // by rank
	begun   time.Time           // the open one
	open    look
	past    []look // the oldest first
}

func newLooks(members []ergoflow.WorkerID) looks {
	return looks{members: members, open: newLook(len(members))}
}

// add takes a step that all have made, in which the last one was waited for.
func (l *looks) add(timings []Timing, last int, awaited float64) {
	l.open.steps++
	for rank, t := range timings {
		l.open.own[rank] += t.own()
	}
	l.open.last[last]++
	l.open.awaited[last] += awaited
}

// close ends the open look once it has lasted and has a step.
func (l *looks) close(now time.Time) bool {
	if now.Sub(l.begun) < lookFor || l.open.steps == 0 {
		return false
	}
	l.past = append(l.past[max(0, len(l.past)-lookBack+1):], l.open)
	l.open, l.begun = newLook(len(l.members)), now
	return true
}

// mean is what a step cost a member for its own part, in seconds: Σ own / steps.
func (k look) mean(rank int) float64 { return k.own[rank] / float64(k.steps) }

// latest is that of the look that was closed last.
func (l *looks) latest(rank int) float64 { return l.past[len(l.past)-1].mean(rank) }

// median is the lower median of the past looks' means; zero: not known yet.
func (l *looks) median(rank int) float64 {
	if len(l.past) < leastLooks {
		return 0
	}
	return median(l.past, func(k look) float64 { return k.mean(rank) })
}

// WaitsFor says who makes the members of a generation wait, in the steps of about
// the last ten seconds.
type WaitsFor struct {
	Worker  ergoflow.WorkerID `json:"worker"`  // that was waited for longest, all in all
	Steps   int               `json:"steps"`   // it was last in so many
	Of      int               `json:"of"`      // of so many
	Seconds float64           `json:"seconds"` // that the first one waited for it, a step: the sum over all of them, divided by their number
}

// waitsFor is nil where nobody has waited for anybody.
func (l *looks) waitsFor() *WaitsFor {
	if len(l.members) < 2 {
		return nil
	}
	sum := newLook(len(l.members))
	for _, k := range append(l.past[:len(l.past):len(l.past)], l.open) {
		sum.steps += k.steps
		for rank := range l.members {
			sum.last[rank] += k.last[rank]
			sum.awaited[rank] += k.awaited[rank]
		}
	}
	if sum.steps == 0 {
		return nil
	}
	most := 0
	for rank := range l.members {
		if sum.awaited[rank] > sum.awaited[most] {
			most = rank
		}
	}
	return &WaitsFor{l.members[most], sum.last[most], sum.steps, sum.awaited[most] / float64(sum.steps)}
}

// votes are what the last looks say to a question, the newest in the lowest bit.
type votes uint16

// carried: so many of the last ten say yes. An unbroken run of them is not asked
// for: one good second ends no slowness.
const carried = 7

func (v *votes) add(yes bool) {
	*v = *v << 1 & (1<<lookBack - 1)
	if yes {
		*v |= 1
	}
}

func (v votes) carried() bool { return bits.OnesCount16(uint16(v)) >= carried }
