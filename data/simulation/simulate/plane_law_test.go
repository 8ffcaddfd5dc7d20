package simulate

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// tabulatePlane evaluates drift and full diffusion on a grid.
func tabulatePlane(x, y sde.Grid, drift func(x, y float64) [2]float64, diffusion func(x, y float64) [4]float64) sde.Plane {
	p := sde.Plane{X: x, Y: y}
	for n := range p.Nodes() {
		x, y := p.X.At(n%p.X.N), p.Y.At(n/p.X.N)
		for _, b := range drift(x, y) {
			p.Drift = append(p.Drift, float32(b))
		}
		for _, s := range diffusion(x, y) {
			p.Diffusion = append(p.Diffusion, float32(s))
		}
	}
	return p
}

// linear is dX = A·X dt + S dW, by rows.
type linear struct {
	name string
	a, s [4]float64
}

var linears = []linear{
	{"full", [4]float64{-1, 0.7, -0.2, -1.5}, [4]float64{1, 0.6, -0.3, 0.8}},
	// Turning, and so not reversible, around N(0, I).
	{"rotating", [4]float64{-1, -2, 2, -1}, [4]float64{math.Sqrt2, 0, 0, math.Sqrt2}},
}

// plane tabulates the equation; with a grid up to eight deviations nothing is
// clamped, and linear functions are interpolated exactly.
func (l linear) plane(perNode bool) sde.Plane {
	p := tabulatePlane(sde.Grid{Lo: -8, Hi: 8, N: 5}, sde.Grid{Lo: -9, Hi: 8, N: 4},
		func(x, y float64) [2]float64 { return [2]float64{l.a[0]*x + l.a[1]*y, l.a[2]*x + l.a[3]*y} },
		func(x, y float64) [4]float64 { return l.s })
	if !perNode {
		p.Diffusion = p.Diffusion[:4]
	}
	return p
}

// covariance solves C = M·C·Mᵀ + Δt·S·Sᵀ, M = I + Δt·A, the scheme's own
// Lyapunov equation, for (c₁₁, c₁₂, c₂₂). Its limit for Δt → 0 is A·C + C·Aᵀ +
// S·Sᵀ = 0. It also has M.
func (l linear) covariance(t *testing.T, dt float64) (c [3]float64, m [4]float64) {
	m = [4]float64{1 + dt*l.a[0], dt * l.a[1], dt * l.a[2], 1 + dt*l.a[3]}
	lhs := mat.NewDense(3, 3, []float64{
		1 - m[0]*m[0], -2 * m[0] * m[1], -m[1] * m[1],
		-m[0] * m[2], 1 - m[0]*m[3] - m[1]*m[2], -m[1] * m[3],
		-m[2] * m[2], -2 * m[2] * m[3], 1 - m[3]*m[3],
	})
	rhs := mat.NewVecDense(3, []float64{
		dt * (l.s[0]*l.s[0] + l.s[1]*l.s[1]), dt * (l.s[0]*l.s[2] + l.s[1]*l.s[3]), dt * (l.s[2]*l.s[2] + l.s[3]*l.s[3]),
	})
	var solution mat.VecDense
	if err := solution.SolveVec(lhs, rhs); err != nil {
		t.Fatal(err)
	}
	return [3]float64{solution.AtVec(0), solution.AtVec(1), solution.AtVec(2)}, m
}

// A linear equation's samples are normal with the covariance of its Lyapunov
// equation, and samples Thin steps apart have the covariance M^Thin·C: not
// symmetric where the drift turns.
func TestPlaneGaussianLaw(t *testing.T) {
	const chains, thin = 16384, 10
	for _, l := range linears {
		for _, perNode := range []bool{false, true} {
			s := Scheme{DT: 0.02, BurnIn: 500, Thin: thin, Chains: chains}
			dst := make([]float32, 2*2*chains)
			if err := Chains(context.Background(), dst, l.plane(perNode), s, 1, 0, "test"); err != nil {
				t.Fatal(err)
			}
			c, m := l.covariance(t, s.DT)
			first := [2][]float32{}
			var sum, lagged [4]float64
			for i := 0; i < len(dst); i += 4 {
				x := [4]float64{float64(dst[i]), float64(dst[i+1]), float64(dst[i+2]), float64(dst[i+3])}
				first[0], first[1] = append(first[0], dst[i]), append(first[1], dst[i]+dst[i+1])
				for k := range 4 {
					sum[k] += x[k/2] * x[k%2] / chains
					lagged[k] += x[2+k/2] * x[k%2] / chains
				}
			}
			full := [4]float64{c[0], c[1], c[1], c[2]}
			power := [4]float64{1, 0, 0, 1}
			for range thin {
				power = product(m, power)
			}
			later := product(power, full)
			for k := range 4 {
				// A mean of products of normals has at most this standard error.
				deviation := math.Sqrt(2 * full[3*(k/2)] * full[3*(k%2)] / chains)
				if !(math.Abs(sum[k]-full[k]) <= 4.5*deviation) {
					t.Errorf("%s, per node %t: covariance %d is %.4f, want %.4f (standard error %.4f)", l.name, perNode, k, sum[k], full[k], deviation)
				}
				if !(math.Abs(lagged[k]-later[k]) <= 4.5*deviation) {
					t.Errorf("%s, per node %t: covariance %d of neighbouring samples is %.4f, want %.4f", l.name, perNode, k, lagged[k], later[k])
				}
			}
			for k, variance := range []float64{c[0], c[0] + 2*c[1] + c[2]} {
				if d := ksScaled(first[k], distuv.Normal{Sigma: math.Sqrt(variance)}.CDF); !(d <= ksCritical) {
					t.Errorf("%s, per node %t: √n·KS of %s is %.3g from its normal law", l.name, perNode, []string{"x", "x+y"}[k], d)
				}
			}
		}
	}
}

// product is that of matrices by rows.
func product(a, b [4]float64) [4]float64 {
	return [4]float64{
		a[0]*b[0] + a[1]*b[2], a[0]*b[1] + a[1]*b[3],
		a[2]*b[0] + a[3]*b[2], a[2]*b[1] + a[3]*b[3],
	}
}

// The drift −∇V of V = x⁴/4 − x²/2 + (y − x/2)² with S = I has two wells; x has
// the law of the double well on the line, and y − x/2, independent of it,
// N(0, ¼).
func TestPlaneDoubleWell(t *testing.T) {
	wells := tabulatePlane(sde.Grid{Lo: -4, Hi: 4, N: 321}, sde.Grid{Lo: -5, Hi: 5, N: 21},
		func(x, y float64) [2]float64 {
			return [2]float64{x - x*x*x + (y - x/2), -2 * (y - x/2)}
		},
		func(x, y float64) [4]float64 { return [4]float64{1, 0, 0, 1} })
	wells.Diffusion = []float32{1}
	const chains = 8192
	dst := make([]float32, 2*chains)
	if err := Chains(context.Background(), dst, wells, Scheme{DT: 0.005, BurnIn: 4000, Thin: 1, Chains: chains}, 1, 0, "test"); err != nil {
		t.Fatal(err)
	}
	x, off := make([]float32, chains), make([]float32, chains)
	for i := range chains {
		x[i], off[i] = dst[2*i], dst[2*i+1]-dst[2*i]/2
	}
	if d := ksScaled(x, quarticCDF()); !(d <= ksCritical) {
		t.Errorf("√n·KS of x is %.3g from the exact law", d)
	}
	if d := ksScaled(off, distuv.Normal{Sigma: 0.5}.CDF); !(d <= ksCritical) {
		t.Errorf("√n·KS of y − x/2 is %.3g from the exact law", d)
	}
}

// A Student's t by multiplicative noise and an independent normal, turned by 30°:
// the diffusion is full and different everywhere.
func TestPlaneMultiplicativeNoise(t *testing.T) {
	cos, sin := math.Cos(math.Pi/6), math.Sin(math.Pi/6)
	turned := tabulatePlane(sde.Grid{Lo: -15, Hi: 15, N: 256}, sde.Grid{Lo: -15, Hi: 15, N: 256},
		func(x, y float64) [2]float64 { return [2]float64{-x, -y} },
		func(x, y float64) [4]float64 {
			u := cos*x + sin*y
			s := math.Sqrt(1 + u*u/2)
			return [4]float64{cos * s, -sin, sin * s, cos}
		})
	const chains = 8192
	dst := make([]float32, 2*chains)
	if err := Chains(context.Background(), dst, turned, Scheme{DT: 0.01, BurnIn: 1000, Thin: 1, Chains: chains}, 1, 0, "test"); err != nil {
		t.Fatal(err)
	}
	u, v := make([]float32, chains), make([]float32, chains)
	for i := range chains {
		x, y := float64(dst[2*i]), float64(dst[2*i+1])
		u[i], v[i] = float32(cos*x+sin*y), float32(cos*y-sin*x)
	}
	if d := ksScaled(u, distuv.StudentsT{Sigma: math.Sqrt(2. / 5), Nu: 5}.CDF); !(d <= ksCritical) {
		t.Errorf("√n·KS is %.3g from Student's law", d)
	}
	if d := ksScaled(v, distuv.Normal{Sigma: math.Sqrt(0.5)}.CDF); !(d <= ksCritical) {
		t.Errorf("√n·KS is %.3g from the normal law", d)
	}
}

// The bias of the stationary E|X|² is O(Δt), and for each Δt what the scheme's
// Lyapunov equation says.
func TestPlaneWeakOrder(t *testing.T) {
	turning := linear{a: [4]float64{-1, -0.5, 0.5, -1}, s: [4]float64{1, 0, 0, 1}} // E|X|² = 1
	steps := []float64{0.05, 0.1, 0.2}
	var bias []float64
	for k, dt := range steps {
		const chains, perChain = 8192, 50
		dst := make([]float32, 2*chains*perChain)
		s := Scheme{DT: dt, BurnIn: int(10 / dt), Thin: int(math.Round(0.4 / dt)), Chains: chains}
		if err := Chains(context.Background(), dst, turning.plane(false), s, uint64(k), 0, "test"); err != nil {
			t.Fatal(err)
		}
		value, deviation := moment(dst, chains, 0) // of both coordinates
		c, _ := turning.covariance(t, dt)
		if want := (c[0] + c[2]) / 2; !(math.Abs(value-want) <= 4.5*deviation) {
			t.Errorf("Δt = %v: E|X|²/2 is %.4f, want %.4f (standard error %.4f)", dt, value, want, deviation)
		}
		bias = append(bias, 2*value-1)
	}
	if slope := math.Log(bias[2]/bias[0]) / math.Log(steps[2]/steps[0]); !(math.Abs(slope-1) < 0.2) {
		t.Errorf("biases %.4f at Δt = %v have slope %.2f, want 1", bias, steps, slope)
	}
}
