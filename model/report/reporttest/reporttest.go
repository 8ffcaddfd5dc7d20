// Package reporttest has made-up results, for tests of reports and figures.
package reporttest

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// Results are plausible numbers of 64 functions on the line, six rows each.
func Results(t *testing.T) *evaluate.Results {
	t.Helper()
	e, err := experiment.Load("vn1d", "scaled", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	r := &evaluate.Results{Version: "0.1.0", Experiment: e, Run: e.Hash(), Step: e.Steps(), Parameters: strings.Repeat("5e", 32),
		Backend: "xla:cpu (2 cores)", Functions: 64, Samples: 4096, MixedBelow: 0.2, Mixed: new(44),
		Reference: evaluate.Statistic{Mean: 0.558, Median: 0.082}}
	for _, row := range []struct {
		kind  evaluate.Kind
		name  string
		scale float64
	}{
		{evaluate.Floor, "floor", 0.08}, {evaluate.MCMC, "mcmc", 0.15}, {evaluate.Model, "model", 0.2},
		{evaluate.Untrained, "untrained model", 1.3}, {evaluate.Moments, "moment-matched normal", 0.4}, {evaluate.Normal, "N(0,1)", 1.4},
	} {
		out := evaluate.Row{Kind: row.kind, Name: row.name, SetupSeconds: 1.2, SolveSeconds: 3.4}
		for i := range r.Functions {
			w := row.scale * math.Exp(rng.NormFloat64())
			out.Functions = append(out.Functions, evaluate.FunctionResult{Index: 64512 + i, W2: w, Sinkhorn: w * w / 6, W2Exact: w * 1.1, VarianceRatio: 1})
		}
		out.Summary.W2 = evaluate.Statistic{Mean: 1.6 * row.scale, Median: row.scale, StdErr: 0.03}
		out.Summary.Sinkhorn = evaluate.Statistic{Mean: row.scale * row.scale, Median: row.scale * row.scale / 6}
		out.Summary.KSRejected, out.Summary.VarianceRatio.Median = 0.75, 0.97
		r.Rows = append(r.Rows, out)
	}
	return r
}

// FigureData has three functions to show.
func FigureData() evaluate.FigureData {
	return evaluate.FigureData{Percentiles: []evaluate.Percentile{Percentile(25, 1), Percentile(50, 2), Percentile(75, 7)}}
}

// Losses falls from 1.1 to 0.17 with the noise of a small batch.
func Losses(n int) []float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	losses := make([]float64, n)
	for i := range losses {
		t := float64(i) / float64(n)
		losses[i] = (0.16 + 0.95*math.Exp(-14*t) + 0.2*math.Exp(-3*t)) * math.Exp(0.2*rng.NormFloat64())
	}
	return losses
}

// Percentile is a two-mode law with a model that puts too much mass
// on the left and an MCMC run that missed a mode.
func Percentile(percent int, seed uint64) evaluate.Percentile {
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
