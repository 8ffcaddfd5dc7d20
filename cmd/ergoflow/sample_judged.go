package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/repair"
	"github.com/ergoflow/ergoflow/model/sampling/request"
)

// judged is the part of the document of `sample --json` about what was asked for, and how well
// the samples answer it.
type judged struct {
	Equation   asked  `json:"equation"`
	Seed       uint64 `json:"seed"`
	Checkpoint string `json:"checkpoint"`
	Run        string `json:"run,omitempty"`  // hash of the configuration
	Step       int    `json:"step,omitempty"` // updates behind the state
	// Exact has the moments of the law by quadrature; nil where it is not known.
	Exact       *exactMoments           `json:"exact,omitempty"`
	Certificate certificate.Certificate `json:"certificate"`
	// Warnings are given of each of many equations.
	Warnings []string `json:"warnings,omitempty"`
	// Repair says what --repair did; nil without it.
	Repair *repair.Result `json:"repair,omitempty"`
	// Weights says what --repair weights did.
	Weights *request.Weighing `json:"weights,omitempty"`
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

// repairs are the options of --repair, and whether there is something to do.
func (f *sampleFlags) repairs() (o repair.Options, asked bool, err error) {
	o.Seed = f.seed
	switch f.repair {
	case "none":
		return o, false, nil
	case "auto", byWeights:
		return o, true, nil
	}
	o.Steps, err = strconv.Atoi(f.repair)
	if err != nil || o.Steps < 1 || o.Steps > maxRepair {
		return o, false, usagef("--repair is %q, not none, auto, weights or a number of steps in 1…%d", f.repair, maxRepair)
	}
	return o, true, nil
}

// byWeights is the --repair that takes draws of the model by their importance weights.
const byWeights = "weights"

// maxRepair bounds the steps of a repair.
const maxRepair = 1 << 30

// judge repairs the samples of a target, if asked, and certifies them.
func (f *sampleFlags) judge(ctx context.Context, target request.Target, d drawn) (judged, error) {
	x := d.x
	j := judged{Equation: asked{Drift: f.request.Drift, Diffusion: f.request.Diffusion}, Seed: f.seed, Checkpoint: f.checkpoint}
	if len(f.request.Drift) == 0 {
		j.Equation.Function = &f.request.Function
	}
	if mean, variance, ok := target.Exact(); ok {
		j.Exact = &exactMoments{statistic(mean), statistic(variance)}
	}
	if d.weighing != nil {
		j.Weights, j.Certificate = d.weighing, d.certificate
		return j, nil
	}
	o, asked, err := f.repairs()
	if err != nil {
		return j, err
	}
	if !asked {
		j.Certificate = target.Certify(x)
		return j, nil
	}
	result, c, err := target.Repair(ctx, x, o)
	switch {
	case errors.Is(err, request.ErrNotInvariant):
		return j, usage(fmt.Errorf("--repair: %w", err))
	case errors.Is(err, simulate.ErrDiverged):
		return j, withHint(err, "the equation leads away from a sample of the model: leave out --repair")
	case err != nil:
		return j, err
	}
	j.Repair, j.Certificate = &result, c
	return j, nil
}

// hint prints how to come to better samples, where nothing was repaired yet.
func (j judged) hint() {
	if j.Repair == nil && j.Weights == nil && j.Certificate.Advice != "" {
		fmt.Fprintln(os.Stderr, "hint: add --repair auto: it moves the samples by steps of their equation")
	}
}

// String says what a repair did.
func (j judged) String() string {
	if j.Weights != nil {
		return weighed(*j.Weights)
	}
	if j.Repair == nil {
		return ""
	}
	replicas := ""
	if n := j.Repair.Replicas; n > 0 {
		replicas = fmt.Sprintf(", the last at %d temperatures,", n)
	}
	text := fmt.Sprintf(", repaired by %d steps of %.2g%s in %.2g s", j.Repair.Steps, j.Repair.DT, replicas, j.Repair.Seconds)
	if j.Repair.Auto && !j.Repair.Settled {
		text += " (not settled)"
	}
	return text
}

// weighed says what weights did.
func weighed(w request.Weighing) string {
	text := fmt.Sprintf(", by weights of %d draws worth %.0f (k̂ %.2g)", w.Draws, w.ESS, w.KHat)
	if w.Stages > 0 {
		text = fmt.Sprintf(", by weights of %d smoothed draws in %d stages worth %.0f (k̂ %.2g)", w.Draws, w.Stages, w.ESS, w.KHat)
	}
	if w.Power > 0 && w.Power < 1 {
		text += fmt.Sprintf(" to the power %.2g", w.Power)
	}
	if w.Moves != nil {
		text += fmt.Sprintf(", %d steps of %.2g of which %.0f %% were accepted", w.Moves.Steps, w.Moves.DT, 100*w.Moves.Accepted)
	}
	return text
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
