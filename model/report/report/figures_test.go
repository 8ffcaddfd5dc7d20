package report

import (
	"bytes"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// syntheticLosses falls from 1.1 to 0.17 with the noise of a small batch.
func syntheticLosses(n int) []float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	losses := make([]float64, n)
	for i := range losses {
		t := float64(i) / float64(n)
		losses[i] = (0.16 + 0.95*math.Exp(-14*t) + 0.2*math.Exp(-3*t)) * math.Exp(0.2*rng.NormFloat64())
	}
	return losses
}

// syntheticPercentile is a two-mode law with a model that puts too much mass
// on the left and an MCMC run that missed a mode.
func syntheticPercentile(percent int, seed uint64) evaluate.Percentile {
	rng := rand.New(rand.NewPCG(seed, 0))
	separation := 1 + rng.Float64()*1.5
	draws := func(left, scale float64) []float32 {
		x := make([]float32, 4096)
		for i := range x {
			mode := separation
			if rng.Float64() < left {
				mode = -separation
			}
			x[i] = float32(mode + scale*rng.NormFloat64())
		}
		return x
	}
	p := evaluate.Percentile{Percent: percent, Reference: draws(0.4, 0.5), MCMC: draws(0.25, 0.5), MCMCName: "mcmc 500k steps", Model: draws(0.5, 0.6)}
	p.Function = evaluate.FunctionResult{Index: 64512 + int(seed), Sinkhorn: 0.00123 * float64(percent), W2: 0.01 * float64(percent)}
	for i := range 401 {
		x := -6 + 12*float64(i)/400
		pdf, cdf := 0.0, 0.0
		for sign, w := range map[float64]float64{-1: 0.4, 1: 0.6} {
			z := (x - sign*separation) / 0.5
			pdf += w * math.Exp(-z*z/2) / 0.5 / math.Sqrt(2*math.Pi)
			cdf += w * math.Erfc(-z/math.Sqrt2) / 2
		}
		p.X, p.PDF, p.CDF = append(p.X, x), append(p.PDF, pdf), append(p.CDF, cdf)
	}
	return p
}

func TestFiguresAreImages(t *testing.T) {
	var loss, percentiles bytes.Buffer
	if err := drawLoss(&loss, syntheticLosses(4000)); err != nil {
		t.Fatal(err)
	}
	rows := []evaluate.Percentile{syntheticPercentile(25, 1), syntheticPercentile(50, 2), syntheticPercentile(75, 7)}
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
