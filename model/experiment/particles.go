package experiment

import (
	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// particleSizes is what a preset sets in the experiment with particles.
type particleSizes struct {
	functions, heldOut int // training and held-out kernels
	shards             int
	samples            int // stored per training kernel
	batchFunctions     int
	batchSamples       int
	sensors            int
	checkpointEvery    int
	evalSamples        int
	burnIn             int // steps of dt 0.001 before a stored sample
	tiny               bool
	best               bool // our network and coupling
}

// particleChains is the number of chains per kernel.
const particleChains = 16

// particlePresets, the paper's sizes first. Each but best has one epoch of F·N/(B·S) steps.
var particlePresets = map[string]particleSizes{
	// The paper's table of the particle experiment: 2,048·4,096/(64·64) = 2,048
	// steps. Of its 512 evaluation kernels only the 100 that it reports are made.
	"full": {functions: 2048, heldOut: 100, shards: 32, samples: 4096,
		batchFunctions: 64, batchSamples: 64, sensors: 512, checkpointEvery: 100,
		evalSamples: 4096, burnIn: 100_000},
	// All the kernels with a sixteenth of the batch, half of the steps, a quarter of
	// the sensors and a fifth of the burn-in (20 units of time, ten of the trap's
	// relaxation): 2,048·128/(8·32) = 1,024 steps of 45 GFLOP. An
	// eighth of the samples of 16 kernels is evaluated: sampling costs more than
	// training.
	"scaled": {functions: 2048, heldOut: 16, shards: 8, samples: 128,
		batchFunctions: 8, batchSamples: 32, sensors: 128, checkpointEvery: 100,
		evalSamples: 512, burnIn: 20_000},
	// The data and the evaluation of scaled, with our network and coupling, in four epochs of
	// batches with more kernels.
	"best": {functions: 2048, heldOut: 16, shards: 8, samples: 128,
		batchFunctions: 32, batchSamples: 8, sensors: 128, checkpointEvery: 100,
		evalSamples: 512, burnIn: 20_000, best: true},
	// Seconds: shows that the parts fit together; the network learns almost nothing.
	"smoke": {functions: 64, heldOut: 4, shards: 4, samples: 64,
		batchFunctions: 8, batchSamples: 16, sensors: 16, checkpointEvery: 8,
		evalSamples: 128, burnIn: 500, tiny: true},
}

// ofParticles is the definition of the experiment with particles.
func ofParticles() definition {
	d := definition{}
	for preset, s := range particlePresets {
		d[preset] = func() Experiment { return particles64d(s) }
	}
	return d
}

// particles64d is the paper's experiment with 32 particles in the plane. Its sensors are
// isolated pairs: 20 points of dt 0.001. Chains start from N(0, 1.5²I). The paper
// names no coupling here. Particles are exchangeable, so a transport by index would gain
// little, and noise and samples are coupled independently, but for best.
func particles64d(s particleSizes) Experiment {
	network, coupling, epochs := sensor.Particles(), flow.Independent, 1
	if s.best {
		network, coupling, epochs = sensor.ParticlePairs(), flow.Particles, 4
	}
	network.Sensors = s.sensors
	if s.tiny {
		network = tinySensor(network)
	}
	scheme := simulate.Scheme{DT: 0.001, BurnIn: s.burnIn, Thin: 100, Chains: particleChains, Start: "1.5"}
	short := scheme
	short.BurnIn /= 10
	return Experiment{
		Seed: 1,
		Data: data.Dataset{Family: "particles64d", Seed: 1, Functions: s.functions, HeldOut: s.heldOut,
			Shards: s.shards, Samples: s.samples, ReferenceSamples: s.evalSamples,
			Training: scheme, Reference: scheme},
		Model:  Model{Sensor: &network},
		Probes: &Probes{Kind: probe.Pairs, DT: 0.001},
		Training: Training{BatchFunctions: s.batchFunctions, BatchSamples: s.batchSamples,
			MicroBatch: 16, // 2 GiB at a time with 64 samples and 512 sensors
			Coupling:   coupling, Epochs: epochs,
			LearningRate: 1e-3, WeightDecay: 1e-4, ClipNorm: 1, CheckpointEvery: s.checkpointEvery},
		Evaluation: Evaluation{Functions: s.heldOut, Samples: s.evalSamples,
			Solver: "rk4-4", Sensors: s.sensors, Blur: 0.05, Scaling: 0.5,
			MCMC: []MCMC{{"mcmc, a tenth of the burn-in", short}}},
	}
}
