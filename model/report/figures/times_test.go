package figures

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// syntheticTimes are rows over three intervals of physical time.
func syntheticTimes() []evaluate.Row {
	var rows []evaluate.Row
	for _, r := range []struct {
		kind  evaluate.Kind
		name  string
		means []float64
	}{
		{evaluate.Floor, "floor", []float64{2e-4, 3e-4, -1e-4}},
		{evaluate.Split, "target split", []float64{1, 1, 1}},
		{evaluate.Model, "model", []float64{1e-3, 8e-3, 2e-2}},
		{evaluate.Longest, "model at the longest time", []float64{2, 0.4, 2e-2}},
		{evaluate.Invariant, "invariant law", []float64{2, 0.3, 1e-3}},
		{evaluate.Normal, "N(0,1)", []float64{1e-3, 0.5, 2}},
	} {
		row := evaluate.Row{Kind: r.kind, Name: r.name}
		for k, mean := range r.means {
			s := evaluate.Statistic{Mean: mean, Median: mean / 2, MeanInterval: &[2]float64{mean / 2, 2 * mean}}
			row.Times = append(row.Times, evaluate.TimeInterval{From: 0.05 * math.Pow(10, float64(k)), To: 0.5 * math.Pow(10, float64(k)), Functions: 64, Sinkhorn: s, W2: s})
		}
		rows = append(rows, row)
	}
	rows[0].Times[2].Sinkhorn.MeanInterval = nil
	return rows
}

func TestTimes(t *testing.T) {
	rows := timeRows(syntheticTimes())
	if len(rows) != 5 || len(timeRows([]evaluate.Row{{Kind: evaluate.Model}})) != 0 {
		t.Fatalf("%d rows by time", len(rows))
	}
	drawn(t, "times", vermilion, func(w io.Writer) error { return drawTimes(w, rows) })
	all := lines(t, func(w io.Writer) error { return timeData(w, rows) })
	if len(all) != 1+5*3 {
		t.Fatalf("%d lines", len(all))
	}
	if got, want := strings.Join(all[3], " "), "floor 5 50 64 -0.0001   -5e-05 -0.0001 -5e-05 -0.0002 -5e-05"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if err := drawTimes(io.Discard, nil); err == nil {
		t.Error("a figure of nothing")
	}
}

// Histograms keep the mass, over one range for all times of an equation.
func TestEvolutions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draws := func(mean, std float64) []float32 {
		x := make([]float32, 2048)
		for i := range x {
			x[i] = float32(mean + std*rng.NormFloat64())
		}
		return x
	}
	var rows []evaluate.Evolution
	for k, percent := range []int{25, 50, 75} {
		e := evaluate.Evolution{Percent: percent, Equation: 40320 + k, Sinkhorn: 0.01 * float64(k)}
		for _, time := range []float64{0.1, 1, 10, 50} {
			left := math.Exp(-time)
			e.Times = append(e.Times, time)
			e.Reference = append(e.Reference, draws(2*(1-left), 0.5+left/2))
			e.Model = append(e.Model, draws(2*(1-left)+0.1, 0.5+left/2))
		}
		for i := range 101 {
			x := -2 + 0.06*float64(i)
			e.X, e.PDF = append(e.X, x), append(e.PDF, math.Exp(-2*(x-2)*(x-2))*math.Sqrt(2/math.Pi))
		}
		rows = append(rows, e)
	}
	drawn(t, "evolution", vermilion, func(w io.Writer) error { return drawEvolutions(w, rows) })
	if all := lines(t, func(w io.Writer) error { return evolutionData(w, rows) }); len(all) != 1+3*(4*evolutionBins+101) {
		t.Errorf("%d lines", len(all))
	}
	panels, err := evolutionPanels(rows[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range panels {
		mass := 0.0
		for _, d := range p.reference {
			mass += d * (p.hi - p.lo) / evolutionBins
		}
		if !(math.Abs(mass-1) <= 0.01) || p.lo != panels[0].lo || p.hi != panels[0].hi {
			t.Errorf("panel %d has the mass %v over %v…%v", i, mass, p.lo, p.hi)
		}
	}
	short, empty := rows[1], rows[1]
	short.Times, short.Reference, short.Model = short.Times[:3], short.Reference[:3], short.Model[:3]
	empty.Model = [][]float32{nil, nil, nil, nil}
	for name, bad := range map[string][]evaluate.Evolution{"fewer times": {rows[0], short}, "no samples": {empty}, "nothing": nil} {
		var b bytes.Buffer
		if err := drawEvolutions(&b, bad); err == nil || b.Len() > 0 {
			t.Errorf("%s: %v, %d bytes", name, err, b.Len())
		}
	}
}
