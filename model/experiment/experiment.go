// Package experiment describes a run completely: which family of stochastic
// differential equations, how much data, which network, how it is trained and
// how it is judged. Everything a run computes is a function of this value (up
// to rounding); nothing is read from the environment.
//
// A named experiment (Names) has presets: full (the paper's sizes), scaled
// (spec: keep the functions, shrink the batch), smoke (seconds), and some demo
// (minutes on two cores) and best (what was found to help, at the cost of
// scaled). Load starts from a preset, lays a YAML file over it, then single
// settings.
package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/sets/batch"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// Format versions what a configuration means. It enters Hash, so that a change
// of meaning never finds the checkpoints of the old one.
const Format = "ergoflow/experiment/2"

// Experiment is one complete configuration. In JSON and YAML the fields are
// lower_snake_case; a dotted path such as training.learning_rate names one.
type Experiment struct {
	Name       string       `json:"name" yaml:"name"`
	Preset     string       `json:"preset" yaml:"preset"`
	Seed       uint64       `json:"seed" yaml:"seed"` // initial weights, order of functions, noise and times of the flow
	Data       data.Dataset `json:"data" yaml:"data"`
	Model      Model        `json:"model" yaml:"model"`
	Probes     *Probes      `json:"probes,omitempty" yaml:"probes"` // for networks with sensors
	Training   Training     `json:"training" yaml:"training"`
	Evaluation Evaluation   `json:"evaluation" yaml:"evaluation"`
}

// Training sizes the batch and the AdamW/OneCycle schedule. One batch is
// BatchFunctions × BatchSamples pairs (X₀, X₁).
type Training struct {
	BatchFunctions int `json:"batch_functions" yaml:"batch_functions"` // B, functions in a batch; a multiple of data.shards
	BatchSamples   int `json:"batch_samples" yaml:"batch_samples"`     // S, samples of each; divides data.samples
	// MicroBatch, when not zero, bounds the functions that a device works on at a
	// time; gradients of a larger part of the batch are added up. Those of one shard
	// stay together.
	MicroBatch int `json:"micro_batch,omitempty" yaml:"micro_batch"`
	// Precision of the products of matrices in the gradient; the empty text means
	// layers.Float32. Parameters, optimizer, sums and evaluation are float32 always.
	Precision layers.Precision `json:"precision,omitempty" yaml:"precision"`
	// Wire is how gradients travel between workers; the empty text means
	// ergoflow.WireFloat32.
	Wire ergoflow.Wire `json:"wire,omitempty" yaml:"wire"`
	// Reproducible makes parameters equal bit for bit whatever workers come and go,
	// on the same kind of device: gradients of fixed groups of shards are added up as
	// whole numbers. It is slower.
	Reproducible bool `json:"reproducible,omitempty" yaml:"reproducible"`
	// Coupling of noise and samples within a function.
	Coupling flow.Coupling `json:"coupling" yaml:"coupling"`
	// Times is the law of t in the loss; the empty text means flow.Uniform.
	Times flow.Times `json:"times,omitempty" yaml:"times"`
	// Sensors, when not empty, are how many a network with sensors has, one number
	// for each step in turn, instead of its own.
	Sensors []int `json:"sensors,omitempty" yaml:"sensors"`
	Epochs  int   `json:"epochs" yaml:"epochs"` // passes over every stored sample
	// Steps, when not zero, ends the schedule after that many updates instead
	// of after Epochs whole passes.
	Steps           int     `json:"steps" yaml:"steps"`
	LearningRate    float64 `json:"learning_rate" yaml:"learning_rate"` // peak of OneCycle
	WeightDecay     float64 `json:"weight_decay" yaml:"weight_decay"`   // decoupled
	ClipNorm        float64 `json:"clip_norm" yaml:"clip_norm"`         // of the whole gradient
	CheckpointEvery int     `json:"checkpoint_every" yaml:"checkpoint_every"`
}

// Evaluation says how a trained state is judged on held-out functions.
type Evaluation struct {
	Functions int    `json:"functions" yaml:"functions"` // the first so many of data.held_out
	Samples   int    `json:"samples" yaml:"samples"`     // drawn per function and compared with as many reference samples
	Solver    string `json:"solver" yaml:"solver"`       // of the flow from t=0 to t=1: rk4-4, euler-8, dopri5
	// Sensors, when not zero, is how many a network with sensors has there,
	// whatever it was trained with.
	Sensors int `json:"sensors,omitempty" yaml:"sensors"`
	// Blur is √ε of the Sinkhorn divergence with cost ½|x−y|²; Scaling is the
	// ratio of successive blurs in its annealing (GeomLoss: 0.05 and 0.5).
	Blur    float64 `json:"blur" yaml:"blur"`
	Scaling float64 `json:"scaling" yaml:"scaling"`
	MCMC    []MCMC  `json:"mcmc" yaml:"mcmc"` // one row each
}

// MCMC is one Euler–Maruyama baseline: what sampling without a network costs
// and gives at that budget.
type MCMC struct {
	Name   string          `json:"name" yaml:"name"`
	Scheme simulate.Scheme `json:"scheme" yaml:"scheme"`
}

// BatchPlan is the composition of every batch of the run.
func (e Experiment) BatchPlan() batch.Plan {
	return batch.Plan{
		Seed:              e.Seed,
		Shards:            e.Data.Shards,
		FunctionsPerShard: e.Data.Functions / max(e.Data.Shards, 1),
		Samples:           e.Data.Samples,
		BatchFunctions:    e.Training.BatchFunctions,
		BatchSamples:      e.Training.BatchSamples,
	}
}

// Steps is the number of optimizer updates: Training.Steps, or as many as
// Epochs passes take: Epochs·F·N/(B·S).
func (e Experiment) Steps() int {
	if e.Training.Steps > 0 {
		return e.Training.Steps
	}
	perStep := e.Training.BatchFunctions * e.Training.BatchSamples
	if perStep <= 0 {
		return 0
	}
	return e.Training.Epochs * e.Data.Functions * e.Data.Samples / perStep
}

// Hash names the trained state: configurations with the same hash train the
// same parameters, bit for bit where training is reproducible. The labels, the
// checkpoint interval, the evaluation and, where rounding may differ, the
// micro-batch do not enter it, so those may change without training again; the
// held-out data do, since one hash names all shards of a data set.
func (e Experiment) Hash() string {
	t := e.Training
	t.Epochs, t.Steps, t.CheckpointEvery = 0, e.Steps(), 0
	if !t.Reproducible {
		t.MicroBatch = 0
	}
	if t.Times == flow.Uniform { // two ways to say the same
		t.Times = ""
	}
	if t.Precision == layers.Float32 {
		t.Precision = ""
	}
	if t.Wire == ergoflow.WireFloat32 {
		t.Wire = ""
	}
	raw, err := json.Marshal(struct {
		Format   string   `json:"format"`
		Seed     uint64   `json:"seed"`
		Data     string   `json:"data"`
		Model    Model    `json:"model"`
		Probes   *scaled  `json:"probes,omitempty"`
		Training Training `json:"training"`
	}{Format, e.Seed, e.Data.Hash(), e.Model, e.scaledProbes(), t})
	if err != nil {
		panic(fmt.Sprintf("experiment: hash of an unvalidated configuration: %v", err))
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// reproducibleGroups is how many groups of shards a reproducible run has, and so
// how many workers it can have. Each costs a gradient of its own.
const reproducibleGroups = 8

// groups of shards whose gradients are rounded as a whole; zero where none are.
func (e Experiment) groups() int {
	if !e.Training.Reproducible {
		return 0
	}
	return min(reproducibleGroups, e.Data.Shards)
}

// Plan is what the coordinator needs to conduct the run. The error is that of
// encoding a configuration that Validate would refuse.
func (e Experiment) Plan() (ergoflow.Plan, error) {
	if err := e.Validate(); err != nil {
		return ergoflow.Plan{}, err
	}
	config, err := json.Marshal(e)
	if err != nil {
		return ergoflow.Plan{}, fmt.Errorf("encode experiment %s: %w", e.Name, err)
	}
	return ergoflow.Plan{
		Run:             e.Hash(),
		Experiment:      e.Name + "/" + e.Preset,
		Dataset:         e.Data.Hash(),
		Shards:          e.Data.Shards,
		Groups:          e.groups(),
		Steps:           ergoflow.Step(e.Steps()),
		CheckpointEvery: ergoflow.Step(e.Training.CheckpointEvery),
		Config:          config,
	}, nil
}

// Parse reads the JSON of an Experiment, as a Plan or a checkpoint carries it.
// Unknown fields and anything Validate refuses are errors.
func Parse(config []byte) (Experiment, error) {
	var e Experiment
	d := json.NewDecoder(bytes.NewReader(config))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return Experiment{}, fmt.Errorf("decode experiment: %w", err)
	}
	if d.More() {
		return Experiment{}, fmt.Errorf("decode experiment: data after the configuration at byte %d", d.InputOffset())
	}
	if err := e.Validate(); err != nil {
		return Experiment{}, err
	}
	return e, nil
}
