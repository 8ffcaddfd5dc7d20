package assignment

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// The costs that SciPy finds, on clouds of every kind. (POT's are in the file
// too; they are larger by half and more with a point 1e15 out.)
func TestCostEqualsSciPy(t *testing.T) {
	bytes, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Kind       string
			N, D       int
			Seed       uint64
			SciPy, POT float64
		}
	}
	if err := json.Unmarshal(bytes, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) < 7*len(cloudKinds) {
		t.Fatalf("%d cases", len(golden.Cases))
	}
	var s Solver
	for _, c := range golden.Cases {
		x, y := clouds(c.Kind, c.N, c.D, c.Seed)
		_, got := solve(t, &s, x, y, c.D)
		if !(math.Abs(got-c.SciPy) <= 1e-6*c.SciPy) {
			t.Errorf("%s, %d points in %d dimensions: cost %.12g, SciPy %.12g", c.Kind, c.N, c.D, got, c.SciPy)
		}
		if c.Kind != "outlier" && !(math.Abs(got-c.POT) <= 1e-6*c.POT) {
			t.Errorf("%s, %d points in %d dimensions: cost %.12g, POT %.12g", c.Kind, c.N, c.D, got, c.POT)
		}
	}
}
