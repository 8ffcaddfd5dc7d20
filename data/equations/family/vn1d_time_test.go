package family

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// For dX = θ(μ − X)dt + s·dW from N(0, 1), X_τ is normal with
//
//	mean     μ(1 − e^{−θτ})
//	variance e^{−2θτ} + s²/(2θ)·(1 − e^{−2θτ}).
//
// What is simulated at a time has both, at the ends of all intervals of time; with
// those of the time after next it would not. 65,536 chains know a variance to a
// standard error of 0.6 %, and Euler–Maruyama with steps of at most 0.05 adds at
// most θ·dt/2 = 1 %.
func TestTimedOrnsteinUhlenbeck(t *testing.T) {
	const theta, mu, s, chains = 0.4, 0.8, 0.7, 65536
	c := sde.Coefficients{Grid: vn1dGrid}
	for j := range vn1dGrid.N {
		c.Drift = append(c.Drift, float32(theta*(mu-vn1dGrid.At(j))))
		c.Diffusion = append(c.Diffusion, s)
	}
	moments := func(time float64) (mean, variance float64) {
		decay := math.Exp(-theta * time)
		return mu * (1 - decay), decay*decay + s*s/(2*theta)*(1-decay*decay)
	}
	longest, err := vn1dTime{}.Of(c)
	if err != nil {
		t.Fatal(err)
	}
	times := vn1dTime{}.Times()
	for k, time := range times {
		f, err := vn1dTime{}.At(longest, time)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(f.Fields[2][0]); !(math.Abs(got-math.Log(time)) <= 1e-6) {
			t.Errorf("the network is told of log τ = %v at %v", got, time)
		}
		x := make([]float32, chains)
		if err := simulate.Fastest().Simulate(t.Context(), x, simulate.Batch{
			Count: 1, System: func(int) (sde.System, error) { return f.System, nil },
			Scheme: simulate.Scheme{DT: 0.05, BurnIn: 1000, Thin: 1, Chains: chains}, Seed: 1, Purpose: fmt.Sprint("test/", k),
		}, nil); err != nil {
			t.Fatal(err)
		}
		var mean, square float64
		for _, v := range x {
			mean, square = mean+float64(v)/chains, square+float64(v)*float64(v)/chains
		}
		variance := square - mean*mean
		agree := func(time float64) bool {
			wantMean, want := moments(time)
			return math.Abs(mean-wantMean) < 5*math.Sqrt(want/chains)+0.005 && math.Abs(variance/want-1) < 0.03+0.01
		}
		if wantMean, want := moments(time); !agree(time) {
			t.Errorf("τ = %.3g: mean %.4f, variance %.4f, want %.4f, %.4f", time, mean, variance, wantMean, want)
		}
		// Of late times the law is the invariant one.
		if k+2 < len(times) && times[k+2] < 4 && agree(times[k+2]) {
			t.Errorf("τ = %.3g: mean %.4f, variance %.4f are those of τ = %.3g too", time, mean, variance, times[k+2])
		}
	}
}

// Every equation of vn1d comes at eight times, one in each interval, and goes to
// the exact invariant law: at the longest time those that mix fast have it.
func TestTimedFunctions(t *testing.T) {
	f, ends := vn1dTime{}, vn1dTime{}.Times()
	if len(ends) != 9 || ends[0] != 0.05 || ends[8] != 50 || !slices.IsSorted(ends) {
		t.Fatalf("intervals %v", ends)
	}
	mean := 0.0 // of where log τ is in its interval
	const functions = 4096
	for i := range functions {
		time, k := f.Time(7, i), i%8
		if !(time >= ends[k] && time < ends[k+1]) || f.Equation(i) != i/8 {
			t.Fatalf("function %d is equation %d at %g, want %d in %g…%g", i, f.Equation(i), time, i/8, ends[k], ends[k+1])
		}
		mean += math.Log(time/ends[k]) / math.Log(ends[k+1]/ends[k]) / functions
	}
	if !(math.Abs(mean-0.5) <= 5/math.Sqrt(12*functions)) {
		t.Errorf("log τ is at %.3f of its interval on average", mean)
	}
	for _, i := range []int{8, 13} {
		function, err := f.Function(7, i)
		if err != nil {
			t.Fatal(err)
		}
		c, err := vn1d{}.coefficients(7, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(function.Fields[0], c.Drift) || !slices.Equal(function.Fields[1], c.Diffusion) {
			t.Errorf("function %d is told of other coefficients than those of equation 1", i)
		}
		again, err := f.At(function, f.Time(7, i))
		if err != nil || !slices.Equal(again.System.(sde.Coefficients).Drift, function.System.(sde.Coefficients).Drift) {
			t.Errorf("function %d at its own time differs: %v", i, err)
		}
		for _, time := range []float64{0, 0.04, 51, -1, math.NaN(), math.Inf(1)} {
			if _, err := f.At(function, time); err == nil || !strings.Contains(err.Error(), "not in 0.05…50") {
				t.Errorf("time %g: %v", time, err)
			}
		}
	}
	mixing := 0
	for i := 0; mixing < 3; i += 8 {
		function, err := f.Function(1, i)
		if err != nil {
			t.Fatal(err)
		}
		wells := 0
		for j, b := range function.Fields[0][1:] {
			if function.Fields[0][j] > 0 && b <= 0 {
				wells++
			}
		}
		if wells > 1 || slices.Min(function.Fields[1]) < 0.4 {
			continue
		}
		mixing++
		law, err := f.Invariant(1, i)
		if err != nil {
			t.Fatal(err)
		}
		late, err := f.At(function, 50)
		if err != nil {
			t.Fatal(err)
		}
		s, x := simulate.Scheme{DT: 0.01, BurnIn: 5000, Thin: 1, Chains: 2048}, make([]float32, 2048)
		for _, system := range []sde.System{late.System, function.System} {
			if err := simulate.Fastest().Simulate(t.Context(), x, simulate.Batch{
				Count: 1, System: func(int) (sde.System, error) { return system, nil }, Scheme: s, Seed: 1, Purpose: "test",
			}, nil); err != nil {
				t.Fatal(err)
			}
			ks := ksScaled(x, law)
			if early := !slices.Equal(system.(sde.Coefficients).Drift, late.System.(sde.Coefficients).Drift); early != (ks > 1.95) {
				t.Errorf("function %d: √n·KS is %.2f, at an early time: %v", i, ks, early)
			}
		}
	}
}

// An equation that is slowed down has the law of the equation itself, simulated
// over the shorter time by a plain loop: √n·KS of two samples is above 1.95 with
// probability 0.001. With the next interval's time it is not that law.
func TestTimedIsTheEquationAtItsTime(t *testing.T) {
	const n = 8192
	f := vn1dTime{}
	for _, i := range []int{3, 20} {
		function, err := f.Function(1, i)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, n)
		draws := SampleSpec{First: i, Count: 1, Seed: 1, Scheme: simulate.Scheme{DT: 0.01, BurnIn: 5000, Thin: 1, Chains: n}, Purpose: "test"}
		if err := Sample(t.Context(), f, x, draws, simulate.Fastest(), nil); err != nil {
			t.Fatal(err)
		}
		plain := sde.Coefficients{Grid: vn1dGrid, Drift: function.Fields[0], Diffusion: function.Fields[1]}
		for _, factor := range []float64{1, 2.5} {
			const steps = 400
			dt, source, y := factor*f.Time(1, i)/steps, random.New(1, "test/time", uint64(i)), make([]float32, n)
			for k := range y {
				at := source.NormFloat64()
				for range steps {
					at += plain.DriftAt(at)*dt + plain.DiffusionAt(at)*math.Sqrt(dt)*source.NormFloat64()
				}
				y[k] = float32(at)
			}
			ks := ksScaled(x, empirical(y)) / math.Sqrt2
			if same := ks < 1.95; same != (factor == 1) {
				t.Errorf("function %d at %.3g times its time: √(n/2)·KS is %.2f", i, factor, ks)
			}
		}
	}
}

// sortedSamples have an empirical distribution function.
type sortedSamples []float32

func empirical(x []float32) sortedSamples { slices.Sort(x); return x }

func (s sortedSamples) CDF(x float64) float64 {
	below, _ := slices.BinarySearch(s, float32(x))
	return float64(below) / float64(len(s))
}

func TestTimedSchemes(t *testing.T) {
	good := simulate.Scheme{DT: 0.01, BurnIn: 5000, Thin: 1, Chains: 32}
	if err := (vn1dTime{}).Observes(good, 32); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*simulate.Scheme){
		"16 chains for 32 samples":  func(s *simulate.Scheme) { s.Chains = 16 },
		"dt·burn_in = 49 units":     func(s *simulate.Scheme) { s.BurnIn = 4900 },
		"dt·burn_in = 100 units":    func(s *simulate.Scheme) { s.DT = 0.02 },
		"start from normal(0, 2)":   func(s *simulate.Scheme) { s.Start = "2" },
		"start from uniform(-1, 1)": func(s *simulate.Scheme) { s.Start = "uniform(-1, 1)" },
	} {
		s := good
		change(&s)
		if err := (vn1dTime{}).Observes(s, 32); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}
