package simulate

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/gibbs"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// With steps by which Euler–Maruyama has another law, MALA has the right one.
func TestMALAOfParticles(t *testing.T) {
	p := sde.Particles{N: 2, Trap: 0.5, Noise: 1, Force: sde.Tabulate(gaussian(1, 0.8), 0, 5)}
	distances := func(i Integrator) (r []float32) {
		x := sampleParticles(t, engines[0], p, Scheme{DT: 0.8, BurnIn: 400, Thin: 1, Chains: 4096, Integrator: i}, 1)
		for ; len(x) > 0; x = x[4:] {
			r = append(r, float32(math.Hypot(float64(x[0]-x[2]), float64(x[1]-x[3]))))
		}
		return r
	}
	if d := ksScaled(distances(MALA), distanceLaw(p)); !(d <= ksCritical) {
		t.Errorf("√n·KS is %.3g from the exact law, want below %v", d, ksCritical)
	}
	if d := ksScaled(distances(Euler), distanceLaw(p)); d < 1.5*ksCritical {
		t.Errorf("√n·KS of Euler's steps is %.3g: the time step is too small to show anything", d)
	}
}

// Chains do not depend on their company, and begin as Start says. Steps that are never accepted are an error.
func TestMALAOfParticlesAlone(t *testing.T) {
	p := sde.Particles{N: 3, Trap: 1, Noise: 1, Force: sde.Tabulate(gaussian(-1.5, 1), 0, 5)}
	s := Scheme{DT: 0.05, BurnIn: 7, Thin: 3, Chains: 4, Integrator: MALA}
	const perChain = 5
	chains := func(count int) []float32 {
		s.Chains = count
		dst := make([]float32, count*perChain*p.Dim())
		if err := Chains(t.Context(), dst, p, s, 1, 0, "test"); err != nil {
			t.Fatal(err)
		}
		return dst
	}
	if all, some := chains(4), chains(2); !slices.Equal(some, all[:len(some)]) {
		t.Error("two chains alone differ from those of four")
	}
	s.BurnIn, s.Start = 0, "uniform(2, 2.5)"
	for c := range 2 {
		for _, v := range chains(2)[c*perChain*p.Dim():][:p.Dim()] {
			if v < 2 || v > 2.5 {
				t.Errorf("a coordinate begins at %g", v)
			}
		}
	}
	a, err := Fastest().Acceptance(t.Context(), p, Scheme{DT: 0.01, Thin: 1, Chains: 1, Integrator: MALA}, 100, 1, 0, "test")
	if err != nil || !(a.Part > 0.9) || a.Error != 0 {
		t.Errorf("%+v, error %v", a, err)
	}
	steep := sde.Particles{N: 2, Trap: 0.5, Noise: 1, Force: sde.Tabulate(morse(0.7, 2, 1), 0.33, 5)}
	err = Chains(t.Context(), make([]float32, 4096*steep.Dim()), steep, Scheme{DT: 0.1, BurnIn: 400, Thin: 1, Chains: 4096, Integrator: MALA}, 1, 0, "test")
	if !errors.Is(err, ErrStuck) {
		t.Errorf("steps that are much too large for a wall: error %v", err)
	}
	if err := (Scheme{DT: 0.01, Thin: 1, Chains: 1, Integrator: Heun}).Fits(p); !errors.Is(err, ErrIntegrator) {
		t.Errorf("Heun's steps: error %v", err)
	}
}

// All engines give the plain one's chains to the last bit, those accepted and those not.
func TestMALAOfParticlesEnginesAgree(t *testing.T) {
	for _, n := range []int{1, 2, 3, 9, 10, 17, 64, 65, 130} {
		for _, chains := range []int{1, 7, 9, 16, 33} {
			s := Scheme{DT: 0.01, BurnIn: 6, Thin: 3, Chains: chains, Start: "1.5", Integrator: MALA}
			want := sampleParticles(t, plain, paper(n), s, 3)
			for _, e := range otherEngines(t) {
				for i, got := range sampleParticles(t, e, paper(n), s, 3) {
					if math.Float32bits(want[i]) != math.Float32bits(got) {
						t.Fatalf("%v, %d particles, %d chains: value %d is %v, plain %v", e, n, chains, i, got, want[i])
					}
				}
			}
		}
	}
}

// Replicas find both wells of a distance, with the law's weights, and chains without them do not.
func TestTemperingOfParticles(t *testing.T) {
	const r0, width, height = 1.2, 0.25, 9. // a barrier of 18 kT around a distance
	ring := func(r2 float64) float64 {
		r := math.Sqrt(r2)
		return height * (r - r0) / (width * width) * math.Exp(-(r-r0)*(r-r0)/(2*width*width)) / r
	}
	p := sde.Particles{N: 2, Trap: 0.5, Noise: 1, Force: sde.Tabulate(ring, 0.05, 5)}
	law := distanceLaw(p)
	s := Scheme{DT: 0.005, BurnIn: 6000, Thin: 1, Chains: 512, Start: "uniform(-0.1, 0.1)", Integrator: MALA}
	distances := func() (r []float32) {
		for x := sampleParticles(t, engines[0], p, s, 1); len(x) > 0; x = x[4:] {
			r = append(r, float32(math.Hypot(float64(x[0]-x[2]), float64(x[1]-x[3]))))
		}
		return r
	}
	if farthest := slices.Max(distances()); farthest > r0 {
		t.Errorf("without replicas two particles are %.3g apart, as if the barrier were low", farthest)
	}
	s.Tempering = Tempering{8, 20, 10}
	if d := ksScaled(distances(), law); !(d <= ksCritical) {
		t.Errorf("√n·KS is %.3g from the exact law, which has %.3g within the barrier, want below %v", d, law(r0), ksCritical)
	}
	accepted, err := Fastest().Exchanges(t.Context(), p, s, 3000, 1, 0, "test")
	if err != nil || len(accepted) != 7 || !(slices.Min(accepted) > 0.2) {
		t.Errorf("%.2f of the exchanges are accepted, error %v", accepted, err)
	}

	// A chain's samples depend on its number alone.
	s.BurnIn, s.Chains = 40, 5
	all := sampleParticles(t, plain, p, s, 2)
	s.Chains = 3
	for _, e := range engines {
		if some := sampleParticles(t, e, p, s, 2); !slices.Equal(some, all[:len(some)]) {
			t.Errorf("%v: three chains have other samples than the first three of five", e)
		}
	}
	for _, refused := range []Scheme{
		{DT: 0.01, Thin: 1, Chains: 1, Tempering: Tempering{4, 10, 10}},
		{DT: 0.01, Thin: 1, Chains: 1, Integrator: MALA, Tempering: Tempering{32, 10, 10}},
	} {
		if err := refused.Fits(p); !errors.Is(err, ErrTempering) {
			t.Errorf("%+v: error %v", refused, err)
		}
	}
}

// Potentials of states and logarithms of ratios are those in double precision, with pairs inside the core and
// beyond the range; the forces are those of pairs.
func TestEnergiesAndWeights(t *testing.T) {
	const n, dt = 9, 0.003
	p := sde.Particles{N: n, Trap: 0.7, Noise: 1.3, Force: sde.Tabulate(morse(2, 3, 1), 0.6, 4)}
	law, table := gibbs.NewParticles(p), newPairTable(p, dt, Tempering{})
	perNoise := 1 / (float64(table.noise[0]) * float64(table.noise[0]))
	rng := rand.New(rand.NewPCG(3, 4))
	for _, e := range engines {
		var points [2][widest]gibbs.Points
		var states, forces [2][]vector
		var potential [2][widest]float64
		var inside, beyond int
		x := make([]vector, 2*n)
		for which := range states {
			states[which], forces[which] = make([]vector, 2*n), make([]vector, 2*n)
			for k := range x {
				for l := range widest {
					if which == 0 {
						x[k][l] = float32(rng.NormFloat64()) * float32(1+l%3)
					} else {
						x[k][l] += 0.05 * float32(rng.NormFloat64())
					}
					states[which][k][l] = x[k][l] * float32(table.unit)
				}
			}
			u, alone := make([]vector, n), make([]vector, 2*n)
			e.energies(table, u, forces[which], states[which], widest, 0, n, 0, n)
			e.pairs(table, alone, states[which], widest, 0, n, 0, n)
			if !slices.Equal(alone, forces[which]) {
				t.Fatalf("%v: the forces are not those of pairs", e)
			}
			for l := range widest {
				at := make([]float64, 2*n)
				for k := range at {
					at[k] = float64(states[which][k][l]) / table.unit
				}
				for i := range u {
					potential[which][l] += float64(u[i][l])
					for j := range i {
						r := math.Hypot(at[2*i]-at[2*j], at[2*i+1]-at[2*j+1])
						if r < p.Force.Core {
							inside++
						} else if r > p.Force.Range {
							beyond++
						}
					}
				}
				points[which][l] = law.At(at)
				trap := 0.
				for _, v := range at {
					trap += p.Trap / 2 * v * v
				}
				want := -points[which][l].Log[0] - 2/(p.Noise*p.Noise)*trap
				if got := perNoise * potential[which][l]; !(math.Abs(got-want) <= 1e-5*(30+math.Abs(want))) {
					t.Errorf("%v: the potential of lane %d is %.8g, want %.8g", e, l, got, want)
				}
			}
		}
		if inside < 10 || beyond < 10 {
			t.Errorf("only %d pairs are inside the core, %d beyond the range", inside, beyond)
		}
		var weights vector
		e.weigh(table, &weights, states[1], forces[1], forces[0], states[0], widest)
		for l := range widest {
			from, to := points[0][l], points[1][l]
			log := func(from, to gibbs.Points) (sum float64) { // of the density of a step
				for k := range from.X {
					off := to.X[k] - from.X[k] - dt*p.Noise*p.Noise/2*from.Gradient[k]
					sum -= off * off / (2 * p.Noise * p.Noise * dt)
				}
				return sum
			}
			want := to.Log[0] - from.Log[0] + log(to, from) - log(from, to)
			got := perNoise * (float64(weights[l])/2 + potential[0][l] - potential[1][l])
			if !(math.Abs(got-want) <= 3e-4*(1+math.Abs(want))) {
				t.Errorf("%v: the logarithm of the ratio of lane %d is %.7g, want %.7g", e, l, got, want)
			}
		}
	}
}
