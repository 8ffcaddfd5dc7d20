package simulate

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// morse is −U′(r)/r of U = D((1 − exp(−a(r−r₀)))² − 1).
func morse(depth, a, r0 float64) func(r2 float64) float64 {
	return func(r2 float64) float64 {
		r := math.Sqrt(r2)
		e := math.Exp(-a * (r - r0))
		return -2 * depth * a * (1 - e) * e / r
	}
}

// gaussian is −U′(r)/r of U = A·exp(−r²/2s²).
func gaussian(a, s float64) func(r2 float64) float64 {
	return func(r2 float64) float64 { return a / (s * s) * math.Exp(-r2/(2*s*s)) }
}

// paper is the paper's system, of n particles, with a capped Morse potential.
func paper(n int) sde.Particles {
	return sde.Particles{N: n, Trap: 0.5, Noise: 1, Force: sde.Tabulate(morse(2, 3, 1), 0.6, 4)}
}

func sampleParticles(t *testing.T, e *Engine, p sde.Particles, s Scheme, perChain int) []float32 {
	t.Helper()
	dst := make([]float32, perChain*s.Chains*p.Dim())
	if err := e.Chains(context.Background(), dst, p, s, 1, 2, "particles"); err != nil {
		t.Fatal(err)
	}
	return dst
}

// All engines give the plain one's samples to the last bit.
func TestParticleEnginesAgree(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 8, 9, 10, 16, 31, 32, 33, 64, 65, 100, 300} {
		for _, chains := range []int{1, 7, 8, 9, 16, 17, 40} {
			s := Scheme{DT: 0.002, BurnIn: 3, Thin: 2, Chains: chains, Start: "1.5"}
			want := sampleParticles(t, plain, paper(n), s, 2)
			for _, e := range otherEngines(t) {
				for i, got := range sampleParticles(t, e, paper(n), s, 2) {
					if math.Float32bits(want[i]) != math.Float32bits(got) {
						t.Fatalf("%v, %d particles, %d chains: value %d is %v, plain %v", e, n, chains, i, got, want[i])
					}
				}
			}
		}
	}
}

// dumbParticles is the scheme for one chain in float64, every ordered pair on
// its own.
func dumbParticles(p sde.Particles, s Scheme, chain uint64, perChain int) (out []float64) {
	n := new(normals)
	n.seed(0, 1, "particles", 2, chain)
	used := window
	draw := func() float64 {
		if used == window {
			n.fill(1)
			used = 0
		}
		used++
		return float64(n.values[(used-1)*lanes])
	}
	x := make([]float64, p.Dim())
	deviation, _ := s.Start.deviation()
	for k := range x {
		x[k] = deviation * draw()
	}
	for step := 0; ; step++ {
		if step >= s.BurnIn && (step-s.BurnIn)%s.Thin == 0 {
			if out = append(out, x...); len(out) == perChain*len(x) {
				return out
			}
		}
		drift := driftOf(p, x)
		for k := range x {
			x[k] += drift[k]*s.DT + p.Noise*math.Sqrt(s.DT)*draw()
		}
	}
}

// driftOf is −κx plus the pair forces.
func driftOf(p sde.Particles, x []float64) []float64 {
	drift := make([]float64, len(x))
	for i := range p.N {
		drift[2*i], drift[2*i+1] = -p.Trap*x[2*i], -p.Trap*x[2*i+1]
		for j := range p.N {
			dx, dy := x[2*i]-x[2*j], x[2*i+1]-x[2*j+1]
			f := p.Force.At(dx*dx + dy*dy)
			drift[2*i] += f * dx
			drift[2*i+1] += f * dy
		}
	}
	return drift
}

// Lanes, windows of normals, thinning and the layout of dst. The force has no
// step, so that rounding stays small.
func TestParticlesAgainstDumbLoop(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 32, 70} {
		p := sde.Particles{N: n, Trap: 0.5, Noise: 1, Force: sde.Tabulate(gaussian(2, 0.8), 0, 5)}
		s := Scheme{DT: 0.003, BurnIn: 11, Thin: 5, Chains: 18, Start: "1.5"}
		got := sampleParticles(t, engines[0], p, s, 3)
		for chain := range s.Chains {
			for i, want := range dumbParticles(p, s, uint64(chain), 3) {
				if v := float64(got[chain*3*p.Dim()+i]); !(math.Abs(v-want) <= 3e-5) {
					t.Fatalf("%d particles: value %d of chain %d is %v, want %v", n, i, chain, v, want)
				}
			}
		}
	}
}

// forcesAt are the pair forces, without Δt, of one engine, every lane with
// particles of its own.
func forcesAt(e *Engine, p sde.Particles, x [][widest]float64) []vector {
	const dt = 0.5
	table := newPairTable(p, dt, Tempering{})
	memory := make([]vector, 2*len(x))
	positions, f := memory[:len(x)], memory[len(x):]
	for k := range x {
		for l, v := range x[k] {
			positions[k][l] = float32(v * table.unit)
		}
	}
	e.pairs(table, f, positions, widest, 0, p.N, 0, p.N)
	for k := range f {
		for l := range f[k] {
			f[k][l] /= float32(dt * table.unit)
		}
	}
	return f
}

// pairPotential is U(r) = ½∫f dr² from r² to the range, by the rule of
// midpoints.
func pairPotential(f sde.RadialForce, r2 float64) (u float64) {
	const n = 4000
	h := (f.Range*f.Range - r2) / n
	for i := range n {
		u += f.At(r2+h*(float64(i)+0.5)) * h / 2
	}
	return u
}

// Forces sum to zero, are those of the potential, and follow the particles'
// numbering.
func TestPairForces(t *testing.T) {
	const n = 19
	p := paper(n)
	p.Force = sde.Tabulate(gaussian(5, 0.7), 0, 4)
	r := rand.New(rand.NewPCG(1, 2))
	x, permuted := make([][widest]float64, 2*n), make([][widest]float64, 2*n)
	for k := range x {
		for l := range x[k] {
			x[k][l] = 1.2 * r.NormFloat64()
		}
	}
	order := r.Perm(n)
	for i, j := range order {
		permuted[2*i], permuted[2*i+1] = x[2*j], x[2*j+1]
	}
	for _, e := range engines {
		f, other := forcesAt(e, p, x), forcesAt(e, p, permuted)
		for l := range widest {
			var sum, size [2]float64
			for k := range f {
				sum[k%2] += float64(f[k][l])
				size[k%2] += math.Abs(float64(f[k][l]))
				if got, want := other[k][l], f[2*order[k/2]+k%2][l]; !(math.Abs(float64(got-want)) <= 1e-5) {
					t.Fatalf("%v: force %d of lane %d is %v, renumbered %v", e, k, l, want, got)
				}
			}
			if !(math.Abs(sum[0]) <= 1e-6*size[0] && math.Abs(sum[1]) <= 1e-6*size[1]) {
				t.Errorf("%v: forces of lane %d sum to %v", e, l, sum)
			}
		}
		energy := func(l, k int, h float64) (v float64) { // of particle k/2, displaced
			at := [2]float64{x[k&^1][l], x[k|1][l]}
			at[k%2] += h
			for j := range n {
				if j != k/2 {
					v += pairPotential(p.Force, (at[0]-x[2*j][l])*(at[0]-x[2*j][l])+(at[1]-x[2*j+1][l])*(at[1]-x[2*j+1][l]))
				}
			}
			return v
		}
		for k := range f {
			l := k % widest
			const h = 1e-3
			if want := (energy(l, k, -h) - energy(l, k, h)) / (2 * h); !(math.Abs(float64(f[k][l])-want) <= 2e-3) {
				t.Errorf("%v: force %d is %v, −∇V is %v", e, k, f[k][l], want)
			}
		}
	}
}

// No force below the core and from the range on, whatever the distance; states
// that are not finite stay so.
func TestPairForcesOutside(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	p := paper(2)
	for _, e := range engines {
		var x [4][widest]float64
		copy(x[2][:], []float64{0, 1e-20, 0.3, 0.5999, 4.001, 5, 1e3, 1e6, -1e6, 0.61, 1.5, 3.9, nan, inf, -inf, 1})
		f := forcesAt(e, p, x[:])
		for l, v := range f[0] {
			distance := math.Abs(x[2][l])
			want := -p.Force.At(distance*distance) * x[2][l]
			switch {
			case !(distance < inf):
				if v == v {
					t.Errorf("%v: force at distance %v is %v, want NaN", e, x[2][l], v)
				}
			case !(math.Abs(float64(v)-want) <= 1e-5):
				t.Errorf("%v: force at distance %v is %v, want %v", e, x[2][l], v, want)
			case distance < p.Force.Core || distance > p.Force.Range:
				if v != 0 {
					t.Errorf("%v: force %v at distance %v, outside", e, v, distance)
				}
			}
		}
	}
}

// Particles that start at one place stay finite with a core, and fall nowhere.
func TestCoincidentParticles(t *testing.T) {
	p := paper(5)
	p.Noise = 1e-12
	for _, e := range engines {
		for _, v := range sampleParticles(t, e, p, Scheme{DT: 0.01, BurnIn: 100, Thin: 1, Chains: 3, Start: "1e-9"}, 1) {
			if !(math.Abs(float64(v)) < 1e-6) {
				t.Fatalf("%v: a particle went to %v", e, v)
			}
		}
	}
}

func TestParticlesDiverge(t *testing.T) {
	p := paper(3)
	p.Trap = 500 // κΔt = 5: states change sign and grow fourfold
	for _, chains := range []int{1, 16, 21} {
		var want DivergedError
		for i, e := range engines {
			dst := make([]float32, chains*p.Dim())
			err := e.Chains(context.Background(), dst, p, Scheme{DT: 0.01, BurnIn: 100, Thin: 1, Chains: chains}, 1, 77, "p")
			var got *DivergedError
			if !errors.As(err, &got) {
				t.Fatalf("%v: error %v, want one of divergence", e, err)
			}
			if i == 0 {
				want = *got
			}
			if *got != want || got.Function != 77 || got.Step < 5 || got.Step > 12 || !(math.Abs(got.From) < bound) || !(math.Abs(got.To) >= bound) {
				t.Errorf("%v: %+v, and %v %+v", e, *got, engines[0], want)
			}
		}
	}
}

// A run that would take days ends with its context.
func TestParticlesCancel(t *testing.T) {
	for _, n := range []int{1, 32, 1024} {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		dst := make([]float32, 2*n)
		err := plain.Chains(ctx, dst, paper(n), Scheme{DT: 0.001, BurnIn: 1 << 40, Thin: 1, Chains: 1}, 1, 1, "p")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d particles: %v", n, err)
		}
	}
}

// A step does not allocate.
func TestParticlesAllocate(t *testing.T) {
	dst := make([]float32, 17*20)
	for _, e := range engines {
		for _, integrator := range []Integrator{Euler, MALA} {
			count := func(steps int) float64 {
				return testing.AllocsPerRun(3, func() {
					s := Scheme{DT: 0.001, BurnIn: steps, Thin: 1, Chains: 17, Integrator: integrator}
					if err := e.Chains(context.Background(), dst, paper(10), s, 1, 1, "p"); err != nil {
						t.Fatal(err)
					}
				})
			}
			if few, many := count(10), count(500); few != many || !(few <= 15) {
				t.Errorf("%v, %v: %v allocations in 10 steps, %v in 500", e, integrator, few, many)
			}
		}
	}
}
