package probe_test

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
)

var driftColumns = []int{2, 3}

// rowsOf are trajectories of an equation.
func rowsOf(t *testing.T, p sde.Plane, sensors int) []float32 {
	t.Helper()
	c := probe.Config{Kind: probe.Trajectory, Sensors: sensors, Steps: 20, DT: 0.01}
	rows := make([]float32, c.Size())
	if err := c.Fill(rows, p, 1, "nodes", 0); err != nil {
		t.Fatal(err)
	}
	return rows
}

// A coefficient that is linear in x and y is found by a few sensors, everywhere.
func TestNodesOfLinearDrift(t *testing.T) {
	grid := sde.Grid{Lo: -2, Hi: 2, N: 9}
	p := sde.Plane{X: grid, Y: grid, Diffusion: []float32{0.5}}
	for j := range grid.N {
		for i := range grid.N {
			x, y := grid.At(i), grid.At(j)
			p.Drift = append(p.Drift, float32(1-x+0.5*y), float32(-0.5-2*y))
		}
	}
	nodes, err := probe.NewNodes(grid)
	if err != nil {
		t.Fatal(err)
	}
	found, err := nodes.Fit(rowsOf(t, p, 8), []int{2, 3, 4})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Nodes() {
		for k, want := range []float32{p.Drift[2*i], p.Drift[2*i+1], 0.5} {
			if got := found[3*i+k]; !(math.Abs(float64(got-want)) < 1e-3) {
				t.Errorf("node %d, column %d: %g, want %g", i, k, got, want)
			}
		}
	}
}

// More sensors find the drift of cn2d where its law is, |x| < 2.5, more exactly; of deviation
// 1, 256 find it to a hundredth.
func TestNodesOfRandomFields(t *testing.T) {
	f, err := family.ByName("cn2d")
	if err != nil {
		t.Fatal(err)
	}
	last := math.Inf(1)
	for _, sensors := range []int{16, 64, 256} {
		var sum, count float64
		for i := range 8 {
			function, err := f.Function(1, i)
			if err != nil {
				t.Fatal(err)
			}
			p := function.System.(sde.Plane)
			nodes, err := probe.NewNodes(p.X)
			if err != nil {
				t.Fatal(err)
			}
			found, err := nodes.Fit(rowsOf(t, p, sensors), driftColumns)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range found {
				if node := k / 2; math.Hypot(p.X.At(node%p.X.N), p.Y.At(node/p.X.N)) < 2.5 {
					sum += math.Pow(float64(v-p.Drift[k]), 2)
					count++
				}
			}
		}
		rms := math.Sqrt(sum / count)
		if !(rms < last/2) {
			t.Errorf("%d sensors: an error of %g, that of fewer is %g", sensors, rms, last)
		}
		last = rms
	}
	if !(last < 0.01) {
		t.Errorf("the error with 256 sensors is %g", last)
	}
}

// One row alone does not determine a plane: the coefficient is that row's, and finite.
func TestNodesOfOneRow(t *testing.T) {
	nodes, err := probe.NewNodes(sde.Grid{Lo: -1, Hi: 1, N: 5})
	if err != nil {
		t.Fatal(err)
	}
	found, err := nodes.Fit([]float32{0, 0, 3, -1, 1, 0, 0, 1}, driftColumns)
	if err != nil {
		t.Fatal(err)
	}
	if at := 2 * (2*5 + 2); !(math.Abs(float64(found[at]-3)) < 1e-3 && math.Abs(float64(found[at+1]+1)) < 1e-3) {
		t.Errorf("at the row: %v", found[at:at+2])
	}
	for k, v := range found {
		if v != v || math.Abs(float64(v)) > 100 {
			t.Errorf("value %d is %g", k, v)
		}
	}
}
