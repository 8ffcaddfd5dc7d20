package observables

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

// gas is n states of independent N(0, s²) particles.
func gas(n, particles int, s float64, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	states := make([]float32, n*2*particles)
	for i := range states {
		states[i] = float32(s * rng.NormFloat64())
	}
	return states
}

// trap is the energy ½Σ|xᵢ|².
func trap(state []float32) float64 {
	var sum float64
	for _, v := range state {
		sum += float64(v) * float64(v) / 2
	}
	return sum
}

func observe(t testing.TB, states []float32, particles int) *Observed {
	t.Helper()
	o, err := Observe(states, particles, 1, trap)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.9g, want %.9g ± %.2g", what, got, want, tolerance)
	}
}

// The right triangle with sides 3, 4, 5, whose nearest neighbours are at 3, 3, 4.
func TestFeaturesOfATriangle(t *testing.T) {
	o := observe(t, []float32{0, 0, 3, 0, 0, 4}, 3)
	want := []float64{
		25. / 2 / 3,
		1 + 16./9,
		math.Sqrt((9. + 16 + 25) / 9), // Σ of squared sides over n²
		4, math.Sqrt(2. / 3),
		3.2, 3.6, 4, 4.4, 4.8,
		10. / 3, math.Sqrt(2. / 9), 3,
	}
	for k, name := range FeatureNames() {
		near(t, name, o.Features[k], want[k], 1e-12)
	}
	near(t, "energy", float64(o.Energies[0]), 12.5, 1e-6)
	if o.Radial.Pairs != 3 || o.Radial.Counts[37] != 1 || o.Radial.Counts[50] != 1 || o.Radial.Counts[62] != 1 {
		t.Errorf("pairs of the triangle: %+v", o.Radial)
	}
}

// A permutation of the particles changes no feature; a common motion changes only the
// energy and the centre of mass.
func TestFeaturesAreInvariant(t *testing.T) {
	const particles = 32
	states := gas(3, particles, 1.3, 7)
	want := observe(t, states, particles)
	rng := rand.New(rand.NewPCG(2, 2))
	permuted, moved := make([]float32, len(states)), make([]float32, len(states))
	for i := range 3 {
		for j, p := range rng.Perm(particles) {
			x, y := states[(i*particles+p)*2], states[(i*particles+p)*2+1]
			at := (i*particles + j) * 2
			permuted[at], permuted[at+1] = x, y
			moved[at], moved[at+1] = 4-y, x-2 // a quarter turn and a shift
		}
	}
	a, b := observe(t, permuted, particles), observe(t, moved, particles)
	for i, w := range want.Features {
		near(t, "permuted: "+FeatureNames()[i%FeatureCount], a.Features[i], w, 1e-12*(1+w))
		if i%FeatureCount > 1 {
			near(t, "moved: "+FeatureNames()[i%FeatureCount], b.Features[i], w, 1e-5)
		}
	}
	if a.Radial != want.Radial {
		t.Error("g(r) depends on the numbering")
	}
}

// Distances that are spread evenly, unevenly and not at all, against plain code.
func TestDistances(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	far := gas(1, 32, 1, 3)
	far[0] = 1e9 // 31 distances far from 465 that share a bucket
	lattice := make([]float32, 64)
	for i := range lattice {
		lattice[i] = float32(rng.IntN(3))
	}
	for name, state := range map[string][]float32{
		"gas": gas(1, 32, 1, 4), "three": gas(1, 3, 1, 5), "far": far, "lattice": lattice, "point": make([]float32, 64),
		"tiny": gas(1, 32, 1e-38, 6), "huge": gas(1, 32, 1e37, 6),
	} {
		p := newPairs(len(state) / 2)
		p.measure(state)
		want := slices.Sorted(slices.Values(p.raw))
		if !slices.Equal(p.distances, want) {
			t.Errorf("%s: distances are not sorted", name)
		}
		for i, got := range p.nearest {
			nearest := math.Inf(1)
			for j := range p.particles {
				if j != i {
					nearest = min(nearest, math.Hypot(float64(state[2*i])-float64(state[2*j]), float64(state[2*i+1])-float64(state[2*j+1])))
				}
			}
			near(t, name+": nearest neighbour", got, nearest, 1e-12*nearest)
		}
	}
}

// For independent N(0, s²I) particles |xᵢ − xⱼ|²/4s² is Exp(1), |c|² has mean
// 2s²/n, R_g² mean 2s²(n−1)/n.
func TestGasHasItsMoments(t *testing.T) {
	const n, particles, s = 20000, 8, 0.7
	o := observe(t, gas(n, particles, s, 11), particles)
	mean := func(value func(f []float64) float64) float64 {
		var sum float64
		for i := range n {
			sum += value(o.Features[i*FeatureCount:]) / n
		}
		return sum
	}
	near(t, "mean energy / n", mean(func(f []float64) float64 { return f[0] }), s*s, 0.01)
	near(t, "mean |c|²", mean(func(f []float64) float64 { return f[1] }), 2*s*s/particles, 0.004)
	near(t, "mean R_g²", mean(func(f []float64) float64 { return f[2] * f[2] }), 2*s*s*(particles-1)/particles, 0.01)
	near(t, "mean distance", mean(func(f []float64) float64 { return f[3] }), s*math.Sqrt(math.Pi), 0.01)
	near(t, "mean squared distance", mean(func(f []float64) float64 { return f[3]*f[3] + f[4]*f[4] }), 4*s*s, 0.02)
}

func TestResultsDoNotDependOnThreads(t *testing.T) {
	states, other := gas(500, 32, 1, 1), gas(400, 32, 1.1, 2)
	var want *Observed
	var distance float64
	for _, threads := range []int{1, 3, 8} {
		before := runtime.GOMAXPROCS(threads)
		got := observe(t, states, 32)
		d, err := FeatureDistance(got, observe(t, other, 32), 9)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want, distance = got, d
		}
		if !reflect.DeepEqual(got, want) || d != distance {
			t.Errorf("%d threads see something else", threads)
		}
	}
}

// Energies shifted by c of their standard deviations: every projection moves by
// c·θ₀, and θ₀² has mean 1/13.
func TestFeatureDistanceOfAShift(t *testing.T) {
	states := gas(1000, 16, 1, 3)
	target := observe(t, states, 16)
	mean, std := moments(target.Energies)
	const c = 100
	shifted, err := Observe(states, 16, 1, func(state []float32) float64 { return trap(state) + c*std })
	if err != nil {
		t.Fatal(err)
	}
	d, err := FeatureDistance(target, shifted, 1)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "distance of shifted energies", d, c/math.Sqrt(13), 0.15*c/math.Sqrt(13))
	if d, err := FeatureDistance(target, target, 1); d != 0 || err != nil {
		t.Errorf("distance to itself is %v, %v", d, err)
	}
	// The scale is the target's: a target twice as wide halves the distance.
	wide := *target
	wide.Features = slices.Clone(target.Features)
	for i := range target.States {
		wide.Features[i*FeatureCount] = (2*float64(target.Energies[i]) - mean) / 16
	}
	half, err := FeatureDistance(&wide, shifted, 1)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "distance from a wider target", half, d/2, 0.01*d)
}

func TestRefuses(t *testing.T) {
	nan, good := float32(math.NaN()), gas(4, 4, 1, 1)
	for _, tt := range []struct {
		name      string
		states    []float32
		particles int
		energy    func([]float32) float64
		want      error
		says      string
	}{
		{"none", nil, 4, trap, metrics.ErrEmpty, "no points"},
		{"two particles", good, 2, trap, metrics.ErrShape, "2 particles are outside 3 to 1024"},
		{"many particles", good, 1 << 40, trap, metrics.ErrShape, "outside"},
		{"half a state", good[:28], 4, trap, metrics.ErrShape, "28 coordinates"},
		{"NaN", append(slices.Clone(good[:24]), nan, 0, 0, 0, 0, 0, 0, 0), 4, trap, metrics.ErrNonFinite, "state 3, coordinate 0"},
		{"energy", good, 4, func(s []float32) float64 { return math.Log(-1) }, metrics.ErrNonFinite, "state 0 has the energy NaN"},
		{"large energy", good, 4, func(s []float32) float64 { return 1e39 }, metrics.ErrNonFinite, "+Inf"},
	} {
		o, err := Observe(tt.states, tt.particles, 1, tt.energy)
		if o != nil || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	alike := observe(t, slices.Concat(good[:8], good[:8]), 4)
	if _, err := FeatureDistance(alike, alike, 1); !errors.Is(err, ErrConstant) || !strings.Contains(err.Error(), "energy / n is") {
		t.Errorf("equal states: %v", err)
	}
	if _, err := FeatureDistance(observe(t, good, 4), observe(t, gas(4, 5, 1, 1), 5), 1); !errors.Is(err, metrics.ErrShape) {
		t.Errorf("other numbers of particles: %v", err)
	}
}

func BenchmarkObserve(b *testing.B) {
	states := gas(4096, 32, 1, 1)
	for b.Loop() {
		observe(b, states, 32)
	}
}

func BenchmarkFeatureDistance(b *testing.B) {
	x, y := observe(b, gas(4096, 32, 1, 1), 32), observe(b, gas(4096, 32, 1, 2), 32)
	for b.Loop() {
		if _, err := FeatureDistance(x, y, 1); err != nil {
			b.Fatal(err)
		}
	}
}
