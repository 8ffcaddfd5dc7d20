package figures

import (
	"bytes"
	"image/png"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/report/reporttest"
)

func TestFiguresAreImages(t *testing.T) {
	var loss, percentiles bytes.Buffer
	if err := drawLoss(&loss, reporttest.Losses(4000)); err != nil {
		t.Fatal(err)
	}
	rows := reporttest.FigureData().Percentiles
	if err := drawPercentiles(&percentiles, rows); err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string][]byte{"loss": loss.Bytes(), "percentiles": percentiles.Bytes()} {
		img, err := png.Decode(bytes.NewReader(raw))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b := img.Bounds(); b.Dx() < 900 || b.Dy() < 500 {
			t.Errorf("%s: %v pixels is too small to print", name, b)
		}
		if dir := os.Getenv("ERGOFLOW_FIGURES"); dir != "" {
			if err := os.WriteFile(dir+"/"+name+".png", raw, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestMovingMean(t *testing.T) {
	got := movingMean([]float64{1, 2, 3, 4, 10}, 3)
	for i, want := range []float64{1.5, 2, 3, 17. / 3, 7} {
		if !(math.Abs(got[i]-want) <= 1e-12) {
			t.Errorf("mean %d is %v, want %v", i, got[i], want)
		}
	}
}

func TestHistogramIsADensity(t *testing.T) {
	density := histogram([]float32{-1, 0, 0.1, 0.99, 1, 5}, -1, 1, 4)
	// Bins of width ½; 1 and 5 lie outside the half-open range.
	for i, want := range []float64{1. / 3, 0, 2. / 3, 1. / 3} {
		if !(math.Abs(density[i]-want) <= 1e-12) {
			t.Errorf("bin %d is %v, want %v", i, density[i], want)
		}
	}
}

func TestTicks(t *testing.T) {
	words := func(lo, hi float64, n niceTicks) string {
		var s []string
		for _, t := range n.Ticks(lo, hi) {
			s = append(s, t.Label)
		}
		return strings.Join(s, " ")
	}
	for _, tt := range []struct {
		lo, hi float64
		n      niceTicks
		want   string
	}{
		{0, 16128, 8, "0 5,000 10,000 15,000"},
		{-0.31, 0.3, 4, "−0.2 0.0 0.2"},
		{-4.2, 4.2, 5, "−4 −2 0 2 4"},
		{0, 1, 5, "0.0 0.2 0.4 0.6 0.8 1.0"},
	} {
		if got := words(tt.lo, tt.hi, tt.n); got != tt.want {
			t.Errorf("[%v, %v]: %s, want %s", tt.lo, tt.hi, got, tt.want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 2513792: "2,513,792", -1234: "−1,234"} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %s, want %s", n, got, want)
		}
	}
}
