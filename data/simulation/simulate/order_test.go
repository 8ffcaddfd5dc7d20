package simulate

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// The bias of a moment of the invariant law is O(Δt): on a log-log plot its
// slope is the weak order 1, and extrapolated to Δt = 0 the moment is the exact
// one.
func TestWeakOrder(t *testing.T) {
	longStatistics(t)
	logistic := equation{
		name:  "logistic",
		drift: func(x float64) float64 { return -2 * math.Tanh(2*x) }, diffusion: func(float64) float64 { return 1 },
		grid: sde.Grid{Lo: -5, Hi: 5, N: 2048},
	}
	for _, c := range []struct {
		equation
		centre, exact float64 // E(X−centre)²
		steps         []float64
	}{
		// The scheme's stationary variance is 1/(1−Δt/2).
		{equations()[0], 3, 1, []float64{0.05, 0.1, 0.2}},
		// b = −2tanh(2x), σ = 1: p ∝ cosh(2x)⁻², the logistic law of scale ¼ and
		// variance π²/48.
		{logistic, 0, math.Pi * math.Pi / 48, []float64{0.02, 0.04, 0.08}},
	} {
		for _, m := range methods {
			var bias, noise []float64
			for k, dt := range c.steps {
				const chains, perChain = 8192, 100
				dst := make([]float32, chains*perChain)
				s := Scheme{DT: dt, BurnIn: int(15 / dt), Thin: int(math.Round(0.4 / dt)), Chains: chains}
				if err := m.sample(dst, c.equation, s, uint64(k)); err != nil {
					t.Fatal(err)
				}
				value, err := moment(dst, chains, c.centre)
				bias, noise = append(bias, value-c.exact), append(noise, err)
			}
			last := len(bias) - 1
			slope := math.Log(bias[last]/bias[0]) / math.Log(c.steps[last]/c.steps[0])
			if !(math.Abs(slope-1) < 0.2) {
				t.Errorf("%s, %s: biases %.4f (standard errors %.4f) at Δt = %v have slope %.2f, want 1",
					c.name, m.name, bias, noise, c.steps, slope)
			}
			// Richardson's extrapolation from Δt and 2Δt leaves O(Δt²).
			if left := 2*bias[0] - bias[1]; !(math.Abs(left) <= 4*(2*noise[0]+noise[1])+c.steps[0]*c.steps[0]) {
				t.Errorf("%s, %s: extrapolated to Δt = 0 the moment is off by %.4f", c.name, m.name, left)
			}
		}
	}
}

// moment is E(X−centre)² with its standard error between chains.
func moment(samples []float32, chains int, centre float64) (value, err float64) {
	perChain := len(samples) / chains
	var sum, square float64
	for c := range chains {
		var m float64
		for _, x := range samples[c*perChain : (c+1)*perChain] {
			m += (float64(x) - centre) * (float64(x) - centre)
		}
		m /= float64(perChain)
		sum += m
		square += m * m
	}
	n := float64(chains)
	value = sum / n
	return value, math.Sqrt((square/n - value*value) / n)
}
