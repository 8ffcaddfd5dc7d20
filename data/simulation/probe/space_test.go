package probe

import (
	"errors"
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// inBox is an equation by formulas, in a box that differs by coordinate.
func inBox(t *testing.T, dim int, drift, diffusion string) sde.Space {
	t.Helper()
	space := expressiontest.Space(t, dim, drift, diffusion)
	for k := range dim {
		space.Box[k] = sde.Interval{Lo: float64(k), Hi: float64(k + 2)}
	}
	return space
}

// Rows are the state and the coefficients there. Without noise the next row is an Euler step on, and
// starts are uniform in the box.
func TestPaths(t *testing.T) {
	const dim = 20 // more than a window of normals
	c := Config{Kind: Path, Sensors: 200, Steps: 4, DT: 0.01, Dim: dim, Terms: dim}
	s := inBox(t, dim, "-x[i]*norm(x)/5 + x[(i+1) % dim]", "0*x")
	rows := fill(t, c, s, 3)
	features := c.Features()
	if features != 3*dim {
		t.Fatalf("%d features", features)
	}
	var mean, square [dim]float64
	for at := 0; at < len(rows); at += features {
		x, b, sigma := rows[at:][:dim], rows[at+dim:][:dim], rows[at+2*dim:][:dim]
		norm := 0.
		for _, v := range x {
			norm += float64(v) * float64(v)
		}
		step := at / features % c.Steps
		for i := range dim {
			want := -float64(x[i])*math.Sqrt(norm)/5 + float64(x[(i+1)%dim])
			if math.Abs(float64(b[i])-want) > 1e-3*(1+math.Abs(want)) || sigma[i] != 0 {
				t.Fatalf("drift %v, want %v; diffusion %v", b[i], want, sigma[i])
			}
			if step+1 < c.Steps {
				next, want := float64(rows[at+features+i]), float64(x[i])+0.01*float64(b[i])
				if math.Abs(next-want) > 1e-4*(1+math.Abs(want)) {
					t.Fatalf("x[%d] goes to %v, want %v", i, next, want)
				}
			}
			if step == 0 {
				u := (float64(x[i]) - s.Box[i].Lo) / 2
				if u < 0 || u >= 1 {
					t.Fatalf("a path starts at %v, outside the box", x[i])
				}
				mean[i] += u / float64(c.Sensors)
				square[i] += u * u / float64(c.Sensors)
			}
		}
	}
	for i := range dim {
		if math.Abs(mean[i]-0.5) > 0.1 || math.Abs(square[i]-1./3) > 0.1 {
			t.Errorf("starts of x[%d] have the mean %v and mean square %v of uniform numbers", i, mean[i], square[i])
		}
	}
	rows = rows[:4*features]
	for at := range rows {
		rows[at] = float32(at%features) + 1 // the middle of the box
	}
	rows[features+1] = 0.81 // within a tenth of the width
	rows[2*features+3] = 5.21
	if out := c.OutOfRange(rows, s); math.Abs(out-0.25/dim) > 1e-9 {
		t.Errorf("%v of the rows are out of range, want one coordinate of four rows", out)
	}
}

// Noise has its law, also through a full matrix, and the first sensors are the same for any number.
func TestNoiseOfPaths(t *testing.T) {
	c := Config{Kind: Path, Sensors: 5000, Steps: 2, DT: 0.25, Dim: 2, Terms: 4}
	s := inBox(t, 2, "0*x", "1")
	s.Terms = 4
	full := []float64{1, 2, -1, 0.5}
	s.Bind = func(_ string, x []*[sde.Lanes]float64) (func(int), []*[sde.Lanes]float64, []*[sde.Lanes]float64) {
		drift, diffusion := []*[sde.Lanes]float64{{}, {}}, []*[sde.Lanes]float64{{}, {}, {}, {}}
		for k, v := range full {
			for l := range diffusion[k] {
				diffusion[k][l] = v
			}
		}
		return func(int) {}, drift, diffusion
	}
	rows := fill(t, c, s, 1)
	var sum [4]float64
	for at := 0; at < len(rows); at += 16 {
		dx, dy := float64(rows[at+8]-rows[at]), float64(rows[at+9]-rows[at+1])
		for k, v := range []float64{dx * dx, dx * dy, dy * dx, dy * dy} {
			sum[k] += v / float64(c.Sensors) / c.DT
		}
	}
	for k, want := range sde.Spread(full, 2) {
		if math.Abs(sum[k]-want) > 0.3 {
			t.Errorf("covariance %d of the noise is %v, want %v", k, sum[k], want)
		}
	}
	few := c
	few.Sensors = 70
	for i, v := range fill(t, few, s, 1) {
		if v != rows[i] {
			t.Fatal("the first sensors depend on the number of all")
		}
	}
}

func TestPathsRefuse(t *testing.T) {
	c := Config{Kind: Path, Sensors: 3, Steps: 2, DT: 0.01, Dim: 3, Terms: 1}
	dst := make([]float32, c.Size())
	if err := c.Fill(dst, inBox(t, 2, "-x", "1"), 1, "test", 0); !errors.Is(err, ErrSystem) {
		t.Error(err)
	}
	if err := c.Fill(dst, plane(swirl, 1, ones), 1, "test", 0); !errors.Is(err, ErrSystem) {
		t.Error(err)
	}
	if err := c.Fill(dst, inBox(t, 3, "log(x - 100)", "1"), 1, "test", 0); !errors.Is(err, ErrDiverged) {
		t.Error(err)
	}
}

// Paths on a circle go on where its states begin again, and are never out of range. Other domains with
// ends are refused: a step would lead out.
func TestPathsOnACircle(t *testing.T) {
	c := Config{Kind: Path, Sensors: 100, Steps: 20, DT: 0.01, Dim: 1, Terms: 1}
	s := inBox(t, 1, "60", "0.1")
	s.Box, s.Domain = []sde.Interval{{Lo: 0, Hi: 1}}, sde.Domain{{Ends: sde.Joined, Lo: 0, Hi: 1}}
	rows := fill(t, c, s, 3)
	for at := 3; at < len(rows); at += 3 {
		if step := rows[at] - rows[at-3]; at/3%c.Steps > 0 && (step < 0.5 || step > 0.7) {
			t.Fatalf("a path goes from %v to %v", rows[at-3], rows[at])
		}
	}
	if part := c.OutOfRange(rows, s); part != 0 {
		t.Errorf("%v of the rows are out of range", part)
	}
	s.Domain[0] = sde.Range{Ends: sde.Reflecting, Lo: 0, Hi: 1}
	if err := c.Fill(rows, s, 1, "test", 0); !errors.Is(err, ErrSystem) {
		t.Errorf("paths between walls: %v", err)
	}
}
