package metrics

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
)

// golden is the file that docs/benchmarks/geomloss_golden.py writes.
type golden struct {
	GeomLoss string
	Cases    []goldenCase
}

type goldenCase struct {
	Name                 string
	X, Y                 goldenCloud
	Blur, Scaling, Value float64
}

type goldenCloud struct {
	Kind       string
	N, D       int
	Seed       uint64
	Parameters []float64
}

// uniform and bell repeat the script's arithmetic bit for bit.
func (g goldenCloud) uniform(index, k int) float64 {
	z := g.Seed<<32 + uint64(index)*16 + uint64(k)
	z = z*0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	return float64(z>>11) * 0x1p-53
}

func (g goldenCloud) bell(index int) float64 {
	var total float64
	for k := range 12 {
		total += g.uniform(index, k)
	}
	return total - 6
}

func (g goldenCloud) cloud(t testing.TB) Cloud {
	p := g.Parameters
	c := Cloud{N: g.N, D: g.D, X: make([]float32, g.N*g.D)}
	for i := range g.N {
		for axis := range g.D {
			weight, index := 0.25, i*g.D+axis
			if axis == 0 {
				weight = 1
			}
			var v float64 // float64(a*b) keeps the compiler from fusing products into sums
			switch g.Kind {
			case "normal":
				v = float64(p[0]*weight) + float64(p[1]*g.bell(index))
			case "modes":
				centre := p[2]
				if g.uniform(i*g.D, 12) < p[0] {
					centre = p[1]
				}
				v = float64(centre*weight) + float64(p[3]*g.bell(index))
			case "uniform":
				v = float64(p[0]*weight) + float64((p[1]-p[0])*g.uniform(index, 0))
			case "ratio":
				v = float64(p[0]*g.bell(index)) / (g.uniform(index, 12) + 0.001)
			default:
				t.Fatalf("unknown kind %q", g.Kind)
			}
			c.X[index] = float32(v)
		}
	}
	return c
}

func readGolden(t testing.TB) golden {
	bytes, err := os.ReadFile("testdata/geomloss.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(bytes, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Cases) < 20 {
		t.Fatalf("%d cases", len(g.Cases))
	}
	return g
}

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
