package metrics

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
)

func TestSinkhornEqualsGeomLoss(t *testing.T) {
	for _, c := range readGolden(t).Cases {
		if testing.Short() && (c.Scaling > 0.5 || c.X.N*c.X.D > 2000) {
			continue // more steps and more points: minutes under the race detector, and nothing new
		}
		t.Run(fmt.Sprintf("%s/blur=%g/scaling=%g", c.Name, c.Blur, c.Scaling), func(t *testing.T) {
			x, y := c.X.cloud(t), c.Y.cloud(t)
			got, err := Sinkhorn(x, y, Options{Blur: c.Blur, Scaling: c.Scaling})
			if err != nil {
				t.Fatal(err)
			}
			relative := math.Abs(got-c.Value) / math.Abs(c.Value)
			t.Logf("%.12g, GeomLoss %.12g, relative difference %.1e", got, c.Value, relative)
			if !(relative <= 1e-6) {
				t.Errorf("%.12g, GeomLoss %.12g, relative difference %.1e", got, c.Value, relative)
			}
		})
	}
}

func BenchmarkSinkhorn(b *testing.B) {
	for _, c := range readGolden(b).Cases {
		if c.X.N < 2048 && c.Name != "1D heavy tails" {
			continue
		}
		b.Run(fmt.Sprintf("%s/scaling=%g", c.Name, c.Scaling), func(b *testing.B) {
			x, y := c.X.cloud(b), c.Y.cloud(b)
			for b.Loop() {
				if _, err := Sinkhorn(x, y, Options{Blur: c.Blur, Scaling: c.Scaling}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Degenerate clouds have known values.
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

// Memory is linear in the number of points: four times as many take about four
// times as much, where the matrix of costs would take sixteen times.
func TestSinkhornMemoryIsLinear(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // each goroutine has its scratch memory
	allocated := func(n, d int) float64 {
		x := goldenCloud{Kind: "normal", N: n, D: d, Seed: 141, Parameters: []float64{0, 1}}.cloud(t)
		y := goldenCloud{Kind: "modes", N: n, D: d, Seed: 142, Parameters: []float64{0.4, -2, 2, 0.7}}.cloud(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Sinkhorn(x, y, Options{Scaling: 0.1}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	for _, d := range []int{1, 2, 3} {
		few, many := allocated(700, d), allocated(2800, d)
		if !(many <= 7*few) {
			t.Errorf("%dD: %.0f bytes for 700 points, %.0f for 2,800", d, few, many)
		}
	}
}
