package family

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

func particles64dFunction(t *testing.T, i int) (sde.Particles, Potential) {
	t.Helper()
	f, err := particles64d{}.Function(1, i)
	if err != nil {
		t.Fatal(err)
	}
	v, err := particles64d{}.Potential(1, i)
	if err != nil {
		t.Fatal(err)
	}
	return f.System.(sde.Particles), v
}

// The four kinds are equally frequent, and half of the Gaussians attract.
func TestParticles64DKinds(t *testing.T) {
	const n = 4000
	count := map[string]float64{}
	for i := range n {
		k := particles64d{}.kernel(1, i)
		count[k.name]++
		if k.name == "gaussian" && k.u(0) < 0 {
			count["attractive"]++
		}
	}
	for name, p := range map[string]float64{"morse": .25, "gaussian": .25, "double_gaussian": .25, "wca": .25, "attractive": .125} {
		if z := (count[name] - p*n) / math.Sqrt(p*(1-p)*n); !(math.Abs(z) <= 4) {
			t.Errorf("%v of %v functions are %s", count[name], n, name)
		}
	}
}

// The tabulated force is −U′ within 3e-4 of its maximum beyond a hundredth of its
// reach, with U′ by central differences of the capped potential; there is none
// where U is capped, and next to none where the table ends.
func TestParticles64DForce(t *testing.T) {
	const h = 1e-5
	for i := range 200 {
		p, v := particles64dFunction(t, i)
		core, reach := p.Force.Core, p.Force.Range
		slope := func(r float64) float64 { return (v.Pair(r+h) - v.Pair(r-h)) / (2 * h) }
		var largest, worst, at float64
		for r := reach / 100; r < 1.5*reach; r += reach / 3001 {
			largest = max(largest, math.Abs(slope(r)))
			if math.Abs(r-core) < 2*h || math.Abs(r-reach) < 2*h {
				continue
			}
			if e := math.Abs(p.Force.At(r*r)*r + slope(r)); e > worst || math.IsNaN(e) {
				worst, at = e, r
			}
			if !(v.Pair(r) <= 10) || r < core && v.Pair(r) != 10 {
				t.Fatalf("function %d, %s: U(%v) = %v, the core ends at %v", i, v.Kernel, r, v.Pair(r), core)
			}
		}
		if !(worst <= 3e-4*largest+1e-6) {
			t.Errorf("function %d, %s: the force is off by %.2g of its maximum at r = %.4g of %.4g", i, v.Kernel, worst/largest, at, reach)
		}
		if core > 0 && !(math.Abs(v.Pair(core+1e-9)-10) <= 1e-5) {
			t.Errorf("function %d, %s: U is %v where its cap ends", i, v.Kernel, v.Pair(core+1e-9))
		}
	}
}

// The drift of the state is −∇V, by central differences.
func TestParticles64DGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 40 {
		p, v := particles64dFunction(t, i)
		state := make([]float32, p.Dim())
		for k := range state {
			state[k] = float32(3 * rng.NormFloat64())
		}
		const h = 1. / 1024 // exact in float32 beside the state
		for _, k := range []int{0, 17, 63} {
			drift, largest := -p.Trap*float64(state[k]), 1.0
			for j := range p.N {
				dx := float64(state[k&^1]) - float64(state[2*j])
				dy := float64(state[k|1]) - float64(state[2*j+1])
				pull := p.Force.At(dx*dx+dy*dy) * []float64{dx, dy}[k&1]
				if j != k/2 {
					drift += pull
					largest = max(largest, math.Abs(pull))
				}
			}
			was := state[k]
			state[k] = was + h
			up := v.Energy(state)
			state[k] = was - h
			down := v.Energy(state)
			state[k] = was
			if got := -(up - down) / (2 * h); !(math.Abs(got-drift) <= 0.01*largest) {
				t.Errorf("function %d, %s, coordinate %d: −∂V is %v, the drift %v", i, v.Kernel, k, got, drift)
			}
		}
	}
}

// long leaves out, where -short asks for it, simulations of a minute or two under the
// race detector; a shorter one that it watches is in every run.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: a long simulation by the code of the short ones")
	}
}

// Two of the particles have a distance with density r·exp(−β(U(r) + κr²/4)), for
// a function of each kind that does not bind them for long.
func TestParticles64DLawOfTwo(t *testing.T) {
	long(t)
	seen := map[string]bool{}
	for i := 0; len(seen) < 4; i++ {
		p, v := particles64dFunction(t, i)
		deepest := 0.0
		for r := 0.0; r < 5; r += 0.01 {
			deepest = min(deepest, v.Pair(r))
		}
		if seen[v.Kernel] || deepest < -1 {
			continue
		}
		seen[v.Kernel] = true
		p.N = 2
		const chains = 4096
		dst := make([]float32, 4*chains)
		s := simulate.Scheme{DT: 0.001, BurnIn: 8000, Thin: 1, Chains: chains, Start: "1.5"}
		if err := simulate.Chains(context.Background(), dst, p, s, 1, 0, "test"); err != nil {
			t.Fatal(err)
		}
		const top, cells = 12., 2400
		cdf := make([]float64, cells+1)
		for k := range cells {
			r := top * (float64(k) + 0.5) / cells
			cdf[k+1] = cdf[k] + r*math.Exp(-particles64dBeta*(v.Pair(r)+v.Trap*r*r/4))
		}
		distances := make([]float32, chains)
		for l := range distances {
			x := dst[4*l:]
			distances[l] = float32(math.Hypot(float64(x[0]-x[2]), float64(x[1]-x[3])))
		}
		if k := ksScaled(distances, law{cdf, top}); !(k <= 1.95) {
			t.Errorf("function %d, %s: √n·KS of the distance is %.2f", i, v.Kernel, k)
		}
	}
}

// Steps of 0.001 jump over the wall of a narrow WCA kernel, 0.11 wide, into its
// cap, where there is no force: about as many pairs stay inside as in a gas,
// instead of one in 10⁸. Steps of a tenth do not. So it is of the scheme, which is
// the paper's, and no burn-in mends it.
func TestParticles64DStepsOverTheCap(t *testing.T) {
	long(t)
	p, v := particles64dFunction(t, 0)
	inside := func(dt float64, burnIn int, by simulate.Integrator) (pairs float64) {
		const chains, samples = 16, 32
		dst := make([]float32, chains*samples*p.Dim())
		s := simulate.Scheme{DT: dt, BurnIn: burnIn, Thin: int(0.1 / dt), Chains: chains, Start: "1.5", Integrator: by}
		if err := simulate.Chains(context.Background(), dst, p, s, 1, 0, "test"); err != nil {
			t.Fatal(err)
		}
		for state := dst; len(state) > 0; state = state[p.Dim():] {
			for a := 0; a < p.Dim(); a += 2 {
				for b := 0; b < a; b += 2 {
					if math.Hypot(float64(state[a]-state[b]), float64(state[a+1]-state[b+1])) < p.Force.Core {
						pairs += 1. / (chains * samples)
					}
				}
			}
		}
		return pairs
	}
	coarse, longer, fine := inside(0.001, 10_000, simulate.Euler), inside(0.001, 40_000, simulate.Euler), inside(0.0001, 50_000, simulate.Euler)
	if adjusted := inside(0.0005, 20_000, simulate.MALA); !(adjusted <= 0.05) {
		t.Errorf("%.3f pairs are inside the cap by MALA", adjusted)
	}
	if v.Kernel != "wca" || !(coarse >= 0.4 && longer >= 0.4 && fine <= 0.05) {
		t.Errorf("%s: %.3f pairs are inside the cap, %.3f after four times the burn-in, %.3f with a tenth of the step", v.Kernel, coarse, longer, fine)
	}
}

// law is one by its unnormalised CDF on a uniform grid from 0 to top.
type law struct {
	cdf []float64
	top float64
}

func (l law) CDF(r float64) float64 {
	cells := float64(len(l.cdf) - 1)
	u := min(r/l.top*cells, cells-1e-9)
	k := int(u)
	return (l.cdf[k] + (l.cdf[k+1]-l.cdf[k])*(u-float64(k))) / l.cdf[len(l.cdf)-1]
}

// Samples of two purposes differ; all are within the trap.
func TestParticles64DSamples(t *testing.T) {
	s := simulate.Scheme{DT: 0.001, BurnIn: 100, Thin: 10, Chains: 16, Start: "1.5"}
	sample := func(purpose string) []float32 {
		dst := make([]float32, 8*32*64)
		if err := Sample(context.Background(), particles64d{}, dst, SampleSpec{3, 8, 1, s, purpose, false}, simulate.Fastest(), nil); err != nil {
			t.Fatal(err)
		}
		return dst
	}
	a, b := sample("train"), sample("reference")
	if a[0] == b[0] {
		t.Error("two purposes have the same samples")
	}
	for _, x := range a {
		if !(math.Abs(float64(x)) < 30) {
			t.Fatalf("a particle is at %v", x)
		}
	}
	err := Sample(context.Background(), particles64d{}, a, SampleSpec{17, 1, 1, simulate.Scheme{}, "train", false}, simulate.Fastest(), nil)
	if err == nil || !strings.Contains(err.Error(), "particles64d: function 17: time step dt is 0") {
		t.Errorf("empty scheme: %v", err)
	}
}

func TestParticles64DGolden(t *testing.T) {
	for _, c := range []struct {
		i      int
		kernel string
		u      float64
	}{{1, "gaussian", 3.8576305}, {3, "double_gaussian", -0.99759161}, {4, "wca", 10}, {6, "morse", -0.90034636}} {
		if _, v := particles64dFunction(t, c.i); v.Kernel != c.kernel || !(math.Abs(v.Pair(0.9)-c.u) <= 1e-6) {
			t.Errorf("function %d changed: %s with U(0.9) = %.8v, want %s with %v", c.i, v.Kernel, v.Pair(0.9), c.kernel, c.u)
		}
	}
}
