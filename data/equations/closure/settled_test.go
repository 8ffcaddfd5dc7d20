package closure_test

import (
	"errors"
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/closure"
	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Where the closure is wrong, the base of chains has the law's mean and covariance, as far as a thousand
// states tell them: on an attractor, and in two wells, of which the closure finds one.
func TestSettled(t *testing.T) {
	wells := expressiontest.Space(t, 1, "4*(x0 - x0^3)", "0.5")
	wells.Box = []sde.Interval{{Lo: -3, Hi: 3.5}}
	for name, c := range map[string]struct {
		s      sde.Space
		dt     float64
		closed float64 // the least that a second moment by the closure is off
		most   float64 // that it may be off
	}{
		"attractor":     {functionOf(t, "lorenz63", 0), 0.002, 1, 0.35},
		"wells":         {wells, 0.01, 1, 0.35},
		"linear":        {functionOf(t, "ornstein_uhlenbeck", 0), 0.01, 0, 0.35},
		"64 deviations": {expressiontest.Space(t, 64, "-x", "1"), 0.01, 0, 0.5},
	} {
		z := simulated(t, c.s)
		other := append([]float32(nil), z...)
		settled, err := closure.Settled(c.s, c.dt)
		if err != nil {
			t.Fatal(err)
		}
		settled.Standardise(z)
		closure.Of(c.s).Standardise(other)
		off := func(z []float32) (most float64) {
			for k, v := range second(z, c.s.Dim()) {
				if k%(c.s.Dim()+1) == 0 {
					most = max(most, math.Abs(v-1))
				}
			}
			return most
		}
		t.Logf("%s: second moments are off by %.2f, those of the closure by %.2f", name, off(z), off(other))
		if off(z) > c.most || off(other) < c.closed {
			t.Errorf("%s: second moments are off by %.2f, those of the closure by %.2f", name, off(z), off(other))
		}
	}
}

// There is no base where chains diverge, and on a domain with ends.
func TestNotSettled(t *testing.T) {
	if _, err := closure.Settled(expressiontest.Space(t, 1, "x0^3", "1"), 0.05); !errors.Is(err, simulate.ErrDiverged) || !errors.Is(err, closure.ErrSettled) {
		t.Errorf("explodes: %v", err)
	}
	if _, err := closure.Settled(functionOf(t, "sediment", 0), 0.01); err == nil {
		t.Error("a domain with ends has settled states")
	}
}

func BenchmarkSettled(b *testing.B) {
	for _, name := range []string{"duffing", "lorenz63", "ornstein_uhlenbeck", "phi4", "lorenz96"} {
		s := functionOf(b, name, 0)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := closure.Settled(s, 0.002); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
