package observables

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

// Independent N(0, s²I) particles have g(r) = R²/(4s²)·exp(−r²/4s²); over a bin
// the exponential is replaced by its integral.
func TestRadialOfAGaussianGas(t *testing.T) {
	const s, states, particles = 1.2, 4000, 16
	o := observe(t, gas(states, particles, s, 21), particles)
	if want := uint64(states * particles * (particles - 1) / 2); o.Radial.Pairs != want {
		t.Fatalf("%d pairs, want %d", o.Radial.Pairs, want)
	}
	g := o.Radial.G()
	const width = RadialRange / RadialBins
	for k, r := range RadialCentres() {
		a, b := r-width/2, r+width/2
		p := math.Exp(-a*a/(4*s*s)) - math.Exp(-b*b/(4*s*s))
		area := (b*b - a*a) / (RadialRange * RadialRange)
		near(t, "g", g[k], p/area, 7*math.Sqrt(p/float64(o.Radial.Pairs))/area+1e-9)
		if r < 4 {
			near(t, "closed form of g", p/area, RadialRange*RadialRange/(4*s*s)*math.Exp(-r*r/(4*s*s)), 0.01*p/area)
		}
	}
}

// Neighbours spread evenly over the disc have g = 1: pairs of the first particle
// with the others, which is at the centre.
func TestRadialOfAnEvenDisc(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	var r RadialHistogram
	const n = 1 << 20
	for range n {
		r.count([]float64{RadialRange * math.Sqrt(rng.Float64())}, 1)
	}
	for k, g := range r.G() {
		near(t, "g", g, 1, 6*math.Sqrt(RadialBins*RadialBins/float64(2*k+1)/n))
	}
	far := RadialHistogram{}
	far.count([]float64{1, RadialRange, 2 * RadialRange, 1e30}, 1)
	if far.Pairs != 4 || far.Counts[12] != 1 {
		t.Errorf("far pairs: %+v", far)
	}
}

// Both laws are Gaussian gases: ∫(g₁−g₂)² dr in closed form, ∫₀^∞ exp(−cr²) dr
// being ½√(π/c).
func TestRadialErrorOfTwoGases(t *testing.T) {
	const s1, s2 = 1.0, 1.1
	a, b := observe(t, gas(20000, 16, s1, 1), 16), observe(t, gas(20000, 16, s2, 2), 16)
	got, err := RadialError(&a.Radial, &b.Radial)
	if err != nil {
		t.Fatal(err)
	}
	integral := func(c float64) float64 { return math.Sqrt(math.Pi/c) / 2 }
	h1, h2 := RadialRange*RadialRange/(4*s1*s1), RadialRange*RadialRange/(4*s2*s2)
	want := math.Sqrt(h1*h1*integral(2/(4*s1*s1)) + h2*h2*integral(2/(4*s2*s2)) - 2*h1*h2*integral(1/(4*s1*s1)+1/(4*s2*s2)))
	near(t, "L² error", got, want, 0.03*want)
	var pooled RadialHistogram
	pooled.Add(a.Radial)
	pooled.Add(a.Radial)
	if zero, err := RadialError(&a.Radial, &pooled); zero != 0 || err != nil {
		t.Errorf("the same pairs twice: %v, %v", zero, err)
	}
	if _, err := RadialError(&a.Radial, &RadialHistogram{}); err == nil {
		t.Error("no pairs: no error")
	}
}

// KL(N(0, s²) ‖ N(m, s²)) = m²/2s², here on one axis of two. Equal laws leave
// the sampling bias, (bins−1)/2·(1/N + 1/M).
func TestMarginalKLOfAShift(t *testing.T) {
	const s, shift, particles, states = 1.5, 0.6, 16, 4000
	target, x := gas(states, particles, s, 1), gas(states, particles, s, 2)
	same, err := MarginalKL([][]float32{target}, [][]float32{x}, particles)
	if err != nil {
		t.Fatal(err)
	}
	bias := float64(marginalBins-1) / (states * particles)
	near(t, "divergence of equal laws", same, bias, 0.7*bias)
	for i := 0; i < len(x); i += 2 {
		x[i] += shift
	}
	moved, err := MarginalKL([][]float32{target}, [][]float32{x}, particles)
	if err != nil {
		t.Fatal(err)
	}
	// Its standard error is ½·(shift/s)·√(1/N + 1/M).
	near(t, "divergence of a shift", moved, shift*shift/(2*s*s)/2, 4*shift/s/2*math.Sqrt(2./(states*particles)))
	// Particles outside all bins cost a finite amount.
	for i := range x {
		x[i] = 1e6
	}
	if gone, err := MarginalKL([][]float32{target}, [][]float32{x}, particles); !(gone > 1 && gone < 100) || err != nil {
		t.Errorf("divergence from particles that have left: %v, %v", gone, err)
	}
	if _, err := MarginalKL([][]float32{x}, [][]float32{target}, particles); !errors.Is(err, ErrConstant) {
		t.Errorf("constant target: %v", err)
	}
	if _, err := MarginalKL([][]float32{target}, [][]float32{x, x[:3]}, particles); !errors.Is(err, metrics.ErrShape) {
		t.Errorf("three coordinates: %v", err)
	}
}

// Where two kernels' samples are swapped, the pooled law is unchanged and each kernel's
// is not.
func TestMarginalKLPoolsKernels(t *testing.T) {
	const particles, states = 16, 2000
	shifted := func(by float32, seed uint64) []float32 {
		x := gas(states, particles, 1, seed)
		for i := range x {
			x[i] += by
		}
		return x
	}
	target, swapped := [][]float32{shifted(-1, 1), shifted(1, 2)}, [][]float32{shifted(1, 3), shifted(-1, 4)}
	pooled, err := MarginalKL(target, swapped, particles)
	if err != nil {
		t.Fatal(err)
	}
	bias := float64(marginalBins-1) / (2 * states * particles)
	near(t, "divergence of the pooled laws", pooled, bias, 0.7*bias)
	alone, err := MarginalKL(target[:1], swapped[:1], particles)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "divergence of one kernel", alone, 2, 0.1) // (−1 − 1)²/2
	if _, err := MarginalKL(target, nil, particles); !errors.Is(err, metrics.ErrEmpty) {
		t.Errorf("no kernels: %v", err)
	}
}

// KL(N(0, s²) ‖ N(0, u²)) = ln(u/s) + s²/2u² − ½ is not symmetric.
func TestMarginalKLOfAWidth(t *testing.T) {
	const s, u, particles, states = 1.0, 1.4, 16, 4000
	narrow, wide := gas(states, particles, s, 1), gas(states, particles, u, 2)
	kl := func(s, u float64) float64 { return math.Log(u/s) + s*s/(2*u*u) - 0.5 }
	for _, tt := range []struct {
		name      string
		target, x []float32
		want      float64
	}{{"wider model", narrow, wide, kl(s, u)}, {"narrower model", wide, narrow, kl(u, s)}} {
		got, err := MarginalKL([][]float32{tt.target}, [][]float32{tt.x}, particles)
		if err != nil {
			t.Fatal(err)
		}
		near(t, tt.name, got, tt.want, 0.06*tt.want)
	}
}

// The Kolmogorov–Smirnov distance of N(m, s²) from N(m+δ, s²) is 2Φ(δ/2s) − 1.
func TestEnergiesOfNormals(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	draws := func(kernels int, mean, std float64) [][]float32 {
		all := make([][]float32, kernels)
		for k := range all {
			for range 10000 {
				all[k] = append(all[k], float32(mean+std*rng.NormFloat64()))
			}
		}
		return all
	}
	e, err := CompareEnergies(draws(10, -50, 8), draws(8, -46, 8))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "target's mean", e.Target.Mean, -50, 0.15)
	near(t, "model's standard deviation", e.Model.Std, 8, 0.1)
	near(t, "relative difference of means", e.RelativeMean, 4./50, 0.004) // above: positive
	near(t, "relative difference of spreads", e.RelativeStd, 0, 0.02)
	near(t, "KS statistic", e.KS, math.Erf(0.25/math.Sqrt2), 0.01)
	// States are pooled, so the spread includes the difference between kernels.
	e, err = CompareEnergies([][]float32{{1, 1}, {3, 3}}, [][]float32{{2, 2, 2}})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Energies{Model: Moments{2, 0}, Target: Moments{2, 1}, RelativeStd: -1, KS: 0.5}); e != want {
		t.Errorf("pooled: %+v, want %+v", e, want)
	}
	for _, target := range [][][]float32{{{5, 5}}, {{-1, 1}}} {
		if _, err := CompareEnergies(target, target); !errors.Is(err, ErrConstant) {
			t.Errorf("%v: %v", target, err)
		}
	}
	if _, err := CompareEnergies(nil, nil); !errors.Is(err, metrics.ErrEmpty) {
		t.Errorf("no energies: %v", err)
	}
}
