package gibbs

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// plane makes coefficients of a drift and a constant matrix.
func plane(drift func(x, y float64) (u, v float64), sigma [4]float64) Coefficients {
	return func(b, s, x, y []float64) {
		for i := range x {
			b[2*i], b[2*i+1] = drift(x[i], y[i])
			copy(s[4*i:], sigma[:])
		}
	}
}

func states(n, d int, deviation float64) []float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, n*d)
	for i := range x {
		x[i] = deviation * rng.NormFloat64()
	}
	return x
}

// log π is that of closed forms, up to a constant: with b = ½A∇log π for scalar, diagonal and full
// σ, also where the drift has a kink. Next gives the same along segments.
func TestPlane(t *testing.T) {
	scalar, full := [4]float64{math.Sqrt2, 0, 0, math.Sqrt2}, [4]float64{1, 0.5, -0.3, 0.8}
	half := func(s [4]float64, u, v float64) (float64, float64) {
		a, b, c := s[0]*s[0]+s[1]*s[1], s[0]*s[2]+s[1]*s[3], s[2]*s[2]+s[3]*s[3]
		return (a*u + b*v) / 2, (b*u + c*v) / 2
	}
	for name, test := range map[string]struct {
		sigma    [4]float64
		log      func(x, y float64) float64
		gradient func(x, y float64) (u, v float64)
	}{
		"double well": {scalar, func(x, y float64) float64 { return -2*math.Pow(x*x-1, 2) - y*y/2 },
			func(x, y float64) (u, v float64) { return -8 * x * (x*x - 1), -y }},
		"normal, full noise": {full, func(x, y float64) float64 { return -x*x - x*y - 2*y*y },
			func(x, y float64) (u, v float64) { return -2*x - y, -x - 4*y }},
		"kink": {[4]float64{0.5, 0, 0, 2}, func(x, y float64) float64 { return -5 * math.Pow(max(math.Hypot(x, y)-1, 0), 2) },
			func(x, y float64) (u, v float64) {
				r := max(math.Hypot(x, y), 1e-12)
				pull := -10 * max(r-1, 0) / r
				return pull * x, pull * y
			}},
	} {
		at := plane(func(x, y float64) (float64, float64) {
			u, v := test.gradient(x, y)
			return half(test.sigma, u, v)
		}, test.sigma)
		x := states(500, 2, 1)
		law, err := NewPlane(at, x)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p := law.At(x)
		moved := states(500, 2, 1)
		for i := range moved {
			moved[i] = x[i] + 0.1*moved[i]
		}
		next := law.Next(p, moved)
		for i := range p.Log {
			a, b := test.log(x[2*i], x[2*i+1]), test.log(x[0], x[1])
			if d := p.Log[i] - p.Log[0] - (a - b); !(math.Abs(d) <= 1e-3*(1+math.Abs(a-b))) {
				t.Errorf("%s: log π at (%.3g, %.3g) is off by %g", name, x[2*i], x[2*i+1], d)
				break
			}
			c := test.log(moved[2*i], moved[2*i+1])
			if d := next.Log[i] - p.Log[i] - (c - a); !(math.Abs(d) <= 1e-3*(1+math.Abs(c-a))) {
				t.Errorf("%s: log π along a segment is off by %g", name, d)
				break
			}
			u, v := test.gradient(x[2*i], x[2*i+1])
			if math.Abs(p.Gradient[2*i]-u)+math.Abs(p.Gradient[2*i+1]-v) > 1e-9*(1+math.Abs(u)+math.Abs(v)) {
				t.Errorf("%s: the gradient is %v, want %g, %g", name, p.Gradient[2*i:2*i+2], u, v)
				break
			}
		}
		drift, want, s := make([]float64, 2), make([]float64, 2), make([]float64, 4)
		law.Drift(drift, p.Gradient[:2])
		at(want, s, x[:1], x[1:2])
		if math.Abs(drift[0]-want[0])+math.Abs(drift[1]-want[1]) > 1e-9 {
			t.Errorf("%s: the drift is %v, want %v", name, drift, want)
		}
		z := []float64{0.3, -1.2}
		if law.Noise(z); math.Abs(law.Quadratic(z)-(0.09+1.44)) > 1e-9 { // |σ⁻¹σz|² = |z|²
			t.Errorf("%s: the noise has the square %g", name, law.Quadratic(z))
		}
	}
}

// Equations without a known density are refused, with the reason and the place.
func TestNoPlane(t *testing.T) {
	one := [4]float64{1, 0, 0, 1}
	varying := func(b, s, x, y []float64) {
		plane(func(x, y float64) (float64, float64) { return -x, -y }, one)(b, s, x, y)
		for i := range x {
			s[4*i] = 1 + x[i]*x[i]
		}
	}
	for want, at := range map[string]Coefficients{
		"the drift is not a gradient: its curl is 2 at (":                     plane(func(x, y float64) (float64, float64) { return -x - y, x - y }, one),
		"the drift is not a gradient: its curl is 0.01":                       plane(func(x, y float64) (float64, float64) { return -x, 0.01*x - y }, one),
		"the drift is not that of a potential under this diffusion":           plane(func(x, y float64) (float64, float64) { return -x - y, -x - 2*y }, [4]float64{1, 0, 0, 2}),
		"the diffusion is not constant":                                       varying,
		"the noise does not act in all directions":                            plane(func(x, y float64) (float64, float64) { return y, -x - y }, [4]float64{0, 0, 0, 1}),
		"a drift or a diffusion is not finite at (":                           plane(func(x, y float64) (float64, float64) { return math.Sqrt(x), -y }, one),
		"the drift has no potential, or is too rough for one: two paths to (": plane(func(x, y float64) (float64, float64) { q := x*x + y*y; return -x - 3*y/q, -y + 3*x/q }, one), // a whirl about 0, without curl
	} {
		_, err := NewPlane(at, states(500, 2, 1))
		if !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The energy of particles is that of the closed form whose force was tabulated, inside the core,
// on all cells and beyond the range; the gradient is that of the energy, and the drift the
// equation's.
func TestParticles(t *testing.T) {
	const height, s = 3., 0.7
	u := func(q float64) float64 { return height * math.Exp(-q/(2*s*s)) }
	system := sde.Particles{N: 5, Trap: 0.5, Noise: 1.3, Force: sde.Tabulate(func(q float64) float64 { return u(q) / (s * s) }, 0.2, 5*s)}
	law := NewParticles(system)
	energy := func(x []float64) (v float64) {
		for i := 0; i < len(x); i += 2 {
			v += 0.25 * (x[i]*x[i] + x[i+1]*x[i+1])
			for j := 0; j < i; j += 2 {
				q := math.Pow(x[i]-x[j], 2) + math.Pow(x[i+1]-x[j+1], 2)
				v += u(max(q, 0.04)) - u(25*s*s)
			}
		}
		return v
	}
	x := states(200, 10, 1)
	copy(x, []float64{0, 0, 0.05, 0.05}) // a pair inside the core
	p := law.At(x)
	for i := range p.Log {
		state := x[10*i : 10*i+10]
		if want := -2 / (1.3 * 1.3) * energy(state); math.Abs(p.Log[i]-want) > 2e-3*height {
			t.Errorf("state %d: log π is %g, want %g", i, p.Log[i], want)
		}
		drift, want, single := make([]float64, 10), make([]float64, 10), make([]float32, 10)
		for k, v := range state {
			single[k] = float32(v)
		}
		law.Drift(drift, p.Gradient[10*i:10*i+10])
		system.Drift(want, single)
		for k := range drift {
			if math.Abs(drift[k]-want[k]) > 1e-4 {
				t.Fatalf("state %d: the drift is %v, want %v", i, drift, want)
			}
		}
		for k := range 10 {
			if i == 0 {
				break // at the edge of the core the force jumps
			}
			near := append([]float64{}, state...)
			near[k] += 1e-5
			rise := (law.At(near).Log[0] - p.Log[i]) / 1e-5
			if math.Abs(rise-p.Gradient[10*i+k]) > 1e-2 {
				t.Fatalf("state %d: the slope %g along %d is not the gradient %g", i, rise, k, p.Gradient[10*i+k])
			}
		}
	}
}
