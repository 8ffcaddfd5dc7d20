package expression_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Formulas drive the simulator: heavy tails on the whole line, where any table
// would end. b = −x, σ² = 2(1+x²) has p = ½(1+x²)^(−3/2).
func TestSimulatesHeavyTails(t *testing.T) {
	compile := func(source string) *expression.Expression {
		e, err := expression.Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	dst := make([]float64, 8192)
	engine, err := simulate.NewEngine("go")
	if err != nil {
		t.Fatal(err)
	}
	err = engine.EulerMaruyamaFunc(context.Background(), dst, expression.NewEquation(compile("-x"), compile("sqrt(2*(1+x^2))")).Bind, sde.WholeLine,
		simulate.Scheme{DT: 0.005, BurnIn: 1600, Thin: 1, Chains: len(dst)}, 1, 0, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(dst)
	var d float64
	n := float64(len(dst))
	for i, v := range dst {
		u := (1 + v/math.Sqrt(1+v*v)) / 2
		d = max(d, u-float64(i)/n, float64(i+1)/n-u)
	}
	if k := d * math.Sqrt(n); !(k <= 1.95) {
		t.Errorf("√n·KS is %.2f from the exact law, above 1.95 with probability 0.001", k)
	}
	if least := dst[0]; !(least <= -20) {
		t.Errorf("the least of %d samples is %v: the tail is missing", len(dst), least)
	}
}

// Steps per second on all cores, as the simulate command runs them.
func BenchmarkSimulate(b *testing.B) {
	for _, c := range []struct{ drift, diffusion string }{{"-x", "sqrt(2)"}, {"x-x^3", "1"}, {"-x", "sqrt(1+0.5*x^2)"}, {"-x", "exp(-x^2)"}, {"-sin(3*x)-x", "1"}} {
		b.Run(c.drift+" "+c.diffusion, func(b *testing.B) {
			drift, err := expression.Compile(c.drift)
			if err != nil {
				b.Fatal(err)
			}
			diffusion, err := expression.Compile(c.diffusion)
			if err != nil {
				b.Fatal(err)
			}
			engine, err := simulate.NewEngine(expression.Engines()[0])
			if err != nil {
				b.Fatal(err)
			}
			s := simulate.Scheme{DT: 0.01, BurnIn: 1000, Thin: 10, Chains: 512}
			dst := make([]float64, 512*32)
			for i := range b.N {
				if err := engine.EulerMaruyamaFunc(context.Background(), dst, expression.NewEquation(drift, diffusion).Bind, sde.WholeLine, s, 1, uint64(i), "bench", nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(s.Steps(32)*s.Chains)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msteps/s")
		})
	}
}
