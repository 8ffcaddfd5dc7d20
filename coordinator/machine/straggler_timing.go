package machine

import (
	"iter"
	"math"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// Timing breaks a worker's step down, in seconds.
type Timing struct {
	Step     float64 `json:"step"`     // from one update to the next: the sum of the others
	Data     float64 `json:"data"`     // waiting for the batch
	Gradient float64 `json:"gradient"` // including the batch's transfer to the device
	Copy     float64 `json:"copy"`     // waiting for the gradient's transfer to the host
	Ring     float64 `json:"ring"`     // the sum over the workers, once the last of them has its gradient
	Wait     float64 `json:"wait"`     // for the last worker to have its gradient
	Update   float64 `json:"update"`   // including the sum's transfer to the device
	Other    float64 `json:"other"`    // between these
}

// timingOf is what a worker measured. Step and Wait follow from all members' timings: see
// recordTiming.
func timingOf(t message.Timing) Timing {
	return Timing{Data: t.Data, Gradient: t.Gradient, Copy: t.Copy, Ring: t.Ring, Update: t.Update, Other: t.Other}
}

// Phases yields name and seconds of each phase in order. Other is between them.
func (t Timing) Phases() iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		_ = yield("data", t.Data) && yield("gradient", t.Gradient) && yield("copy", t.Copy) && yield("ring", t.Ring) && yield("wait", t.Wait) && yield("update", t.Update)
	}
}

// own is the time of the worker's own part: it does not depend on others, and grows
// with the worker's shards.
func (t Timing) own() float64 { return t.Data + t.Gradient + t.Copy }

// plausible reports whether all parts are finite and not negative: after a clock jumped
// they may not be.
func (t Timing) plausible() bool {
	for _, s := range []float64{t.Data, t.Gradient, t.Copy, t.Ring, t.Wait, t.Update, t.Other} {
		if !(s >= 0) || math.IsInf(s, 1) {
			return false
		}
	}
	return true
}

// medians takes the lower median of each part by itself, and of the whole step.
func medians(steps []Timing) Timing {
	part := func(of func(Timing) float64) float64 { return median(steps, of) }
	return Timing{
		Step:     part(func(t Timing) float64 { return t.Step }),
		Data:     part(func(t Timing) float64 { return t.Data }),
		Gradient: part(func(t Timing) float64 { return t.Gradient }),
		Copy:     part(func(t Timing) float64 { return t.Copy }),
		Ring:     part(func(t Timing) float64 { return t.Ring }),
		Wait:     part(func(t Timing) float64 { return t.Wait }),
		Update:   part(func(t Timing) float64 { return t.Update }),
		Other:    part(func(t Timing) float64 { return t.Other }),
	}
}

// stepTimings collects the members' timings of one step. No member is more than one
// step ahead of another, so at most two steps are incomplete.
type stepTimings struct {
	number  ergoflow.Step
	timings []Timing // by rank
	heard   int      // members that have reported
}

// recordTiming notes a worker's timing of a step. The ring ends for all members at
// once, and the last one to enter it does not wait. So a member's wait is its time in
// the ring less that of the last one; clocks of different hosts need not agree.
func (m *Machine) recordTiming(g *generation, rank int, number ergoflow.Step, t Timing) {
	s := &g.steps[0]
	if other := &g.steps[1]; other.number == number || s.number != number && other.number < s.number {
		s = other
	}
	if s.number != number || s.timings == nil {
		*s = stepTimings{number: number, timings: make([]Timing, len(g.members))}
	}
	s.timings[rank] = t
	if s.heard++; s.heard < len(g.members) {
		return
	}
	last := 0
	for rank, t := range s.timings {
		if !t.plausible() {
			m.stepMade(g, number, Timing{}, "", 0)
			return
		}
		if t.Ring < s.timings[last].Ring {
			last = rank
		}
	}
	ring, longest := s.timings[last].Ring, 0.0
	for rank, id := range g.members {
		t := s.timings[rank]
		t.Ring, t.Wait = ring, t.Ring-ring
		t.Step = t.own() + t.Ring + t.Wait + t.Update + t.Other
		longest = max(longest, t.Wait)
		m.byID(id).steps.add(t)
	}
	m.run.windows.add(s.timings, last, longest)
	m.stepMade(g, number, s.timings[last], g.members[last], longest)
}
