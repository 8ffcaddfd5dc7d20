package metrics

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// allMetrics lists every metric of the package.
var allMetrics = []struct {
	name  string
	line  bool // in one dimension only
	exact bool // between equal numbers of points only
	slow  bool // minutes under the race detector where there is more than one dimension
	value func(x, y Cloud) (float64, error)
}{
	{"Sinkhorn", false, false, false, func(x, y Cloud) (float64, error) { return Sinkhorn(x, y, Options{}) }},
	{"SinkhornConverged", false, false, true, func(x, y Cloud) (float64, error) {
		c, err := SinkhornConverged(x, y, ConvergedOptions{})
		return c.Value, err
	}},
	{"SlicedW2", false, false, false, func(x, y Cloud) (float64, error) { return SlicedW2(x, y, 16, 0) }},
	{"EnergyDistance", false, false, false, func(x, y Cloud) (float64, error) { return EnergyDistance(x, y, 16, 0) }},
	{"MarginalW2", false, false, false, func(x, y Cloud) (float64, error) { // root of the sum of squares
		marginals, err := MarginalW2(x, y)
		var square float64
		for _, m := range marginals {
			square += m * m
		}
		return math.Sqrt(square), err
	}},
	{"W2Assignment", false, true, false, W2Assignment},
	{"W2", true, false, false, func(x, y Cloud) (float64, error) { return W2(x.X, y.X) }},
	{"KS", true, false, false, func(x, y Cloud) (float64, error) {
		statistic, p, err := KS(x.X, y.X)
		if !(p >= 0 && p <= 1) {
			return p, errors.New("p-value outside [0, 1]")
		}
		return statistic, err
	}},
}

// points is a cloud of n points that all lie at the same coordinates.
func points(n int, coordinates ...float32) Cloud {
	c := Cloud{N: n, D: len(coordinates)}
	for range n {
		c.X = append(c.X, coordinates...)
	}
	return c
}

// Every metric refuses clouds that have no distance, and says which cloud, and which
// point of it, is wrong.
func TestEveryMetricRefuses(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	good := points(3, 1)
	for _, tt := range []struct {
		name string
		x, y Cloud
		want error
		says string
		line bool // a metric on the line sees it, too
	}{
		{"first empty", Line(nil), good, ErrEmpty, "first cloud", true},
		{"second empty", good, Line(nil), ErrEmpty, "second cloud", true},
		{"NaN", good, Line([]float32{0, 1, nan}), ErrNonFinite, "second cloud: point 2, coordinate 0", true},
		{"infinite", Line([]float32{0, inf, 1}), good, ErrNonFinite, "first cloud: point 1, coordinate 0", true},
		{"infinite in the plane", points(2, 1, 2), Cloud{N: 2, D: 2, X: []float32{0, 1, 2, -inf}}, ErrNonFinite, "second cloud: point 1, coordinate 1", false},
		{"no dimension", Cloud{N: 3}, Cloud{N: 3}, ErrShape, "dimension 0", false},
		{"65 dimensions", points(1, make([]float32, 65)...), points(1, make([]float32, 65)...), ErrShape, "dimension 65", false},
		{"other dimension", good, points(3, 1, 2), ErrShape, "1 and in 2", false},
		{"negative size", Cloud{N: -1, D: 1}, good, ErrShape, "-1 points", false},
		{"product overflows", Cloud{N: math.MaxInt/2 + 1, D: 2}, good, ErrShape, "points are outside", false},
		{"too few coordinates", Cloud{N: 3, D: 2, X: make([]float32, 5)}, points(3, 1, 2), ErrShape, "5 coordinates", false},
	} {
		for _, m := range allMetrics {
			if m.line && !tt.line {
				continue
			}
			value, err := m.value(tt.x, tt.y)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s, %s: %v, error %v, want %v saying %q", m.name, tt.name, value, err, tt.want, tt.says)
			}
		}
	}
}

// Degenerate clouds have known distances: |a − b| between atoms, its half square
// as a Sinkhorn divergence, 1 or 0 as a Kolmogorov–Smirnov statistic, whatever
// the numbers of points and however far apart or out they are.
func TestEveryMetricOfAtoms(t *testing.T) {
	for _, tt := range []struct {
		name string
		n, m int
		a, b float32
	}{
		{"one point each", 1, 1, 0, 3},
		{"the same point", 1, 1, 2, 2},
		{"identical points", 5, 5, 7, 7},
		{"different sizes", 1, 7, -1, 1},
		{"other different sizes", 6, 4, 0, 0.5},
		{"a million apart", 4, 4, 0, 1e6},
		{"a million out", 4, 4, 1e6, 1e6 + 0.25},
		{"closer than blur", 3, 3, 0, 1e-3},
		{"least of float32", 2, 2, 0, math.SmallestNonzeroFloat32},
		{"largest of float32", 2, 2, -math.MaxFloat32, math.MaxFloat32},
	} {
		for _, d := range []int{1, 2, 3} {
			x, y := make([]float32, d), make([]float32, d)
			for k := range d {
				x[k], y[k] = tt.a, tt.b
			}
			distance := math.Abs(float64(tt.a)-float64(tt.b)) * math.Sqrt(float64(d))
			for _, metric := range allMetrics {
				if metric.line && d > 1 || metric.exact && tt.n != tt.m {
					continue
				}
				want := distance
				switch metric.name {
				case "Sinkhorn", "SinkhornConverged":
					want = distance * distance / 2
				case "KS":
					want = 0
					if tt.a != tt.b {
						want = 1
					}
				case "SlicedW2", "EnergyDistance": // E⟨θ, v⟩² = |v|²/d, but over sixteen directions
					if d > 1 {
						continue
					}
					if metric.name == "EnergyDistance" {
						want *= 2
					}
				}
				got, err := metric.value(points(tt.n, x...), points(tt.m, y...))
				if err != nil || !(math.Abs(got-want) <= 1e-6*want+1e-28) {
					t.Errorf("%s in %dD, %s: %v (%v), want %v", tt.name, d, metric.name, got, err, want)
				}
			}
		}
	}
}

// Far from the origin clouds have the distances that they have at the origin, and
// that of a translation is known: only float32 coordinates lose digits.
func TestEveryMetricIgnoresTranslation(t *testing.T) {
	const offset = 1 << 20
	for _, d := range []int{1, 2, 3} {
		x := goldenCloud{Kind: "modes", N: 70, D: d, Seed: 91, Parameters: []float64{0.4, -2, 2, 0.7}}.cloud(t)
		y := goldenCloud{Kind: "normal", N: 70, D: d, Seed: 92, Parameters: []float64{0.5, 1}}.cloud(t)
		far := func(c Cloud, by float32) Cloud {
			moved := Cloud{c.N, c.D, make([]float32, len(c.X))}
			for i, v := range c.X {
				c.X[i] = float32(math.Round(float64(v)*8) / 8) // to a grid that the move does not leave
				moved.X[i] = c.X[i] + by
			}
			return moved
		}
		farX, farY := far(x, offset), far(y, offset)
		for _, m := range allMetrics {
			if d > 1 && (m.line || testing.Short() && m.slow) {
				continue
			}
			want, err := m.value(x, y)
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.value(farX, farY)
			if err != nil || !(math.Abs(got-want) <= 1e-6*want) {
				t.Errorf("%dD, %s: %v a million out (%v), %v at the origin", d, m.name, got, err, want)
			}
			if m.name == "KS" || m.name == "SlicedW2" || m.name == "EnergyDistance" {
				continue
			}
			want = offset * math.Sqrt(float64(d))
			if strings.HasPrefix(m.name, "Sinkhorn") {
				want *= want / 2
			}
			got, err = m.value(x, farX)
			if err != nil || !(math.Abs(got-want) <= 1e-6*want) {
				t.Errorf("%dD, %s: %v to itself a million away (%v), want %v", d, m.name, got, err, want)
			}
		}
	}
}

// A heavy-tailed cloud is at distance 0 from itself; two are at a finite distance,
// which is positive except for the Sinkhorn divergence of a schedule that stops early.
func TestEveryMetricOfHeavyTails(t *testing.T) {
	for _, d := range []int{1, 2, 3} {
		x := goldenCloud{Kind: "ratio", N: 90, D: d, Seed: 93, Parameters: []float64{1}}.cloud(t)
		y := goldenCloud{Kind: "ratio", N: 90, D: d, Seed: 94, Parameters: []float64{2}}.cloud(t)
		for _, m := range allMetrics {
			if m.line && d > 1 {
				continue
			}
			same, err := m.value(x, x)
			if err != nil || !(math.Abs(same) <= 1e-9) {
				t.Errorf("%dD, %s: %v from itself (%v)", d, m.name, same, err)
			}
			got, err := m.value(x, y)
			if err != nil || math.IsNaN(got) || math.IsInf(got, 0) || got <= 0 && m.name != "Sinkhorn" {
				t.Errorf("%dD, %s: %v (%v)", d, m.name, got, err)
			}
		}
	}
}

// Options outside their range are errors. At the ends of it values are known: to a
// huge blur, only the means differ.
func TestOptions(t *testing.T) {
	x := goldenCloud{Kind: "normal", N: 100, D: 2, Seed: 95, Parameters: []float64{0, 1}}.cloud(t)
	y := goldenCloud{Kind: "normal", N: 80, D: 2, Seed: 96, Parameters: []float64{1, 1}}.cloud(t)
	for _, o := range []Options{
		{Blur: -0.05}, {Blur: math.NaN()}, {Blur: math.Inf(1)}, {Blur: 1e18}, {Blur: 1e-18}, {Blur: 1e-200},
		{Scaling: -0.5}, {Scaling: 1}, {Scaling: 2}, {Scaling: math.NaN()}, {Scaling: math.Nextafter(1, 0)},
	} {
		_, err := Sinkhorn(x, y, o)
		check(t, "Sinkhorn", err, ErrOption)
	}
	for _, o := range []ConvergedOptions{{Blur: -1}, {Tolerance: -1}, {Tolerance: math.NaN()}, {MaxIterations: -1}} {
		_, err := SinkhornConverged(x, y, o)
		check(t, "SinkhornConverged", err, ErrOption)
	}
	for _, n := range []int{-1, 1 << 30} {
		_, err := SlicedW2(x, y, n, 0)
		check(t, "SlicedW2", err, ErrOption)
		_, err = EnergyDistance(x, y, n, 0)
		check(t, "EnergyDistance", err, ErrOption)
	}
	var shift [2]float64
	for i, v := range x.X {
		shift[i%2] += float64(v) / float64(x.N)
	}
	for i, v := range y.X {
		shift[i%2] -= float64(v) / float64(y.N)
	}
	want := (sq(shift[0]) + sq(shift[1])) / 2
	for _, o := range []Options{{Blur: 1e3}, {Blur: 1e3, Scaling: 1e-9}, {Blur: 1e5, Scaling: 0.999}, {Blur: 1e9}} {
		got, err := Sinkhorn(x, y, o)
		if err != nil || !(math.Abs(got-want) <= 1e-4*want) {
			t.Errorf("%+v: %v (%v), half the square of the means' difference is %v", o, got, err, want)
		}
	}
}

func check(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want one that is %q", what, err, want)
	}
}
