package ondevice

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

func opened(t *testing.T, b *backend.Backend) *Sinkhorn {
	t.Helper()
	s := NewSinkhorn(b)
	t.Cleanup(s.Close)
	return s
}

// cloud makes coordinates of pairs of a normal and a uniform number.
func cloud(seed uint64, n, d int, law func(axis int, z, u float64) float64) metrics.Cloud {
	r := random.New(seed, "clouds", 0)
	c := metrics.Cloud{N: n, D: d}
	for range n {
		for k := range d {
			c.X = append(c.X, float32(law(k, r.NormFloat64(), r.Float64())))
		}
	}
	return c
}

func normal(mean, deviation float64) func(int, float64, float64) float64 {
	return func(_ int, z, _ float64) float64 { return mean + deviation*z }
}

// modes are two, at ±3 along the first axis.
func modes(axis int, z, u float64) float64 {
	if axis > 0 {
		return z
	}
	return 0.5*z + math.Copysign(3, u-0.4)
}

func cauchy(_ int, z, u float64) float64 { return z / (u + 1e-3) }

// Values are those of package metrics, to the rounding of float32.
func TestSinkhorn(t *testing.T) {
	atom := func(v float32) metrics.Cloud { return metrics.Cloud{N: 1, D: 2, X: []float32{v, -v}} }
	cases := []struct {
		name    string
		x, y    metrics.Cloud
		options metrics.Options
	}{
		{"line", cloud(1, 100, 1, normal(0, 1)), cloud(2, 77, 1, modes), metrics.Options{}},
		{"plane", cloud(1, 60, 2, normal(0.3, 1)), cloud(2, 64, 2, modes), metrics.Options{}},
		{"space", cloud(1, 50, 3, normal(0, 1)), cloud(2, 33, 3, normal(0.2, 1.3)), metrics.Options{Scaling: 0.8}},
		{"64 dimensions", cloud(1, 9, 64, normal(0, 1)), cloud(2, 17, 64, normal(0.2, 1)), metrics.Options{Blur: 1}},
		{"one point each", atom(0), atom(3), metrics.Options{}},
		{"one point against many", atom(0.5), cloud(2, 40, 2, modes), metrics.Options{}},
		{"least of float32", atom(0), atom(math.SmallestNonzeroFloat32), metrics.Options{}},
		{"largest of float32", atom(-math.MaxFloat32), atom(math.MaxFloat32), metrics.Options{Scaling: 1e-3}},
		{"far out", cloud(1, 70, 2, normal(1e6, 1)), cloud(2, 60, 2, normal(1e6+1, 2)), metrics.Options{}},
		{"far apart", cloud(1, 50, 1, normal(0, 1)), cloud(2, 60, 1, normal(1e6, 1)), metrics.Options{}},
		{"heavy tails", cloud(1, 100, 2, cauchy), cloud(2, 90, 2, cauchy), metrics.Options{}},
		{"an outlier", cloud(1, 80, 1, func(_ int, z, u float64) float64 {
			if u < 0.02 {
				return 1e4
			}
			return z
		}), cloud(2, 80, 1, normal(0.5, 1)), metrics.Options{}},
		{"narrow blur", cloud(1, 50, 2, normal(0, 1)), cloud(2, 60, 2, modes), metrics.Options{Blur: 1e-4}},
		{"blur of nothing", cloud(1, 30, 1, normal(0, 1)), cloud(2, 20, 1, modes), metrics.Options{Blur: 1e-17, Scaling: 0.01}},
		{"blur like the diameter", cloud(1, 50, 2, normal(0, 1)), cloud(2, 60, 2, normal(0.5, 1)), metrics.Options{Blur: 8}},
		{"wide blur", cloud(1, 50, 2, normal(0, 1)), cloud(2, 60, 2, normal(0.5, 1)), metrics.Options{Blur: 30}},
		{"blur without end", cloud(1, 50, 2, normal(0, 1)), cloud(2, 60, 2, normal(0.5, 1)), metrics.Options{Blur: 9e17}},
		{"two draws of one law", cloud(1, 100, 2, normal(0, 1)), cloud(2, 100, 2, normal(0, 1)), metrics.Options{}},
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		s := opened(t, b)
		for _, tt := range cases {
			want, err := metrics.Sinkhorn(tt.x, tt.y, tt.options)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Divergence(context.Background(), tt.x, tt.y, tt.options)
			t.Logf("%s: %.9g, on the processor %.9g, relative difference %.1e", tt.name, got, want, (got-want)/want)
			if err != nil || !(math.Abs(got-want) <= 3e-5*want) {
				t.Errorf("%s: %.9g, on the processor %.9g, error %v", tt.name, got, want, err)
			}
		}
	})
}

// Identical clouds are at distance 0, to the last bit; blocks give the value of whole
// arrays.
func TestBlocks(t *testing.T) {
	x, y := cloud(1, 50, 2, modes), cloud(2, 19, 2, normal(0, 1))
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		whole := opened(t, b)
		want, err := whole.Divergence(context.Background(), x, y, metrics.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, terms := range []int{1, 100, 700} {
			s := opened(t, b)
			s.terms = terms
			got, err := s.Divergence(context.Background(), x, y, metrics.Options{})
			if err != nil || !(math.Abs(got-want) <= 1e-5*want) {
				t.Errorf("in blocks of %d terms: %v, at once %v, error %v", terms, got, want, err)
			}
			if got, err := s.Divergence(context.Background(), x, x, metrics.Options{}); got != 0 || err != nil {
				t.Errorf("in blocks of %d terms: %v from itself, error %v", terms, got, err)
			}
		}
	})
}

// Clouds of sizes with the same power of two share their programs.
func TestProgramsAreKept(t *testing.T) {
	s := opened(t, backendtest.Fast(t))
	for n := 17; n <= 32; n += 5 {
		if _, err := s.Divergence(context.Background(), cloud(1, n, 1, modes), cloud(2, 20, 1, modes), metrics.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.softmins) != 1 || len(s.joins) != 0 {
		t.Errorf("%d and %d programs, want one", len(s.softmins), len(s.joins))
	}
}

// Inputs that metrics.Sinkhorn rejects are errors here, with the same reason.
func TestSinkhornRefuses(t *testing.T) {
	s := opened(t, backendtest.Fast(t))
	good := cloud(1, 3, 1, modes)
	nan := metrics.Line([]float32{0, float32(math.NaN())})
	for _, tt := range []struct {
		name    string
		x, y    metrics.Cloud
		options metrics.Options
		want    error
	}{
		{"no points", metrics.Line(nil), good, metrics.Options{}, metrics.ErrEmpty},
		{"NaN", good, nan, metrics.Options{}, metrics.ErrNonFinite},
		{"other dimension", good, cloud(1, 3, 2, modes), metrics.Options{}, metrics.ErrShape},
		{"65 dimensions", cloud(1, 3, 65, modes), cloud(1, 3, 65, modes), metrics.Options{}, metrics.ErrShape},
		{"negative blur", good, good, metrics.Options{Blur: -1}, metrics.ErrOption},
		{"scaling of 1", good, good, metrics.Options{Scaling: 1}, metrics.ErrOption},
		{"endless schedule", good, metrics.Line([]float32{1e9}), metrics.Options{Scaling: 0.9999}, metrics.ErrOption},
	} {
		_, plain := metrics.Sinkhorn(tt.x, tt.y, tt.options)
		_, err := s.Divergence(context.Background(), tt.x, tt.y, tt.options)
		if !errors.Is(err, tt.want) || !errors.Is(plain, tt.want) {
			t.Errorf("%s: error %v, on the processor %v, want %v", tt.name, err, plain, tt.want)
			continue
		}
		reason, _ := strings.CutPrefix(plain.Error(), "sinkhorn divergence: ")
		if want := "sinkhorn divergence on " + s.backend.Name + ": " + reason; err.Error() != want {
			t.Errorf("%s: %q, want %q", tt.name, err, want)
		}
	}
	many := metrics.Line(make([]float32, MaxPoints+1))
	many.X[0] = 1
	if _, err := s.Divergence(context.Background(), many, good, metrics.Options{}); !errors.Is(err, metrics.ErrShape) {
		t.Errorf("%d points: %v", many.N, err)
	}
}

// expiring is a context that is cancelled after so many calls of Err.
type expiring struct {
	context.Context
	left int
}

func (e *expiring) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// A divergence that is cancelled at any point returns the context's error, and the
// next one is right. Neither leaves buffers on the device.
func TestCancellation(t *testing.T) {
	s := opened(t, backendtest.Fast(t))
	x, y := cloud(1, 20, 1, modes), cloud(2, 20, 1, normal(0, 1))
	want, err := s.Divergence(context.Background(), x, y, metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, schedule, err := metrics.Schedule(x, y, metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := backend.LiveBuffers()
	for looks := range len(schedule) + 2 {
		if _, err := s.Divergence(&expiring{context.Background(), looks}, x, y, metrics.Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %d checks: %v", looks, err)
		}
	}
	got, err := s.Divergence(&expiring{context.Background(), len(schedule) + 2}, x, y, metrics.Options{})
	if got != want || err != nil {
		t.Errorf("%v after cancellations, before %v, error %v", got, want, err)
	}
	if now := backend.LiveBuffers(); now != before {
		t.Errorf("%d buffers on the device, before %d", now, before)
	}
}
