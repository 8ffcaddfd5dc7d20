package metrics

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// Every metric refuses what has no answer, with an error that callers can tell
// apart.
func TestErrors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	good := Line([]float32{0, 1, 2})
	plane := Cloud{N: 2, D: 2, X: []float32{0, 1, 2, 3}}
	for _, tt := range []struct {
		name string
		x, y Cloud
		want error
	}{
		{"empty", Line(nil), good, ErrEmpty},
		{"empty second", good, Line(nil), ErrEmpty},
		{"NaN", Line([]float32{0, nan}), good, ErrNonFinite},
		{"infinite second", good, Line([]float32{inf}), ErrNonFinite},
		{"dimensions differ", good, plane, ErrShape},
		{"length", Cloud{N: 3, D: 2, X: make([]float32, 5)}, plane, ErrShape},
		{"no dimension", Cloud{N: 3, D: 0}, good, ErrShape},
		{"too many dimensions", Cloud{N: 1, D: 65, X: make([]float32, 65)}, good, ErrShape},
		{"negative size", Cloud{N: -1, D: 1}, good, ErrShape},
		{"product overflows", Cloud{N: math.MaxInt/2 + 1, D: 2}, good, ErrShape},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Sinkhorn(tt.x, tt.y, Options{})
			check(t, "Sinkhorn", err, tt.want)
			_, err = SinkhornConverged(tt.x, tt.y, ConvergedOptions{})
			check(t, "SinkhornConverged", err, tt.want)
			_, err = SlicedW2(tt.x, tt.y, 4, 0)
			check(t, "SlicedW2", err, tt.want)
			if tt.want != ErrShape {
				_, err = W2(tt.x.X, tt.y.X)
				check(t, "W2", err, tt.want)
				_, _, err = KS(tt.x.X, tt.y.X)
				check(t, "KS", err, tt.want)
			}
		})
	}
	for _, o := range []Options{
		{Blur: -1}, {Blur: math.NaN()}, {Blur: math.Inf(1)}, {Blur: 1e-200}, {Scaling: 1}, {Scaling: -0.5},
		{Scaling: math.NaN()}, {Scaling: 1.5}, {Scaling: 0.999999999},
	} {
		_, err := Sinkhorn(good, Line([]float32{5}), o)
		check(t, "Sinkhorn", err, ErrOption)
	}
	for _, o := range []ConvergedOptions{{Blur: -1}, {Tolerance: -1}, {Tolerance: math.NaN()}, {MaxIterations: -1}} {
		_, err := SinkhornConverged(good, good, o)
		check(t, "SinkhornConverged", err, ErrOption)
	}
	for _, n := range []int{-1, 1 << 30} {
		_, err := SlicedW2(plane, plane, n, 0)
		check(t, "SlicedW2", err, ErrOption)
	}
}

func check(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want one that is %q", what, err, want)
	}
}

// Degenerate clouds have right values.
func TestSinkhornOfDegenerateClouds(t *testing.T) {
	repeat := func(v float32, n int) []float32 { return slices.Repeat([]float32{v}, n) }
	for _, tt := range []struct {
		name string
		x, y Cloud
		want float64
	}{
		{"one point each", Line([]float32{1}), Line([]float32{-2}), 4.5},
		{"the same point", Line([]float32{3}), Line([]float32{3}), 0},
		{"identical points", Line(repeat(7, 20)), Line(repeat(7, 30)), 0},
		{"two heaps", Line(repeat(7, 20)), Line(repeat(5, 30)), 2},
		{"two heaps in the plane", Cloud{40, 2, repeat(1, 80)}, Cloud{30, 2, repeat(0, 60)}, 1},
		{"a million apart", Line(repeat(1e6, 100)), Line(repeat(0, 50)), 5e11},
		{"as far as float32 goes", Line([]float32{math.MaxFloat32, math.MaxFloat32}), Line([]float32{-math.MaxFloat32}), 2 * math.MaxFloat32 * math.MaxFloat32},
		{"as far in the plane", Cloud{1, 2, []float32{math.MaxFloat32, math.MaxFloat32}}, Cloud{1, 2, []float32{-math.MaxFloat32, math.MaxFloat32}}, 2 * math.MaxFloat32 * math.MaxFloat32},
		{"below blur", Line([]float32{1e-6}), Line([]float32{0}), 5e-13},
	} {
		got, err := Sinkhorn(tt.x, tt.y, Options{})
		if err != nil || !(math.Abs(got-tt.want) <= 1e-6*tt.want) {
			t.Errorf("%s: Sinkhorn %v (%v), want %v", tt.name, got, err, tt.want)
		}
		converged, err := SinkhornConverged(tt.x, tt.y, ConvergedOptions{})
		if err != nil || !(math.Abs(converged.Value-tt.want) <= 1e-6*tt.want) {
			t.Errorf("%s: SinkhornConverged %+v (%v), want %v", tt.name, converged, err, tt.want)
		}
		w, err := SlicedW2(tt.x, tt.y, 4, 0)
		if err != nil || tt.x.D == 1 && !(math.Abs(w*w/2-tt.want) <= 1e-6*tt.want) {
			t.Errorf("%s: W2 %v (%v), want %v", tt.name, w, err, math.Sqrt(2*tt.want))
		}
	}
}

func TestSinkhornProperties(t *testing.T) {
	for _, d := range []int{1, 2, 5} {
		x := goldenCloud{Kind: "modes", N: 300, D: d, Seed: 1, Parameters: []float64{0.4, -1, 1, 0.5}}.cloud(t)
		y := goldenCloud{Kind: "normal", N: 200, D: d, Seed: 2, Parameters: []float64{0, 1}}.cloud(t)
		value := func(a, b Cloud) float64 {
			s, err := Sinkhorn(a, b, Options{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := value(x, y)
		if self := value(x, x); !(math.Abs(self) <= 1e-9) {
			t.Errorf("S(x, x) = %v in %d dimensions", self, d)
		}
		if back := value(y, x); !(math.Abs(back-s) <= 1e-9*s) {
			t.Errorf("S(y, x) = %v, S(x, y) = %v in %d dimensions", back, s, d)
		}
		reversed := Cloud{x.N, d, nil}
		for i := range x.N {
			reversed.X = append(reversed.X, x.X[(x.N-1-i)*d:(x.N-i)*d]...)
		}
		if r := value(reversed, y); !(math.Abs(r-s) <= 1e-9*s) {
			t.Errorf("%v in another order, %v before, in %d dimensions", r, s, d)
		}
		before := slices.Clone(reversed.X)
		value(reversed, y)
		if !slices.Equal(before, reversed.X) {
			t.Error("Sinkhorn changed its input")
		}
	}
}

func TestW2(t *testing.T) {
	for _, tt := range []struct {
		x, y []float32
		want float64
	}{
		{[]float32{1}, []float32{4}, 3},
		{[]float32{3, 1, 2}, []float32{2, 3, 1}, 0},
		{[]float32{0, 0}, []float32{1, -1}, 1},
		{[]float32{0, 1}, []float32{0, 0, 1, 1}, 0},
		{[]float32{0, 1}, []float32{0, 0.5, 1}, math.Sqrt(1. / 12)}, // ±½ over [⅓, ⅔]
		{[]float32{1e6, 1e6 + 1}, []float32{-1e6, -1e6 + 1}, 2e6},
	} {
		for range 2 {
			got, err := W2(tt.x, tt.y)
			if err != nil || !(math.Abs(got-tt.want) <= 1e-9*(1+tt.want)) {
				t.Errorf("W2(%v, %v) = %v (%v), want %v", tt.x, tt.y, got, err, tt.want)
			}
			tt.x, tt.y = tt.y, tt.x
		}
	}
	// Unequal sizes against copies up to the common multiple.
	x := goldenCloud{Kind: "normal", N: 30, D: 1, Seed: 1, Parameters: []float64{0, 1}}.cloud(t).X
	y := goldenCloud{Kind: "normal", N: 42, D: 1, Seed: 2, Parameters: []float64{1, 2}}.cloud(t).X
	got, _ := W2(x, y)
	want, _ := W2(slices.Repeat(x, 7), slices.Repeat(y, 5))
	if !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("W2 = %v, of repeated samples %v", got, want)
	}
}

// W2 of normal laws is ((m₁−m₂)² + (s₁−s₂)²)^½; samples are quantiles.
func TestW2OfNormals(t *testing.T) {
	normal := func(n int, mean, sd float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(mean + sd*math.Sqrt2*math.Erfinv(2*(float64(i)+0.5)/float64(n)-1))
		}
		return x
	}
	got, err := W2(normal(20000, 0, 1), normal(15000, 2, 3))
	if want := math.Sqrt(4 + 4); err != nil || !(math.Abs(got-want) <= 2e-3) {
		t.Errorf("W2 = %v (%v), want %v", got, err, want)
	}
}

// A translation by s projects to ⟨θ, s⟩, whose mean square is |s|²/D.
func TestSlicedW2OfATranslation(t *testing.T) {
	const d, n = 3, 400
	x := goldenCloud{Kind: "normal", N: 50, D: d, Seed: 1, Parameters: []float64{0, 1}}.cloud(t)
	y := Cloud{x.N, d, slices.Clone(x.X)}
	for i := range y.N {
		y.X[i*d] += 2
	}
	got, err := SlicedW2(x, y, n, 7)
	// ⟨θ, e⟩² has mean 1/3 and variance 4/45.
	if want, sd := 4./3, 4*math.Sqrt(4./45/n); err != nil || !(math.Abs(got*got-want) <= 4*sd) {
		t.Errorf("squared sliced distance %v (%v), want %v ± %v", got*got, err, want, sd)
	}
	again, _ := SlicedW2(x, y, n, 7)
	other, _ := SlicedW2(x, y, n, 8)
	if again != got || other == got {
		t.Errorf("seed 7 gives %v and %v, seed 8 %v", got, again, other)
	}
	line, _ := SlicedW2(Line(x.X), Line(y.X), 1, 0)
	w, _ := W2(x.X, y.X)
	if line != w {
		t.Errorf("on the line %v, W2 %v", line, w)
	}
}

func TestKS(t *testing.T) {
	for _, tt := range []struct {
		x, y []float32
		want float64
	}{
		{[]float32{1, 2, 3}, []float32{1, 2, 3}, 0},
		{[]float32{1, 1, 1}, []float32{1}, 0},
		{[]float32{1, 2}, []float32{3, 4, 5}, 1},
		{[]float32{1, 2, 3, 4}, []float32{2.5}, 0.5},
		{[]float32{1, 3, 5}, []float32{2, 4}, 1. / 3},
	} {
		got, p, err := KS(tt.x, tt.y)
		back, _, _ := KS(tt.y, tt.x)
		if err != nil || !(math.Abs(got-tt.want) <= 1e-15) || back != got || !(p >= 0 && p <= 1) {
			t.Errorf("KS(%v, %v) = %v, p = %v (%v), want %v", tt.x, tt.y, got, p, err, tt.want)
		}
	}
}

// Critical values of the Kolmogorov law (Smirnov 1948), and both series where
// they meet.
func TestKolmogorov(t *testing.T) {
	const n = 1e12 // Stephens' correction vanishes
	for lambda, want := range map[float64]float64{
		0.3: 0.99999069, 0.5: 0.9639452436648751, 0.82757: 0.5, 1: 0.26999967167735456, 1.17999: 0.12345963, 1.18001: 0.12344799, 1.35810: 0.05, 1.62762: 0.01, 1.94947: 0.001,
	} {
		if got := kolmogorov(lambda/math.Sqrt(n), n); !(math.Abs(got-want) <= 2e-5*max(want, 0.05)) {
			t.Errorf("Q(%v) = %v, want %v", lambda, got, want)
		}
	}
	if p := kolmogorov(0, 10); p != 1 {
		t.Errorf("p = %v at statistic 0", p)
	}
	if p := kolmogorov(1, 1e9); p != 0 {
		t.Errorf("p = %v at statistic 1 of a huge sample", p)
	}
}

// Under the null hypothesis p-values are uniform: at 5 % about 5 % are rejected.
func TestKSRejectsAtItsLevel(t *testing.T) {
	const pairs = 400
	rejected := 0
	for i := range pairs {
		x := goldenCloud{Kind: "uniform", N: 150, D: 1, Seed: uint64(1000 + i), Parameters: []float64{0, 1}}.cloud(t).X
		y := goldenCloud{Kind: "uniform", N: 100, D: 1, Seed: uint64(5000 + i), Parameters: []float64{0, 1}}.cloud(t).X
		if _, p, _ := KS(x, y); p < 0.05 {
			rejected++
		}
	}
	if rejected < 5 || rejected > 37 { // 20 expected, standard deviation 4.4
		t.Errorf("%d of %d are rejected", rejected, pairs)
	}
}

// A line in space keeps its distances: the methods for the line, the plane and
// more dimensions agree on it.
func TestSinkhornOfAnEmbeddedLine(t *testing.T) {
	x := goldenCloud{Kind: "modes", N: 1200, D: 1, Seed: 81, Parameters: []float64{0.4, -2, 2, 0.3}}.cloud(t)
	y := goldenCloud{Kind: "ratio", N: 900, D: 1, Seed: 82, Parameters: []float64{0.05}}.cloud(t)
	want, err := Sinkhorn(x, y, Options{})
	if err != nil {
		t.Fatal(err)
	}
	embed := func(c Cloud, d, axis int) Cloud {
		e := Cloud{c.N, d, make([]float32, c.N*d)}
		for i, v := range c.X {
			e.X[i*d+axis] = v
		}
		return e
	}
	for _, space := range [][2]int{{2, 0}, {2, 1}, {3, 2}} {
		got, err := Sinkhorn(embed(x, space[0], space[1]), embed(y, space[0], space[1]), Options{})
		if err != nil || !(math.Abs(got-want) <= 2e-6*math.Abs(want)) {
			t.Errorf("axis %d of %d: %v (%v), on the line %v", space[1], space[0], got, err, want)
		}
	}
}
