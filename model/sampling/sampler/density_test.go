package sampler_test

import (
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// Draws are those of Sample. Their density q is that of the solver's own map: for any density g,
// the mean of g/q over draws of q is 1, where the map folds nothing. So it is on the line, in the
// plane, with coarse solvers, too. In four dimensions the estimated traces have noise, which makes
// the mean larger by exp(noise²/2), were it normal.
func TestDensity(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, test := range []struct {
			dim      int
			solver   ode.Solver
			strength float64 // of the network
		}{{1, ode.Euler{Steps: 4}, 0.3}, {2, ode.RK4{Steps: 2}, 0.3}, {3, ode.Euler{Steps: 4}, 0.3}, {4, ode.RK4{Steps: 4}, 0.2}} {
			model := small
			model.Dimension, model.FMax = test.dim, 1
			st := fresh(model)
			rng := random.New(1, "sampler/density")
			for i := range st.Parameters {
				st.Parameters[i] += float32(test.strength * rng.NormFloat64())
			}
			s := open(t, b, model, st)
			f := functions(1, nodes)[0]
			f.Function = family.Function{Fields: f.Function.Fields}
			const n = 2000
			q, err := s.Density(t.Context(), sampler.Draw{Function: f, N: n, Seed: 3}, test.solver)
			if err != nil {
				t.Fatal(err)
			}
			x, err := s.Sample(t.Context(), []flow.Subject{f}, n, test.solver, 3)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range x[0] {
				if math.Abs(float64(v-q.X[i])) > 1e-4 {
					t.Fatalf("%d dimensions: draw %d is %g, of Sample %g", test.dim, i/test.dim, q.X[i], v)
				}
			}
			if slices.Contains(q.Folded, true) {
				t.Fatalf("%d dimensions, %v: the map folds", test.dim, test.solver)
			}
			if (q.Noise > 0) != (test.dim > 3) {
				t.Errorf("%d dimensions: the noise is %g", test.dim, q.Noise)
			}
			var centre []float64
			for k := range test.dim {
				centre = append(centre, 0)
				for i := k; i < len(q.X); i += test.dim {
					centre[k] += float64(q.X[i]) / n
				}
			}
			const deviation = 0.7
			var mean, square, stretched float64
			for i, l := range q.Log {
				g, p := 0., 0.
				for k := range test.dim {
					d := float64(q.X[i*test.dim+k]) - centre[k]
					g -= d*d/(2*deviation*deviation) + math.Log(deviation)
					p -= math.Log(2*math.Pi) / 2
				}
				r := math.Exp(g + p - l)
				mean += r / n
				square += r * r / n
				stretched += math.Abs(l-p+squares(sampler.Noise(3, 0, n*test.dim)[i*test.dim:][:test.dim])/2) / n
			}
			if e := math.Sqrt((square - mean*mean) / n); math.Abs(mean-math.Exp(q.Noise*q.Noise/2)) > 4*e || e > 0.05 {
				t.Errorf("%d dimensions, %v: the mean of g/q is %.3f ± %.3f, the noise %.3f", test.dim, test.solver, mean, e, q.Noise)
			}
			if stretched < 0.1 {
				t.Errorf("%d dimensions: the map hardly stretches anything: %g", test.dim, stretched)
			}
		}
	})
}

func squares(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}
