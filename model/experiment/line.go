package experiment

import (
	"fmt"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// lineSizes is what a preset sets in the experiments on the line.
type lineSizes struct {
	functions, heldOut int // training and held-out functions
	heldOutFrom        int // number of the first of these; 0: after those for training
	shards             int
	samples, chains    int // stored per training function, from so many chains
	batchFunctions     int
	batchSamples       int
	checkpointEvery    int
	evalFunctions      int
	evalSamples        int
	referenceChains    int
	burnIn             int // steps of dt 0.01 before a stored sample
	tiny               bool
	best               bool // our improvements instead of the paper's choices
}

// linePresets, the paper's sizes first. Each has one epoch of F·N/(B·S) steps.
var linePresets = map[string]lineSizes{
	// The paper's table of the 1D experiments: 64,512·4,096/(256·32) = 32,256 steps.
	"full": {functions: 64512, heldOut: 1024, shards: 64, samples: 4096, chains: 64,
		batchFunctions: 256, batchSamples: 32, checkpointEvery: 500,
		evalFunctions: 1024, evalSamples: 4096, referenceChains: 1024, burnIn: 5000},
	// All the functions, an eighth of the batch, an eighth of the stored
	// samples: 64,512·512/(32·32) = 32,256 steps.
	"scaled": {functions: 64512, heldOut: 128, shards: 32, samples: 512, chains: 64,
		batchFunctions: 32, batchSamples: 32, checkpointEvery: 500,
		evalFunctions: 128, evalSamples: 4096, referenceChains: 1024, burnIn: 5000},
	// The budget, the network's size and the evaluation of scaled, with our improvements
	// (docs/decisions/best.md). Four times the functions, each with a quarter of the
	// samples, from chains of their own: 258,048·128/(32·32) = 32,256 steps of rare1d. The
	// held-out functions are those of scaled.
	"best": {functions: 258048, heldOut: 128, heldOutFrom: 64512, shards: 32, samples: 128, chains: 128,
		batchFunctions: 32, batchSamples: 32, checkpointEvery: 500,
		evalFunctions: 128, evalSamples: 4096, referenceChains: 1024, burnIn: 5000, best: true},
	// Minutes on two cores: all the functions, each used five times instead of sixteen:
	// 64,512·160/(32·32) = 10,080 steps.
	"demo": {functions: 64512, heldOut: 64, shards: 16, samples: 160, chains: 32,
		batchFunctions: 32, batchSamples: 32, checkpointEvery: 500,
		evalFunctions: 64, evalSamples: 4096, referenceChains: 1024, burnIn: 5000},
	// Seconds: shows that the parts fit together; the network learns almost nothing.
	"smoke": {functions: 256, heldOut: 8, shards: 4, samples: 64, chains: 16,
		batchFunctions: 16, batchSamples: 16, checkpointEvery: 16,
		evalFunctions: 8, evalSamples: 512, referenceChains: 64, burnIn: 500, tiny: true},
}

// onLine is the definition of an experiment on the line.
func onLine(build func(lineSizes) Experiment) definition {
	d := definition{}
	for preset, s := range linePresets {
		d[preset] = func() Experiment { return build(s) }
	}
	return d
}

// vn1d is the paper's 1D variable-noise experiment: drift and diffusion from
// Gaussian random fields on 64 nodes, samples by Euler–Maruyama with dt 0.01,
// burn-in 50 and one sample per 0.1.
func vn1d(s lineSizes) Experiment {
	e := commonOnLine(s, 64)
	e.Data.Family = "vn1d"
	e.Data.Training = simulate.Scheme{DT: 0.01, BurnIn: s.burnIn, Thin: 10, Chains: s.chains}
	e.Data.Reference = simulate.Scheme{DT: 0.01, BurnIn: s.burnIn, Thin: 10, Chains: s.referenceChains}
	if s.best {
		// Samples of chains of finite length depend on more than the law, so the network
		// gets the potential too. Three narrower branches have as many parameters as two.
		network := e.Model.DeepONet
		network.Fields = append(network.Fields, velocity.Input{Name: "potential", Shape: network.Fields[0].Shape})
		network.Hidden = 160
		// Shared points make a step of sixteen times the pairs cheap, and a quarter of the
		// updates is enough (docs/decisions/shared-points.md).
		e.Training.Points = 256
		e.Training.BatchFunctions, e.Training.BatchSamples = 128, s.samples
		e.Training.Epochs, e.Training.LearningRate = 4, 6e-3
	}
	e.Evaluation.MCMC = []MCMC{{"mcmc", simulate.Scheme{DT: 0.01, BurnIn: s.burnIn, Thin: 10, Chains: min(64, s.evalSamples)}}}
	return e
}

// rare1d is the paper's 1D rare-event experiment: drift from a three-component
// mixture on 256 nodes, samples drawn from the mixture itself. Its baselines
// run Euler–Maruyama with dt 0.001 on the interpolated coefficients, 64 chains,
// a fifth of the steps as burn-in, at four budgets in steps per chain.
func rare1d(s lineSizes) Experiment {
	e := commonOnLine(s, 256)
	e.Data.Family = "rare1d"
	// Draws from the mixture ignore the scheme; it only has to be valid.
	direct := simulate.Scheme{DT: 0.001, Thin: 1, Chains: 1}
	e.Data.Training, e.Data.Reference = direct, direct
	if s.best {
		// Exact draws depend on σ only through their law.
		e.Model.DeepONet.Fields[0].Name, e.Model.DeepONet.Fields[1].Name = "potential", "score"
	}
	budgets := []int{23_000, 45_000, 90_000, 500_000}
	if s.tiny {
		budgets = []int{2_000}
	}
	for _, steps := range budgets {
		chains := min(64, s.evalSamples)
		burnIn := steps / 5
		e.Evaluation.MCMC = append(e.Evaluation.MCMC, MCMC{
			Name: fmt.Sprintf("mcmc %dk steps", steps/1000),
			Scheme: simulate.Scheme{DT: 0.001, BurnIn: burnIn, Chains: chains,
				Thin: (steps - burnIn) / (s.evalSamples/chains - 1)}, // the first sample follows the burn-in
		})
	}
	return e
}

// commonOnLine is what the 1D experiments share: the network (the paper leaves open the
// depth and width of its branches), the optimizer, the solver, the metric.
func commonOnLine(s lineSizes, nodes int) Experiment {
	network := deeponet.Paper(nodes)
	if s.tiny {
		network = tinyDeepONet(network)
	}
	coupling := flow.OptimalTransport
	if s.best {
		coupling = flow.Quantile
	}
	return Experiment{
		Seed: 1,
		Data: data.Dataset{Seed: 1, Functions: s.functions, HeldOut: s.heldOut, HeldOutFrom: s.heldOutFrom,
			Shards: s.shards, Samples: s.samples, ReferenceSamples: s.evalSamples},
		Model: Model{DeepONet: &network},
		Training: Training{BatchFunctions: s.batchFunctions, BatchSamples: s.batchSamples,
			Coupling: coupling, Epochs: 1,
			LearningRate: 1e-3, WeightDecay: 1e-4, ClipNorm: 1, CheckpointEvery: s.checkpointEvery},
		Evaluation: Evaluation{Functions: s.evalFunctions, Samples: s.evalSamples,
			Solver: "rk4-4", Blur: 0.05, Scaling: 0.5},
	}
}

// tinyDeepONet is a network for smoke tests.
func tinyDeepONet(c deeponet.Config) deeponet.Config {
	c.Rank, c.Channels, c.Hidden = 16, []int{4, 8, 8}, 32
	c.TrunkWidth, c.TrunkDepth = 32, 2
	c.TimeEmbedding, c.StateEmbedding = 8, 8
	return c
}
