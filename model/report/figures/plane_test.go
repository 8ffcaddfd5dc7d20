package figures

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// syntheticPlane is a ring with a heavier side, a second set that is smoother,
// and rows of different extent.
func syntheticPlane() []planeRow {
	rng := rand.New(rand.NewPCG(6, 6))
	ring := func(n int, radius, blur float64) []float32 {
		points := make([]float32, 0, 2*n)
		for len(points) < 2*n {
			angle := rng.Float64() * 2 * math.Pi
			if rng.Float64() > 0.5+0.5*math.Cos(angle) {
				continue
			}
			r := radius + blur*rng.NormFloat64()
			points = append(points, float32(r*math.Cos(angle)+0.3), float32(r*math.Sin(angle)))
		}
		return points
	}
	var rows []planeRow
	for k, percent := range []int{25, 50, 75} {
		radius := 1 + 0.5*float64(k)
		rows = append(rows, planeRow{Percent: percent, Function: 65536 + k, Sinkhorn: 0.0123 * float64(k+1), Sets: []planeSet{
			{"Target", ring(4096, radius, 0.3)}, {"Generated", ring(4096, radius, 0.45)},
		}})
	}
	return rows
}

func TestPlane(t *testing.T) {
	rows := syntheticPlane()
	drawn(t, "plane", ramp(1), func(w io.Writer) error { return drawPlane(w, rows) })
	var once, again bytes.Buffer
	if err := errors.Join(drawPlane(&once, rows[:1]), drawPlane(&again, rows[:1])); err != nil || !bytes.Equal(once.Bytes(), again.Bytes()) {
		t.Errorf("the same data make two pictures, %v", err)
	}
	all := lines(t, func(w io.Writer) error { return planeData(w, rows) })
	if len(all) != 1+3*2*4096 || all[4097][2] != "Generated" || all[4097][3] != number(rows[0].Sets[1].Points[0]) {
		t.Errorf("%d lines of samples, %v", len(all), all[4097])
	}
	few := []planeRow{{50, 7, 0.1, []planeSet{{"Target", []float32{1, 1}}, {"MCMC", []float32{1, 1, 1, 1}}, {"Generated", []float32{1, 1}}}}}
	drawn(t, "plane-few", ramp(1), func(w io.Writer) error { return drawPlane(w, few) })
	uneven, odd, nan := slices.Clone(rows), syntheticPlane(), syntheticPlane()
	uneven[1].Sets = uneven[1].Sets[:1]
	odd[2].Sets[1].Points = odd[2].Sets[1].Points[1:]
	nan[0].Sets[1].Points[9] = float32(math.Inf(1))
	for says, bad := range map[string][]planeRow{"no functions": nil, "function 65537 has 1 columns": uneven, "Generated has 8191": odd, "sample 4 of the Generated": nan} {
		for _, write := range []func(io.Writer, []planeRow) error{drawPlane, planeData} {
			if err := write(io.Discard, bad); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("want an error with %q: %v", says, err)
			}
		}
	}
}

// Every point is in the hexagon with the nearest centre of all, and none is
// lost; even points make even counts.
func TestHexagonalCells(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	const width = 0.37
	for range 2000 {
		x, y := float32(8*rng.Float64()-4), float32(8*rng.Float64()-4)
		counts := hexagonal([]float32{x, y}, width)
		if len(counts) != 1 {
			t.Fatalf("one point is in %d hexagons", len(counts))
		}
		distance := func(c cell) float64 {
			return math.Hypot(float64(x)-(float64(c.column)+float64(c.row&1)/2)*width, float64(y)-float64(c.row)*rowHeight*width)
		}
		for c := range counts {
			for dr := -2; dr <= 2; dr++ {
				for dc := -2; dc <= 2; dc++ {
					if !(distance(cell{c.column + dc, c.row + dr}) >= distance(c)-1e-9) {
						t.Fatalf("(%v, %v) is nearer to another hexagon than to %v", x, y, c)
					}
				}
			}
		}
	}
	even := make([]float32, 2*400000)
	for i := range even {
		even[i] = float32(10 * rng.Float64())
	}
	mean := width * width * rowHeight / 100 * 400000
	for c, n := range hexagonal(even, width) {
		x, y := (float64(c.column)+0.5)*width, float64(c.row)*rowHeight*width
		if min(x, y) > 1 && max(x, y) < 9 && !(math.Abs(float64(n)-mean) <= 6*math.Sqrt(mean)) {
			t.Errorf("%d even points in %v, want about %.0f", n, c, mean)
		}
	}
}
