package metrics

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/internal/testclouds"
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

// goldenCloud is a law whose points are a Cloud.
type goldenCloud testclouds.Law

func (g goldenCloud) cloud(testing.TB) Cloud {
	return Cloud{N: g.N, D: g.D, X: testclouds.Law(g).Points()}
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
