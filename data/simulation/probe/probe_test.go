package probe

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

var (
	wide  = sde.Grid{Lo: -4, Hi: 6, N: 21}
	small = sde.Grid{Lo: -1, Hi: 1, N: 9}
)

// plane tabulates a drift and a diffusion of terms numbers.
func plane(drift func(x, y float64) [2]float64, terms int, diffusion func(x, y float64) [4]float64) sde.Plane {
	p := sde.Plane{X: wide, Y: small}
	for n := range p.Nodes() {
		x, y := p.X.At(n%p.X.N), p.Y.At(n/p.X.N)
		b, s := drift(x, y), diffusion(x, y)
		p.Drift = append(p.Drift, float32(b[0]), float32(b[1]))
		for _, v := range s[:terms] {
			p.Diffusion = append(p.Diffusion, float32(v))
		}
	}
	return p
}

func swirl(x, y float64) [2]float64 { return [2]float64{3*math.Sin(2*y) - x, 2*math.Cos(x) + 5*y} }

func ones(float64, float64) [4]float64 { return [4]float64{1, 1, 1, 1} }

func uneven(x, y float64) [4]float64 {
	return [4]float64{1.5 + math.Sin(x), 0.5 * y, -0.3, 1 + 0.5*math.Cos(x+y)}
}

func fill(t *testing.T, c Config, system sde.System, function uint64) []float32 {
	t.Helper()
	dst := make([]float32, c.Size())
	if err := c.Fill(dst, system, 1, "test", function); err != nil {
		t.Fatal(err)
	}
	return dst
}

// between is the bilinear interpolation of every k-th of values, in double
// precision and clamped.
func between(p sde.Plane, values []float32, k int, x, y float64) float64 {
	at := func(g sde.Grid, x float64) (cell int, t float64) {
		u := min(max((x-g.Lo)/g.Step(), 0), float64(g.N-1))
		cell = min(int(u), g.N-2)
		return cell, u - float64(cell)
	}
	i, s := at(p.X, x)
	j, t := at(p.Y, y)
	v := func(i, j int) float64 { return float64(values[k*(j*p.X.N+i)]) }
	return (1-t)*((1-s)*v(i, j)+s*v(i+1, j)) + t*((1-s)*v(i, j+1)+s*v(i+1, j+1))
}

// Rows have the place, the drift there and the diffusion matrix there, whatever
// form the diffusion has. Many probes leave the small side of the grid.
func TestRowsAreCoefficients(t *testing.T) {
	for _, kind := range []Kind{Trajectory, Walk} {
		for _, p := range []sde.Plane{
			plane(swirl, 1, uneven), plane(swirl, 2, func(x, y float64) [4]float64 { return [4]float64{2 + math.Sin(x), 1 + y*y} }),
			plane(swirl, 4, uneven),
		} {
			terms, _ := p.DiffusionTerms()
			at := [4]int{0, 1, 2, 3} // which number of a node an entry of the matrix is, −1 for none
			if terms < 4 {
				at = [4]int{0, -1, -1, terms - 1}
			}
			left := 0
			for rows := fill(t, Config{Kind: kind, Sensors: 300, Steps: 20, DT: 0.05}, p, 3); len(rows) > 0; rows = rows[8:] {
				x, y := float64(rows[0]), float64(rows[1])
				if math.Abs(y) > 1 {
					left++
				}
				want := [6]float64{between(p, p.Drift, 2, x, y), between(p, p.Drift[1:], 2, x, y)}
				for k, from := range at {
					if from >= 0 {
						want[2+k] = between(p, p.Diffusion[from:], terms, x, y)
					}
				}
				for k, w := range want {
					if !(math.Abs(float64(rows[2+k])-w) <= 1e-5*(1+math.Abs(w))) {
						t.Fatalf("%s, %d terms, at (%v, %v): number %d of the row is %v, want %v", kind, terms, x, y, 2+k, rows[2+k], w)
					}
				}
			}
			if left < 100 {
				t.Errorf("%s: only %d rows are outside", kind, left)
			}
		}
	}
}

// The coefficients of a probe are those with which the simulator takes a step: a
// chain of one step from the origin, without noise to speak of, moves by b·Δt.
func TestDriftIsTheSimulators(t *testing.T) {
	p := plane(swirl, 1, ones)
	p.Diffusion = []float32{1e-9}
	dst := make([]float32, 2*64*2)
	s := simulate.Scheme{DT: 1. / 16, Thin: 1, Chains: 64}
	if err := simulate.Chains(context.Background(), dst, p, s, 1, 1, "test"); err != nil {
		t.Fatal(err)
	}
	q := planeProbe{p: p, x: newAxis(p.X), y: newAxis(p.Y), constant: true, rowStride: 8, dt: 1. / 16}
	b := &block{active: 64}
	for l := range 64 {
		b.x[l], b.y[l] = dst[4*l], dst[4*l+1]
	}
	q.step(b, make([]float32, 64*8), make([]float32, 64), make([]float32, 64))
	for l := range 64 {
		if got, want := [2]float32{b.x[l], b.y[l]}, [2]float32(dst[4*l+2:4*l+4]); !(math.Abs(float64(got[0]-want[0])) <= 1e-5 && math.Abs(float64(got[1]-want[1])) <= 1e-5) {
			t.Fatalf("chain %d goes from (%v, %v) to %v, its probe to %v", l, dst[4*l], dst[4*l+1], want, got)
		}
	}
}

// Starts are uniform in the grid's rectangle; what a step adds to its drift is
// normal with mean zero and covariance S·Sᵀ·Δt, and independent of where it is.
func TestMovesOfPlanes(t *testing.T) {
	full := plane(swirl, 4, uneven)
	constant := plane(func(float64, float64) [2]float64 { return [2]float64{3, -2} }, 1, ones)
	constant.Diffusion = []float32{1, -0.5, 0.25, 2}
	for _, c := range []struct {
		name   string
		config Config
		p      sde.Plane
	}{
		{"full", Config{Kind: Trajectory, Sensors: 20000, Steps: 3, DT: 0.04}, full},
		{"constant", Config{Kind: Trajectory, Sensors: 20000, Steps: 3, DT: 0.04}, constant},
		{"walk", Config{Kind: Walk, Sensors: 20000, Steps: 3, DT: 0.0025}, full},
	} {
		rows := fill(t, c.config, c.p, 9)
		var us, vs, z0, z1 []float64
		var product, drifting float64
		for k := range c.config.Sensors {
			sensor := rows[k*3*8:]
			us = append(us, (float64(sensor[0])-wide.Lo)/(wide.Hi-wide.Lo))
			vs = append(vs, (float64(sensor[1])-small.Lo)/(small.Hi-small.Lo))
			from, to := sensor[8:], sensor[16:]
			dx, dy := float64(to[0]-from[0]), float64(to[1]-from[1])
			a, b, d, e := float64(from[4]), float64(from[5]), float64(from[6]), float64(from[7])
			if c.config.Kind == Walk {
				a, b, d, e = 1, 0, 0, 1
			} else {
				dx -= float64(from[2]) * c.config.DT
				dy -= float64(from[3]) * c.config.DT
			}
			root := math.Sqrt(c.config.DT) * (a*e - b*d)
			z0, z1 = append(z0, (e*dx-b*dy)/root), append(z1, (a*dy-d*dx)/root)
			product += z0[k] * z1[k]
			drifting += z0[k] * float64(from[0]-sensor[0])
		}
		uniform := func(u float64) float64 { return u }
		normal := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
		for name, set := range map[string]struct {
			of  []float64
			cdf func(float64) float64
		}{"x": {us, uniform}, "y": {vs, uniform}, "first noise": {z0, normal}, "second noise": {z1, normal}} {
			if k := ks(set.of, set.cdf); !(k <= 1.95) {
				t.Errorf("%s: √n·KS of %s is %.2f", c.name, name, k)
			}
		}
		root := math.Sqrt(float64(c.config.Sensors))
		if !(math.Abs(product)/root <= 4.5 && math.Abs(drifting)/root <= 10) {
			t.Errorf("%s: noises correlate by %.3f, with the step before by %.3f", c.name, product/root, drifting/root)
		}
	}
}

// ks is √n times the Kolmogorov–Smirnov distance, above 1.95 with probability
// 0.001.
func ks(values []float64, cdf func(float64) float64) (d float64) {
	n := float64(len(values))
	for i, v := range slices.Sorted(slices.Values(values)) {
		u := cdf(v)
		d = max(d, u-float64(i)/n, float64(i+1)/n-u)
	}
	return d * math.Sqrt(n)
}

func spring(k float64) sde.Particles {
	return sde.Particles{N: 2, Trap: 0.5, Noise: 0.7, Force: sde.Tabulate(func(float64) float64 { return -k }, 0, 50)}
}

// Rows of pairs are displacements and f(r²)r, nothing below the core and beyond
// the range.
func TestPairForces(t *testing.T) {
	p := spring(1)
	p.Noise = 1
	p.Force = sde.Tabulate(func(r2 float64) float64 { return 5*math.Exp(-r2) - 0.5 }, 0.7, 3)
	count := [3]int{}
	var largest float64
	rows := fill(t, Config{Kind: Pairs, Sensors: 2000, Steps: 20, DT: 0.001}, p, 1)
	for ; len(rows) > 0; rows = rows[4:] {
		x, y := float64(rows[0]), float64(rows[1])
		r2 := x*x + y*y
		f := p.Force.At(r2)
		largest = max(largest, math.Abs(f))
		if math.Abs(r2-0.49) < 1e-5 || math.Abs(r2-9) < 1e-5 {
			continue
		}
		if !(math.Abs(float64(rows[2])-f*x) <= 1e-4 && math.Abs(float64(rows[3])-f*y) <= 1e-4) {
			t.Fatalf("force at (%v, %v) is (%v, %v), want (%v, %v)", x, y, rows[2], rows[3], f*x, f*y)
		}
		switch {
		case r2 < 0.49:
			count[0]++
		case r2 < 9:
			count[1]++
		default:
			count[2]++
		}
	}
	if min(count[0], count[1], count[2]) < 1000 || !(largest >= 1) {
		t.Errorf("rows below, within and beyond the force: %v, largest %v", count, largest)
	}
}

// Distances start uniform on [0.2, 4]·0.7, as 0.7 is the deviation of one particle in the
// trap, in uniform directions. With f = −k the
// displacement is an autoregression r′ = (1 − 2kΔt)r + √(2Δt)·Noise·ξ, whatever
// the trap.
func TestMovesOfPairs(t *testing.T) {
	const k, dt, sensors = 1.5, 0.01, 20000
	p := spring(k)
	c := Config{Kind: Pairs, Sensors: sensors, Steps: 20, DT: dt}
	rows := fill(t, c, p, 4)
	var distances, angles, moved, ratio []float64
	for s := range sensors {
		first, last := rows[s*20*4:], rows[(s*20+19)*4:]
		x, y := float64(first[0]), float64(first[1])
		distances = append(distances, (math.Hypot(x, y)/0.7-0.2)/3.8)
		angles = append(angles, math.Atan2(y, x)/(2*math.Pi)+0.5)
		moved = append(moved, float64(first[4])-(1-2*k*dt)*x, float64(first[5])-(1-2*k*dt)*y)
		ratio = append(ratio, float64(last[0]), x)
	}
	uniform := func(u float64) float64 { return u }
	deviation := math.Sqrt(2*dt) * p.Noise
	for name, set := range map[string]struct {
		of  []float64
		cdf func(float64) float64
	}{
		"distances": {distances, uniform}, "angles": {angles, uniform},
		"moves": {moved, func(z float64) float64 { return math.Erfc(-z/(deviation*math.Sqrt2)) / 2 }},
	} {
		if k := ks(set.of, set.cdf); !(k <= 1.95) {
			t.Errorf("√n·KS of %s is %.2f", name, k)
		}
	}
	var xy, xx float64
	for i := 0; i < len(ratio); i += 2 {
		xy += ratio[i] * ratio[i+1]
		xx += ratio[i+1] * ratio[i+1]
	}
	if want := math.Pow(1-2*k*dt, 19); !(math.Abs(xy/xx-want) <= 0.01) {
		t.Errorf("after 19 steps %.4f of the displacement is left, want %.4f", xy/xx, want)
	}
}

// Probes follow from (seed, purpose, function) alone; the first m sensors do not
// depend on how many there are, nor do steps on later ones.
func TestProbesAreFunctions(t *testing.T) {
	flat := plane(swirl, 4, uneven)
	for _, c := range []struct {
		config Config
		system sde.System
	}{{Config{Kind: Trajectory, Sensors: 200, Steps: 20, DT: 0.01}, flat}, {Config{Kind: Walk, Sensors: 200, Steps: 20, DT: 0.0025}, flat}, {Config{Kind: Pairs, Sensors: 200, Steps: 20, DT: 0.001}, spring(1)}} {
		want := fill(t, c.config, c.system, 5)
		made := make([][]float32, 50)
		err := simulate.Each(context.Background(), len(made), func(_ context.Context, i int) error {
			made[i] = make([]float32, c.config.Size())
			return c.config.Fill(made[i], c.system, 1, "test", 5)
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, again := range made {
			if !slices.Equal(again, want) {
				t.Fatalf("%s: probes differ when made again", c.config.Kind)
			}
		}
		for _, m := range []int{1, 63, 64, 65, 130} {
			fewer := c.config
			fewer.Sensors = m
			got := fill(t, fewer, c.system, 5)
			if !slices.Equal(got, want[:len(got)]) {
				t.Errorf("%s: the first %d of 200 sensors differ from %d", c.config.Kind, m, m)
			}
		}
		shorter := c.config
		shorter.Steps = 7
		got := fill(t, shorter, c.system, 5)
		for k := range 200 {
			per := 7 * c.config.Features()
			if !slices.Equal(got[k*per:(k+1)*per], want[k*20*c.config.Features():][:per]) {
				t.Fatalf("%s: seven rows of sensor %d differ from the first of twenty", c.config.Kind, k)
			}
		}
		for _, other := range []struct {
			seed     uint64
			purpose  string
			function uint64
		}{{2, "test", 5}, {1, "best", 5}, {1, "test", 6}} {
			dst := make([]float32, c.config.Size())
			if err := c.config.Fill(dst, c.system, other.seed, other.purpose, other.function); err != nil {
				t.Fatal(err)
			}
			if dst[0] == want[0] || dst[len(dst)-1] == want[len(want)-1] {
				t.Errorf("%s: probes of %v are those of {1 test 5}", c.config.Kind, other)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	fine := plane(swirl, 1, ones)
	broken := plane(swirl, 1, ones)
	broken.Drift[17] = float32(math.NaN())
	wild := plane(func(x, y float64) [2]float64 { return [2]float64{1e30, 0} }, 1, ones)
	line := sde.Coefficients{Grid: wide, Drift: make([]float32, wide.N), Diffusion: slices.Repeat([]float32{1}, wide.N)}
	trajectory := Config{Kind: Trajectory, Sensors: 3, Steps: 4, DT: 0.01}
	for _, c := range []struct {
		name   string
		config Config
		system sde.System
		values int
		want   string
		is     error
	}{
		{"no kind", Config{Kind: "", Sensors: 3, Steps: 4, DT: 0.01}, fine, 96, `kind is "": must be trajectory, walk, pairs or path`, nil},
		{"no sensors", Config{Kind: Trajectory, Sensors: 0, Steps: 4, DT: 0.01}, fine, 0, "sensors is 0", nil},
		{"too many sensors", Config{Kind: Trajectory, Sensors: 1<<16 + 1, Steps: 4, DT: 0.01}, fine, 0, "sensors is 65537", nil},
		{"no rows", Config{Kind: Trajectory, Sensors: 3, Steps: 0, DT: 0.01}, fine, 0, "steps is 0", nil},
		{"too many rows", Config{Kind: Trajectory, Sensors: 3, Steps: 5000, DT: 0.01}, fine, 0, "steps is 5000", nil},
		{"no time", Config{Kind: Trajectory, Sensors: 3, Steps: 4, DT: 0}, fine, 96, "dt is 0", nil},
		{"NaN", Config{Kind: Trajectory, Sensors: 3, Steps: 4, DT: math.NaN()}, fine, 96, "dt is NaN", nil},
		{"length", trajectory, fine, 95, "95 values for 3 sensors with 4 rows of 8", nil},
		{"broken drift", trajectory, broken, 96, "", sde.ErrNotFinite},
		{"a line", trajectory, line, 96, "trajectory of sde.Coefficients", ErrSystem},
		{"pairs of a plane", Config{Kind: Pairs, Sensors: 3, Steps: 8, DT: 0.01}, fine, 96, "pairs of sde.Plane", ErrSystem},
		{"walk of particles", Config{Kind: Walk, Sensors: 3, Steps: 4, DT: 0.01}, spring(1), 96, "walk of sde.Particles", ErrSystem},
		{"explosion", trajectory, wild, 96, "sensor 0 ends at", ErrDiverged},
	} {
		err := c.config.Fill(make([]float32, c.values), c.system, 1, "test", 17)
		if err == nil || !strings.Contains(err.Error(), "probes of function 17: ") || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// A walk does not depend on the drift.
	fill(t, Config{Kind: Walk, Sensors: 3, Steps: 4, DT: 0.01}, wild, 1)
}

// Memory is that of a few blocks, not of every sensor; pools lose some of theirs
// under the race detector.
func TestFillKeepsItsMemory(t *testing.T) {
	for _, c := range []struct {
		config Config
		system sde.System
	}{{Config{Kind: Trajectory, Sensors: 2048, Steps: 2, DT: 0.01}, plane(swirl, 4, uneven)}, {Config{Kind: Pairs, Sensors: 2048, Steps: 2, DT: 0.001}, spring(1)}} {
		dst := make([]float32, c.config.Size())
		system := c.system
		if n := testing.AllocsPerRun(20, func() {
			if err := c.config.Fill(dst, system, 1, "train", 1); err != nil {
				t.Fatal(err)
			}
		}); !(n <= 70) {
			t.Errorf("%s: %v allocations for 32 blocks", c.config.Kind, n)
		}
	}
}

// Walks in units of the grid have the places of the same grid in other units: a network sees
// the same probes of metres and of millimetres.
func TestWalksPerGridHaveNoUnit(t *testing.T) {
	c := Config{Kind: Walk, Sensors: 40, Steps: 20, DT: 0.0025}
	constant := func(n int) []float32 { return slices.Repeat([]float32{1}, n) }
	on := func(x, y sde.Grid) sde.Plane {
		return sde.Plane{X: x, Y: y, Drift: constant(2 * x.N * y.N), Diffusion: constant(1)}
	}
	axis := sde.Grid{Lo: -5, Hi: 5, N: 32}
	want := fill(t, c, on(axis, axis), 1)
	c.PerGrid = true
	const sx, sy, centre = 1 << 13, 0x1p-12, 1 << 14
	got := fill(t, c, on(sde.Grid{Lo: centre - 5*sx, Hi: centre + 5*sx, N: 32}, sde.Grid{Lo: -5 * sy, Hi: 5 * sy, N: 32}), 1)
	for i := 0; i < len(want); i += c.Features() {
		x, y := (float64(got[i])-centre)/sx, float64(got[i+1])/sy
		if math.Abs(x-float64(want[i])) > 1e-4 || math.Abs(y-float64(want[i+1])) > 1e-4 {
			t.Fatalf("row %d is at (%g, %g) in units of the grid, want (%g, %g)", i/c.Features(), x, y, want[i], want[i+1])
		}
	}
}
