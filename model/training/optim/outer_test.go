package optim_test

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/training/optim"
)

// The update is that of torch.optim.SGD(lr, momentum, nesterov=True) on the outer gradient:
//
//	buf = momentum*buf + grad;  grad = grad + momentum*buf;  p -= lr*grad
//
// here in float64.
func TestOuterIsNesterov(t *testing.T) {
	const rate, momentum = 0.7, 0.9
	outer := optim.Outer{Rate: rate, Momentum: momentum}
	source := random.New(1, "test")
	theta, velocity := make([]float32, 100), make([]float32, 100)
	p, buf := make([]float64, 100), make([]float64, 100)
	delta := make([]float32, 100)
	for range 50 {
		for i := range delta {
			delta[i] = float32(source.NormFloat64())
			grad := -float64(delta[i])
			buf[i] = momentum*buf[i] + grad
			p[i] -= rate * (grad + momentum*buf[i])
		}
		outer.Update(theta, velocity, delta)
	}
	for i := range p {
		if math.Abs(float64(theta[i])-p[i]) > 1e-4 || math.Abs(float64(velocity[i])-buf[i]) > 1e-5 {
			t.Fatalf("parameter %d is %g with velocity %g, want %g and %g", i, theta[i], velocity[i], p[i], buf[i])
		}
	}
}

// By hand: two rounds with Δ = 1 at rate ½ and momentum ½ give u = −1, −3/2 and
// θ = ½(1 + ½) = ¾, then ¾ + ½(1 + ¾) = 13/8.
func TestOuterByHand(t *testing.T) {
	theta, velocity := []float32{0}, []float32{0}
	outer := optim.Outer{Rate: 0.5, Momentum: 0.5}
	for _, want := range [][2]float32{{-1, 0.75}, {-1.5, 1.625}} {
		outer.Update(theta, velocity, []float32{1})
		if velocity[0] != want[0] || theta[0] != want[1] {
			t.Errorf("velocity %g and parameter %g, want %g", velocity[0], theta[0], want)
		}
	}
}

// With rate 1 and no momentum the mean change is added as it is.
func TestOuterCanAverage(t *testing.T) {
	theta, velocity := []float32{1, 2}, []float32{0, 0}
	for range 3 {
		optim.Outer{Rate: 1}.Update(theta, velocity, []float32{0.25, -0.5})
	}
	if theta[0] != 1.75 || theta[1] != 0.5 {
		t.Errorf("got %g, want [1.75 0.5]", theta)
	}
}

// Where the moments restart, the bias correction does so too, and the schedule does not.
func TestRestartedMoments(t *testing.T) {
	whole := optim.AdamW{ClipNorm: 1, Schedule: optim.OneCycle{Peak: 1e-3, Total: 100}}
	rounds := whole
	rounds.Restart = 5
	for _, step := range []int64{0, 4, 5, 42, 99} {
		rate, beta1 := whole.Schedule.At(step)
		k := float64(step%5 + 1)
		got := rounds.Scalars(step)
		if want := float32(rate / (1 - math.Pow(beta1, k))); got[1] != want {
			t.Errorf("step %d: step size %g, want %g", step, got[1], want)
		}
		if want := float32(math.Sqrt(1 - math.Pow(0.999, k))); got[4] != want {
			t.Errorf("step %d: correction of v %g, want %g", step, got[4], want)
		}
		if got[2] != float32(beta1) {
			t.Errorf("step %d: β₁ %g, want %g", step, got[2], beta1)
		}
	}
}
