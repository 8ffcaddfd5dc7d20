// Package experiment describes a run completely: the family of equations, the amount of data,
// the network, its training and its evaluation. All results of a run depend on this value
// alone, up to rounding; nothing is read from the environment.
//
// A named experiment (Names) has presets: full (the paper's sizes), scaled (all functions,
// smaller batches), smoke (seconds), and some have demo (minutes on two cores) and best (our
// improvements at the cost of scaled). Load starts from a preset, applies a YAML file and
// then single settings.
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
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// Format is the version of the meaning of a configuration. It enters Hash, so that a change of
// meaning never finds the checkpoints of the old one.
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
	// Distillation is of networks that follow another one's flow; nil: the network is trained
	// on samples.
	Distillation *Distillation `json:"distillation,omitempty" yaml:"distillation"`
}

// Training sizes the batch and the AdamW/OneCycle schedule. One batch is
// BatchFunctions × BatchSamples pairs (X₀, X₁).
type Training struct {
	BatchFunctions int `json:"batch_functions" yaml:"batch_functions"` // B, functions in a batch; a multiple of data.shards
	BatchSamples   int `json:"batch_samples" yaml:"batch_samples"`     // S, samples of each; divides data.samples
	// MicroBatch, when not zero, bounds the functions that a device computes at a time; the
	// gradients of a larger part of the batch are summed. Functions of one shard stay
	// together.
	MicroBatch int `json:"micro_batch,omitempty" yaml:"micro_batch"`
	// Precision of the matrix products in the gradient; empty means layers.Float32.
	// Parameters, optimizer, sums and evaluation are always float32.
	Precision layers.Precision `json:"precision,omitempty" yaml:"precision"`
	// Wire is the format of gradients between workers; empty means ergoflow.WireFloat32.
	Wire ergoflow.Wire `json:"wire,omitempty" yaml:"wire"`
	// Reproducible makes parameters bitwise identical for any set of workers on the same
	// kind of device: gradients of fixed groups of shards are summed as integers. It is
	// slower.
	Reproducible bool `json:"reproducible,omitempty" yaml:"reproducible"`
	// SyncEvery, when above 1, is the number of steps that each worker takes on its own part of
	// the batches before the workers average what they have learned (local SGD, DiLoCo).
	SyncEvery int `json:"sync_every,omitempty" yaml:"sync_every"`
	// Coupling of noise and samples within a function.
	Coupling flow.Coupling `json:"coupling" yaml:"coupling"`
	// Points, when not zero, is the number of pairs (x, t) that all functions of a batch share,
	// instead of pairs of their own, on the line with quantile coupling.
	Points int `json:"points,omitempty" yaml:"points"`
	// Times is the law of t in the loss; empty means flow.Uniform.
	Times flow.Times `json:"times,omitempty" yaml:"times"`
	// States are the flow's coordinates. Load makes them flow.Standardised for a family
	// that a definition gives; empty means flow.Raw, also in checkpoints of older builds.
	States flow.States `json:"states,omitempty" yaml:"states"`
	// Sensors, when not empty, replaces the number of sensors of a network: the steps take
	// these numbers in turn.
	Sensors []int `json:"sensors,omitempty" yaml:"sensors"`
	Epochs  int   `json:"epochs" yaml:"epochs"` // passes over every stored sample
	// Steps, when not zero, is the number of updates, instead of that of Epochs passes.
	Steps           int     `json:"steps" yaml:"steps"`
	LearningRate    float64 `json:"learning_rate" yaml:"learning_rate"` // peak of OneCycle
	WeightDecay     float64 `json:"weight_decay" yaml:"weight_decay"`   // decoupled
	ClipNorm        float64 `json:"clip_norm" yaml:"clip_norm"`         // of the whole gradient
	CheckpointEvery int     `json:"checkpoint_every" yaml:"checkpoint_every"`
	// Start is the state from which a warm start begins; nil: random parameters.
	Start *Start `json:"start,omitempty" yaml:"start"`
}

// Evaluation describes the evaluation of a trained state on held-out functions.
type Evaluation struct {
	Functions int    `json:"functions" yaml:"functions"` // the first ones of data.held_out
	Samples   int    `json:"samples" yaml:"samples"`     // drawn per function, compared with as many reference samples
	Solver    string `json:"solver" yaml:"solver"`       // of the flow from t=0 to t=1: rk4-4, euler-8, dopri5
	// Sensors, when not zero, replaces the number of sensors of the network in training.
	Sensors int `json:"sensors,omitempty" yaml:"sensors"`
	// Blur is √ε of the Sinkhorn divergence with cost ½|x−y|²; Scaling is the
	// ratio of successive blurs in its annealing (GeomLoss: 0.05 and 0.5).
	Blur    float64 `json:"blur" yaml:"blur"`
	Scaling float64 `json:"scaling" yaml:"scaling"`
	MCMC    []MCMC  `json:"mcmc" yaml:"mcmc"` // one row each
}

// MCMC is one baseline of chains: the cost and the result of sampling without a network.
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

// LedgerBatches is what the ledger of a state of the run is verified against.
func (e Experiment) LedgerBatches() ledger.Batches {
	return ledger.Batches{
		Plan:  e.BatchPlan(),
		First: func(shard int) int { first, _ := e.Data.ShardRange(shard); return first },
	}
}

// Steps is the number of optimizer updates: Training.Steps, or that of Epochs passes,
// Epochs·F·N/(B·S), or that of the distillation.
func (e Experiment) Steps() int {
	if e.Distillation != nil {
		return e.Distillation.Steps
	}
	if e.Training.Steps > 0 {
		return e.Training.Steps
	}
	perStep := e.Training.BatchFunctions * e.Training.BatchSamples
	if perStep <= 0 {
		return 0
	}
	return e.Training.Epochs * e.Data.Functions * e.Data.Samples / perStep
}

// Hash names the trained state: configurations with the same hash train the same parameters,
// bit for bit if training is reproducible. Labels, checkpoint interval and evaluation do not
// enter it, so they may change without training again; nor does the micro-batch, unless
// training is reproducible. The held-out data do, since one hash names all shards of a data
// set.
func (e Experiment) Hash() string {
	t := e.Training
	t.Epochs, t.Steps, t.CheckpointEvery = 0, e.Steps(), 0
	if !t.Reproducible {
		t.MicroBatch = 0
	}
	if t.Times == flow.Uniform { // defaults have the hash of empty fields
		t.Times = ""
	}
	if t.States == flow.Raw {
		t.States = ""
	}
	if t.Precision == layers.Float32 {
		t.Precision = ""
	}
	if t.Wire == ergoflow.WireFloat32 {
		t.Wire = ""
	}
	if t.SyncEvery == 1 {
		t.SyncEvery = 0
	}
	raw, err := json.Marshal(struct {
		Format    string        `json:"format"`
		Seed      uint64        `json:"seed"`
		Data      string        `json:"data"`
		Model     Model         `json:"model"`
		Probes    *scaled       `json:"probes,omitempty"`
		Training  Training      `json:"training"`
		Distilled *Distillation `json:"distillation,omitempty"`
	}{Format, e.Seed, e.Data.Hash(), e.Model, e.scaledProbes(), t, e.Distillation})
	if err != nil {
		panic(fmt.Sprintf("experiment: hash of an unvalidated configuration: %v", err))
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// reproducibleGroups is the number of groups of shards in a reproducible run, which bounds its
// workers. Each group needs a gradient of its own.
const reproducibleGroups = 8

// groups is the number of groups of shards whose gradients are rounded together; 0 if training
// is not reproducible.
func (e Experiment) groups() int {
	if !e.Training.Reproducible {
		return 0
	}
	return min(reproducibleGroups, e.Data.Shards)
}

// Plan is what the coordinator needs to run the experiment. It fails for an invalid
// experiment.
func (e Experiment) Plan() (ergoflow.Plan, error) {
	if err := e.Validate(); err != nil {
		return ergoflow.Plan{}, err
	}
	if e.Distillation != nil {
		return ergoflow.Plan{}, fmt.Errorf("%w: `ergoflow distill` trains it, not a cluster", ErrDistilled)
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
		Start:           e.Training.Start.parameters(),
	}, nil
}

// Parse reads the JSON of an Experiment, as a Plan or a checkpoint contains it. Unknown fields
// and invalid experiments are errors.
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
