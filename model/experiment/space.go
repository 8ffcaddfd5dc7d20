package experiment

import (
	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/closure"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// spaceSizes is what a preset sets in the experiment in any dimension.
type spaceSizes struct {
	functions, heldOut int // training and held-out functions
	shards             int
	samples, chains    int // stored per training function, from so many chains
	batchFunctions     int
	batchSamples       int
	sensors            int
	checkpointEvery    int
	evalSamples        int // of every held-out function, each from a chain of its own
	burnIn             int // steps of dt 0.005 before a stored sample
	tiny               bool
}

// spacePresets have one epoch of F·N/(B·S) steps.
var spacePresets = map[string]spaceSizes{
	// 65,536·256/(64·64) = 4,096 steps.
	"full": {functions: 65536, heldOut: 128, shards: 64, samples: 256, chains: 64,
		batchFunctions: 64, batchSamples: 64, sensors: 256, checkpointEvery: 500,
		evalSamples: 4096, burnIn: 2000},
	// 16,384·64/(16·32) = 2,048 steps.
	"scaled": {functions: 16384, heldOut: 64, shards: 16, samples: 64, chains: 64,
		batchFunctions: 16, batchSamples: 32, sensors: 64, checkpointEvery: 500,
		evalSamples: 2048, burnIn: 2000},
	// Minutes on two cores: 4,096·64/(16·32) = 512 steps.
	"demo": {functions: 4096, heldOut: 16, shards: 8, samples: 64, chains: 64,
		batchFunctions: 16, batchSamples: 32, sensors: 32, checkpointEvery: 100,
		evalSamples: 1024, burnIn: 2000},
	// Seconds: shows that the parts fit together; the network learns almost nothing.
	"smoke": {functions: 128, heldOut: 4, shards: 4, samples: 64, chains: 16,
		batchFunctions: 16, batchSamples: 16, sensors: 16, checkpointEvery: 16,
		evalSamples: 256, burnIn: 800, tiny: true},
}

// inSpace is the definition of the experiment in any dimension.
func inSpace() definition {
	d := definition{}
	for preset, s := range spacePresets {
		d[preset] = func() Experiment { return anyd(s) }
	}
	return d
}

// randomLinear is the family of anyd until data.family names another: Ornstein–Uhlenbeck processes
// in ten dimensions. The symmetric part of the drift is −(1 + AAᵀ), so each has a law, which is
// Gaussian; A − Aᵀ makes it turn.
var randomLinear = family.Definition{
	Name: "linear10", Dim: 10, Box: family.Box{{-3, 3}},
	Parameters: map[string]string{"A": "matrix(normal(0, 0.3))", "s": "vector(uniform(0.5, 1.5))"},
	Drift:      family.Formulas{"-x - (A*transpose(A) + A - transpose(A))*x"},
	Diffusion:  family.Formulas{"s"},
}

// anyd is for families without a grid, in up to 64 dimensions. Its sensors are paths of the
// equation: 20 points of dt 0.01. The network has the dimension and the features of the family.
func anyd(s spaceSizes) Experiment {
	network := sensor.Plane()
	network.Sensors = s.sensors
	if s.tiny {
		network = tinySensor(network)
	}
	training := simulate.Scheme{DT: 0.005, BurnIn: s.burnIn, Thin: 50, Chains: s.chains}
	reference := simulate.Scheme{DT: 0.005, BurnIn: s.burnIn, Thin: 1, Chains: s.evalSamples}
	e := Experiment{
		Seed: 1,
		Data: data.Dataset{Family: randomLinear.String(), Seed: 1, Functions: s.functions, HeldOut: s.heldOut,
			Shards: s.shards, Samples: s.samples, ReferenceSamples: s.evalSamples,
			Training: training, Reference: reference},
		Model:  Model{Sensor: &network},
		Probes: &Probes{Kind: probe.Path, DT: 0.01},
		Training: Training{BatchFunctions: s.batchFunctions, BatchSamples: s.batchSamples,
			Coupling: flow.OptimalTransport, States: flow.Whitened, Epochs: 1,
			LearningRate: 1e-3, WeightDecay: 1e-4, ClipNorm: 1, CheckpointEvery: s.checkpointEvery},
		Evaluation: Evaluation{Functions: s.heldOut, Samples: s.evalSamples,
			Solver: "rk4-4", Blur: 0.05, Scaling: 0.5,
			MCMC: []MCMC{{"mcmc", training}}},
	}
	e.fitSpace() // Load sets the starts, which are those of the family's box
	return e
}

// fitSpace gives the network the dimension and the features of a family without a grid, which
// leaves it no choice.
func (e *Experiment) fitSpace() {
	f, err := e.Family()
	if err != nil || e.Model.Sensor == nil || e.Probes == nil || e.Probes.Kind != probe.Path {
		return
	}
	if s, ok := f.(family.Spatial); ok {
		network := *e.Model.Sensor
		terms := s.Terms()
		if e.Training.States.Own() {
			terms = closure.Terms(f.Dim(), terms)
		}
		network.Dimension, network.Features = f.Dim(), 2*f.Dim()+terms
		e.Model.Sensor = &network
	}
}
