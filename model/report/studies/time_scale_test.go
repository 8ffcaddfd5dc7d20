package studies

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// rare1d's rows with σ₀ = 1 are made with σ₀ = 0.1 and a hundred times the step:
// states agree, step for step, with those of b and σ scaled by 100 and 10.
func TestTimeScaleIsTheStep(t *testing.T) {
	grid := sde.Grid{Lo: -5, Hi: 5, N: 256}
	slow, fast := sde.Coefficients{Grid: grid}, sde.Coefficients{Grid: grid}
	for j := range grid.N { // p ∝ exp(−(x²−1)²/0.2), σ ≈ 0.1: two wells
		x := grid.At(j)
		sigma, slope := 0.1+0.02*math.Cos(2*x), -0.04*math.Sin(2*x)
		b := sigma*sigma/2*(-20*x*(x*x-1)) + sigma*slope
		slow.Drift, slow.Diffusion = append(slow.Drift, float32(b)), append(slow.Diffusion, float32(sigma))
		fast.Drift, fast.Diffusion = append(fast.Drift, float32(100*b)), append(fast.Diffusion, float32(10*sigma))
	}
	const chains, samples = 64, 50
	draw := func(c sde.Coefficients, dt float64) []float32 {
		dst := make([]float32, chains*samples)
		s := simulate.Scheme{DT: dt, Thin: 1, Chains: chains, Start: "0.7"}
		if err := simulate.Fastest().Chains(t.Context(), dst, c, s, 3, 4, "test"); err != nil {
			t.Fatal(err)
		}
		return dst
	}
	long, short := draw(slow, 0.1), draw(fast, 0.001)
	var moved float64
	for k := range long {
		moved = max(moved, math.Abs(float64(long[k]-long[k/samples*samples])))
		if d := math.Abs(float64(long[k] - short[k])); !(d <= 1e-4) {
			t.Fatalf("step %d of chain %d: %v and %v", k%samples, k/samples, long[k], short[k])
		}
	}
	if !(moved >= 0.3) {
		t.Errorf("no chain moved by more than %v", moved)
	}
}
