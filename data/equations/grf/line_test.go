package grf

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
)

// The embedding's eigenvalues carry the kernel: Σₖ λₖ/m·cos(2πkj/m) = k(j·h) at
// every distance on the grid.
func TestEmbeddingIsExact(t *testing.T) {
	for _, c := range []struct {
		nodes            int
		spacing          float64
		length, variance float64
	}{{64, 10. / 63, 1, 1}, {256, 10. / 255, 1, 1}, {64, 10. / 63, 0.1, 3}, {64, 10. / 63, 5, 1}, {2, 1, 1, 1}, {33, 0.31, 0.3, 0.25}} {
		kernel := SquaredExponential(c.length, c.variance)
		field, err := NewLine(c.nodes, c.spacing, kernel)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		spectrum := make([]complex128, len(field.scale))
		for k, s := range field.scale {
			spectrum[k] = complex(s*s, 0)
		}
		_, defect := clip(embed(len(field.scale), c.spacing, kernel))
		covariance := fourier.NewCmplxFFT(len(spectrum)).Coefficients(nil, spectrum)
		for j := range c.nodes {
			want := kernel(float64(j) * c.spacing)
			if got := real(covariance[j]); !(math.Abs(got-want) <= 1e-13*c.variance+defect) {
				t.Errorf("%+v: covariance at distance %d is %v, want %v", c, j, got, want)
			}
		}
		if !(defect <= maxDefect*c.variance) {
			t.Errorf("%+v: defect %v", c, defect)
		}
	}
}

func TestCovariance(t *testing.T) {
	const nodes, spacing = 16, 10. / 63
	kernel := SquaredExponential(1, 1)
	field, err := NewLine(nodes, spacing, kernel)
	if err != nil {
		t.Fatal(err)
	}
	checkCovariance(t, 20000, nodes, field.Pair, func(i, j int) float64 { return kernel(float64(i-j) * spacing) })
}

// checkCovariance tests that every covariance within and between the two
// fields of draws pairs is within 5 standard errors of the kernel's (of zero),
// the mean of all squared deviations near 1 standard error.
func checkCovariance(
	t *testing.T, draws, nodes int, pair func(first, second []float64, rng *rand.Rand), kernel func(i, j int) float64,
) {
	rng := rand.New(rand.NewPCG(1, 2))
	sums := make([]float64, 2*nodes*2*nodes)
	values := make([]float64, 2*nodes)
	for range draws {
		pair(values[:nodes], values[nodes:], rng)
		for i, a := range values {
			row := sums[2*nodes*i:]
			for j, b := range values[:i+1] {
				row[j] += a * b
			}
		}
	}
	var chi float64
	for i := range 2 * nodes {
		for j := range i + 1 {
			var want float64
			if i/nodes == j/nodes {
				want = kernel(i%nodes, j%nodes)
			}
			got := sums[2*nodes*i+j] / float64(draws)
			// Var(ab) = 1 + k² for standard normals of covariance k.
			z := (got - want) / math.Sqrt((1+want*want)/float64(draws))
			if !(math.Abs(z) <= 5) {
				t.Errorf("covariance of %d and %d is %.4f, %.1f standard errors from %.4f", i, j, got, z, want)
			}
			chi += z * z
		}
	}
	// Entries are strongly correlated, so this mean spreads widely around 1.
	if mean := chi / float64(nodes*(2*nodes+1)); !(mean <= 2.5) {
		t.Errorf("mean squared deviation is %.2f squared standard errors", mean)
	}
}

func TestRefusals(t *testing.T) {
	if _, err := NewLine(1, 1, SquaredExponential(1, 1)); err == nil {
		t.Error("one node is accepted")
	}
	for _, spacing := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := NewLine(8, spacing, SquaredExponential(1, 1)); err == nil {
			t.Errorf("spacing %v is accepted", spacing)
		}
	}
	for name, kernel := range map[string]Kernel{
		"box":      func(r float64) float64 { return max(0, math.Copysign(1, 3.5-r)) }, // its transform, a sinc, changes sign
		"constant": SquaredExponential(1e6, 1),                                         // longer than any embedding
	} {
		if _, err := NewLine(64, 1, kernel); !errors.Is(err, ErrNotPositive) {
			t.Errorf("%s kernel: %v, want ErrNotPositive", name, err)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
	for name, kernel := range map[string]Kernel{
		"NaN": func(float64) float64 { return math.NaN() }, "zero": SquaredExponential(1, 0), "infinite": SquaredExponential(1, math.Inf(1)),
	} {
		if _, err := NewLine(8, 1, kernel); err == nil {
			t.Errorf("%s kernel is accepted", name)
		}
	}
}

// The work space is shared safely: concurrent draws equal serial ones.
func TestConcurrentDraws(t *testing.T) {
	field, err := NewLine(64, 0.1, SquaredExponential(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	draw := func(i int) []float64 {
		out := make([]float64, 128)
		field.Pair(out[:64], out[64:], rand.New(rand.NewPCG(uint64(i), 0)))
		return out
	}
	results := make(chan struct {
		i      int
		values []float64
	})
	const n = 64
	for i := range n {
		go func() {
			results <- struct {
				i      int
				values []float64
			}{i, draw(i)}
		}()
	}
	for range n {
		r := <-results
		if !slices.Equal(r.values, draw(r.i)) {
			t.Errorf("draw %d differs when made concurrently", r.i)
		}
	}
}

func BenchmarkPair(b *testing.B) {
	field, err := NewLine(64, 10./63, SquaredExponential(1, 1))
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	first, second := make([]float64, 64), make([]float64, 64)
	b.ReportAllocs()
	for range b.N {
		field.Pair(first, second, rng)
	}
}
