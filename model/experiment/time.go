package experiment

import (
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/network/velocity"
)

// timePresets are those of the experiment with physical times. A function is an equation at
// one time; there are eight functions per equation.
var timePresets = map[string]lineSizes{
	// The equations, the batch and the steps of vn1d: 516,096·512/(256·32) = 32,256.
	"full": {functions: 8 * 64512, heldOut: 8 * 1024, shards: 64, samples: 512,
		batchFunctions: 256, batchSamples: 32, checkpointEvery: 500,
		evalFunctions: 8 * 1024, evalSamples: 4096, burnIn: 5000},
	// Every function is used once: 322,560·32/(32·32) = 10,080 steps.
	"scaled": {functions: 8 * 40320, heldOut: 8 * 64, shards: 32, samples: 32,
		batchFunctions: 32, batchSamples: 32, checkpointEvery: 500,
		evalFunctions: 8 * 16, evalSamples: 4096, burnIn: 5000},
	// Seconds.
	"smoke": {functions: 256, heldOut: 16, shards: 4, samples: 64,
		batchFunctions: 16, batchSamples: 16, checkpointEvery: 16,
		evalFunctions: 16, evalSamples: 512, burnIn: 500, tiny: true},
}

// atTimes is the definition of the experiment.
func atTimes() definition {
	d := definition{}
	for preset, s := range timePresets {
		d[preset] = func() Experiment { return vn1dTime(s) }
	}
	return d
}

// vn1dTime learns the law at physical time τ of the equations of vn1d. It has the network and
// optimizer of vn1d, with log τ as another input. Every sample is from a chain of its own,
// which ends at the time of its function (family.Timed).
func vn1dTime(s lineSizes) Experiment {
	e := commonOnLine(s, 64)
	e.Data.Family = "vn1d_time"
	network := e.Model.DeepONet
	network.Fields = append(network.Fields, velocity.Input{Name: "log_time", Shape: []int{1}})
	scheme := simulate.Scheme{DT: 50 / float64(s.burnIn), BurnIn: s.burnIn, Thin: 1}
	e.Data.Training, e.Data.Reference = scheme, scheme
	e.Data.Training.Chains, e.Data.Reference.Chains = s.samples, s.evalSamples
	return e
}
