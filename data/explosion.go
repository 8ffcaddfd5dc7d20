package data

import (
	"context"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// odeSteps bounds the steps of Explodes.
const odeSteps = 20_000

// Explodes says whether chains of an equation diverged because of the equation, not of the
// time step: without noise a solution from their starts leaves ±1e6 in the time that they
// took, or X reaches infinity in finite time.
func Explodes(engine *simulate.Engine, equation simulate.Equation, s simulate.Scheme, seed uint64, e *simulate.DivergedError) bool {
	law, err := s.Start.Along(0)
	if err != nil {
		return false
	}
	mean := law.Mean()
	if b, _ := engine.Evaluate(equation, []float64{e.From}); (e.To-mean)*b[0] < 0 { // leads back; the step went too far
		return false
	}
	if b := BoundariesOf(engine, equation, sde.WholeLine, mean); e.To > mean && b.Hi.Attainable() || e.To < mean && b.Lo.Attainable() {
		return true
	}
	s.BurnIn, s.Thin, s.Chains = 0, 1, pilotChains
	x := make([]float64, pilotChains)
	if err := engine.EulerMaruyamaFunc(context.Background(), x, equation, sde.WholeLine, s, seed, 0, pilotPurpose, nil); err != nil {
		return false
	}
	left := make([]float64, len(x)) // time of each solution
	for i := range left {
		left[i] = s.DT * float64(e.Step+1)
	}
	for range odeSteps {
		drift, _ := engine.Evaluate(equation, x)
		moving := false
		for i, b := range drift {
			// Euler's method with steps of a fiftieth of the state's size.
			step := min(left[i], 0.02*(1+math.Abs(x[i]))/math.Abs(b))
			if !(step > 0) || b == 0 {
				continue
			}
			moving = true
			x[i], left[i] = x[i]+b*step, left[i]-step
			if !(math.Abs(x[i]) < simulate.Bound) {
				return true
			}
		}
		if !moving {
			return false
		}
	}
	return false
}
