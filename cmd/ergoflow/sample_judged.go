package main

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/request"
)

// judged is the part of the document of `sample --json` about what was asked for, and how well
// the samples answer it.
type judged struct {
	Equation   asked  `json:"equation"`
	Seed       uint64 `json:"seed"`
	Checkpoint string `json:"checkpoint"`
	// Exact has the moments of the law by quadrature; nil where it is not known.
	Exact       *exactMoments           `json:"exact,omitempty"`
	Certificate certificate.Certificate `json:"certificate"`
}

// asked is a function's number, or formulas.
type asked struct {
	Function  *int     `json:"function,omitempty"`
	Drift     []string `json:"drift,omitempty"`
	Diffusion []string `json:"diffusion,omitempty"`
}

// exactMoments are null in JSON where they do not exist.
type exactMoments struct {
	Mean     statistic `json:"mean"`
	Variance statistic `json:"variance"`
}

// judge certifies the samples of a target.
func (f *sampleFlags) judge(target request.Target, x []float32) judged {
	j := judged{
		Equation: asked{Drift: f.request.Drift, Diffusion: f.request.Diffusion},
		Seed:     f.seed, Checkpoint: f.checkpoint, Certificate: target.Certify(x),
	}
	if len(f.request.Drift) == 0 {
		j.Equation.Function = &f.request.Function
	}
	if mean, variance, ok := target.Exact(); ok {
		j.Exact = &exactMoments{statistic(mean), statistic(variance)}
	}
	return j
}

// besides is the exact value of a moment, in brackets, for the line that sample prints.
func (e *exactMoments) besides(moment string) string {
	if e == nil {
		return ""
	}
	v := float64(e.Variance)
	if moment == "mean" {
		v = float64(e.Mean)
		if math.Abs(v) < 1e-6*math.Sqrt(float64(e.Variance)) { // rounding of 0
			v = 0
		}
	}
	if math.IsNaN(v) {
		return " (the law has none)"
	}
	return fmt.Sprintf(" (exact %.4g)", v)
}
