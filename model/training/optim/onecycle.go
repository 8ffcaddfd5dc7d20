// Package optim is AdamW under the one-cycle schedule, equal to PyTorch's
// torch.optim.AdamW and torch.optim.lr_scheduler.OneCycleLR.
package optim

import "math"

// OneCycle is the one-cycle schedule of Smith and Topin (2018) with PyTorch's
// defaults: two cosine phases, 30 % warm-up from Peak/25 to Peak, then down to
// Peak/25/10⁴, while beta1 goes 0.95 → 0.85 → 0.95.
type OneCycle struct {
	Peak  float64 // highest learning rate
	Total int64   // number of steps
}

const (
	warmUp    = 0.3
	divide    = 25.0 // initial rate is Peak/divide
	finalDiv  = 1e4  // last rate is initial/finalDiv
	highBeta1 = 0.95
	lowBeta1  = 0.85
	minPhase  = 1e-12 // length of an empty phase, to avoid a division by zero
)

// At returns learning rate and beta1 of step (0 ≤ step < Total).
func (o OneCycle) At(step int64) (rate, beta1 float64) {
	initial := o.Peak / divide
	// PyTorch's phases end at these (fractional) steps.
	top := warmUp*float64(o.Total) - 1
	end := float64(o.Total) - 1
	s := float64(step)
	if s <= top {
		p := s / max(top, minPhase)
		return cosine(initial, o.Peak, p), cosine(highBeta1, lowBeta1, p)
	}
	p := (s - top) / max(end-top, minPhase)
	return cosine(o.Peak, initial/finalDiv, p), cosine(lowBeta1, highBeta1, p)
}

// cosine anneals from a at p = 0 to b at p = 1.
func cosine(a, b, p float64) float64 { return b + (a-b)/2*(1+math.Cos(math.Pi*p)) }
