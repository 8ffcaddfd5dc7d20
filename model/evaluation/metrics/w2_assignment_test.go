package metrics

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/model/training/assignment"
)

// In one dimension the monotone coupling is the assignment.
func TestW2AssignmentOnTheLineIsW2(t *testing.T) {
	for _, n := range []int{1, 2, 100, assignment.MaxPoints} {
		x := goldenCloud{Kind: "normal", N: n, D: 1, Seed: 81, Parameters: []float64{0, 1}}.cloud(t)
		y := goldenCloud{Kind: "ratio", N: n, D: 1, Seed: 82, Parameters: []float64{1}}.cloud(t)
		want, err := W2(x.X, y.X)
		if err != nil {
			t.Fatal(err)
		}
		got, err := W2Assignment(x, y)
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(got-want) <= 1e-12*want) {
			t.Errorf("%d points: %v, W2 %v", n, got, want)
		}
	}
}

// A translation by s is at distance |s|, whatever the cloud and the order.
func TestW2AssignmentOfATranslation(t *testing.T) {
	for _, d := range []int{1, 2, 5, 64} {
		for _, shift := range []float32{0, 0.25, -3, 1024} {
			const n = 120
			x := goldenCloud{Kind: "modes", N: n, D: d, Seed: 83, Parameters: []float64{0.4, -2, 2, 0.7}}.cloud(t)
			y := Cloud{N: n, D: d, X: make([]float32, n*d)}
			for i, v := range x.X { // to a grid that the shift does not leave
				x.X[i] = float32(math.Round(float64(v)*1024)) / 1024
				point, axis := i/d, i%d
				y.X[(point*7+5)%n*d+axis] = x.X[i] + shift
			}
			got, err := W2Assignment(x, y)
			if err != nil {
				t.Fatal(err)
			}
			if want := math.Abs(float64(shift)) * math.Sqrt(float64(d)); !(math.Abs(got-want) <= 1e-7*want) {
				t.Errorf("%d dimensions, shift %v: %v, want %v", d, shift, got, want)
			}
		}
	}
}

// The sliced distance is that of projections, which are nearer; W2 of one
// coordinate is too.
func TestW2AssignmentBounds(t *testing.T) {
	x := goldenCloud{Kind: "normal", N: 300, D: 3, Seed: 84, Parameters: []float64{0, 1}}.cloud(t)
	y := goldenCloud{Kind: "modes", N: 300, D: 3, Seed: 85, Parameters: []float64{0.3, -2, 2, 0.5}}.cloud(t)
	got, err := W2Assignment(x, y)
	if err != nil {
		t.Fatal(err)
	}
	sliced, err := SlicedW2(x, y, 64, 1)
	if err != nil {
		t.Fatal(err)
	}
	a, b := make([]float32, 300), make([]float32, 300)
	for i := range a {
		a[i], b[i] = x.X[3*i], y.X[3*i]
	}
	first, err := W2(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if !(sliced < got && first < got && got < 10) {
		t.Errorf("%v, sliced %v, of the first coordinate %v", got, sliced, first)
	}
}

func TestW2AssignmentRefuses(t *testing.T) {
	line := func(n int) Cloud { return Line(make([]float32, n)) }
	nan := Line([]float32{0, float32(math.NaN())})
	plane := Cloud{N: 2, D: 2, X: make([]float32, 4)}
	for name, tt := range map[string]struct {
		x, y Cloud
		want error
	}{
		"empty":      {line(0), line(0), ErrEmpty},
		"sizes":      {line(3), line(4), ErrShape},
		"too many":   {line(assignment.MaxPoints + 1), line(assignment.MaxPoints + 1), ErrShape},
		"dimensions": {line(2), plane, ErrShape},
		"NaN":        {line(2), nan, ErrNonFinite},
	} {
		_, err := W2Assignment(tt.x, tt.y)
		check(t, name, err, tt.want)
	}
}
