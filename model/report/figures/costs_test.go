package figures

import (
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var rows []spreadRow
	for _, r := range []struct {
		kind  evaluate.Kind
		name  string
		scale float64
	}{{evaluate.Floor, "floor", 0.001}, {evaluate.MCMC, "mcmc 500k steps", 0.02}, {evaluate.Model, "model", 0.03}, {evaluate.Moments, "moment-matched normal", 0.05}} {
		row := spreadRow{Kind: r.kind, Name: r.name}
		for range 1024 {
			row.Values = append(row.Values, r.scale*math.Exp(1.5*rng.NormFloat64())-2e-5)
		}
		rows = append(rows, row)
	}
	const name = "Sinkhorn divergence (units of x²)"
	drawn(t, "spread", vermilion, func(w io.Writer) error { return drawSpread(w, rows, name) })
	one := []spreadRow{{evaluate.Model, "model", []float64{0}}}
	drawn(t, "spread-one", vermilion, func(w io.Writer) error { return drawSpread(w, one, name) })
	drawn(t, "spread-negative", vermilion, func(w io.Writer) error {
		return drawSpread(w, []spreadRow{{evaluate.Model, "model", []float64{-3e-6, -1e-6, -2e-6}}}, name)
	})
	if all := lines(t, func(w io.Writer) error { return spreadData(w, rows) }); len(all) != 1+4*1024 || all[1025][0] != "mcmc 500k steps" {
		t.Errorf("%d lines of values", len(all))
	}
	for says, bad := range map[string][]spreadRow{"no rows": nil, "model has no values": {{evaluate.Model, "model", nil}}, "value NaN for function 1": {{evaluate.Model, "model", []float64{1, math.NaN()}}}} {
		if err := drawSpread(io.Discard, bad, name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want an error with %q: %v", says, err)
		}
	}
}

func TestSpreadRanges(t *testing.T) {
	row := spreadRow{Name: "model"}
	for i := range 100 {
		row.Values = append(row.Values, float64(i+1)/100)
	}
	row.Values[99] = 1000
	clip, whole := spreadRanges([]spreadRow{row})
	if clip.lo != 0 || !(math.Abs(clip.hi-0.95) <= 1e-5) || whole.lo != 0.008 || whole.hi != 1250 {
		t.Errorf("ranges %v and %v", clip, whole)
	}
	clip, whole = spreadRanges([]spreadRow{{Values: []float64{-1e-6}}})
	if clip.lo != -1e-6 || !(math.Abs(clip.hi-clip.lo-1e-5) <= 1e-12 && whole.hi >= 10*whole.lo) {
		t.Errorf("ranges of a negative value %v and %v", clip, whole)
	}
}

func TestQuantileOfFew(t *testing.T) {
	for u, want := range map[float64]float64{0: 1, 0.25: 2, 0.5: 3, 0.9: 7.8, 1: 9} {
		if got := quantile([]float64{1, 2, 3, 6, 9}, u); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("quantile %v is %v, want %v", u, got, want)
		}
	}
	if got := quantile([]float64{5}, 0.3); got != 5 {
		t.Errorf("quantile of one value is %v", got)
	}
}

func TestCosts(t *testing.T) {
	points := []CostPoint{
		{Series: "slow", Name: "mcmc 23k steps", Seconds: 0.4, Simulated: 64 * 23000, Steps: 23000, Error: 0.76, Low: 0.6, High: 0.95},
		{Series: "slow", Name: "mcmc 45k steps", Seconds: 0.8, Simulated: 64 * 45000, Steps: 45000, Error: 0.68, Low: 0.55, High: 0.85},
		{Series: "fast", Name: "mcmc 90k steps", Seconds: 1.6, Simulated: 64 * 90000, Steps: 90000, Error: 0.66, Low: 0.52, High: 0.83},
		{Series: "fast", Name: "mcmc 500k steps", Seconds: 9, Simulated: 64 * 500000, Steps: 500000, Error: 0.64, Low: 0.5, High: 0.8},
		{Series: "flow", Name: "model", Model: true, Seconds: 12, Steps: 16, Error: 0.28, Low: 0.2, High: 0.37},
	}
	if got := strings.Join(seriesNames(points), " "); got != "slow fast" {
		t.Errorf("series %s", got)
	}
	const name = "Mean Sinkhorn divergence (units of x²)"
	drawn(t, "costs-figure", vermilion, func(w io.Writer) error { return drawCosts(w, points, name) })
	timed := append([]CostPoint(nil), points...)
	for i := range timed {
		timed[i].Simulated, timed[i].Steps, timed[i].Low, timed[i].High = 0, 0, 0, 0
	}
	drawn(t, "costs-figure-time", vermilion, func(w io.Writer) error { return drawCosts(w, timed, name) })
	all := lines(t, func(w io.Writer) error { return costData(w, points) })
	if len(all) != 6 || strings.Join(all[5], " ") != "flow model 12 0 16 0.28 0.2 0.37" {
		t.Errorf("lines of costs: %v", all)
	}
	for says, bad := range map[string]CostPoint{
		"error 0 is not positive": {Name: "x", Seconds: 1}, "error NaN": {Error: math.NaN(), Steps: 2},
		"-1 is negative": {Error: 1, Seconds: -1}, "outside its interval": {Error: 1, Low: 1.5, High: 2},
	} {
		if err := drawCosts(io.Discard, append(points[:5:5], bad), name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want an error with %q: %v", says, err)
		}
	}
	if err := drawCosts(io.Discard, points[:1], name); err == nil {
		t.Error("one point: no error")
	}
}

// Names of marks that lie close keep clear of each other and of all marks.
func TestNamesDoNotCover(t *testing.T) {
	inside := vg.Rectangle{Max: vg.Point{X: 200, Y: 150}}
	marks := []vg.Point{{X: 100, Y: 75}, {X: 112, Y: 75}, {X: 124, Y: 78}, {X: 195, Y: 145}, {X: 5, Y: 5}}
	about := func(p vg.Point, x, y vg.Length) vg.Rectangle {
		return vg.Rectangle{Min: vg.Point{X: p.X - x, Y: p.Y - y}, Max: vg.Point{X: p.X + x, Y: p.Y + y}}
	}
	var taken []vg.Rectangle
	for _, m := range marks {
		taken = append(taken, about(m, 4, 10))
	}
	for _, m := range marks {
		place := mark{at: m, low: m.Y - 10, high: m.Y + 10}.place(50, inside, taken)
		for _, other := range taken {
			if !(overlap(place, other) <= 0) {
				t.Errorf("the name of %v at %v covers %v", m, place, other)
			}
		}
		taken = append(taken, place)
	}
	if got := overlap(about(vg.Point{}, 2, 3), about(vg.Point{X: 3, Y: 1}, 2, 3)); got != 1*5 {
		t.Errorf("overlap %v, want 5", got)
	}
}
