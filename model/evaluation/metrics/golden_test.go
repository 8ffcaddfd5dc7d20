package metrics

import (
	"encoding/json"
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
