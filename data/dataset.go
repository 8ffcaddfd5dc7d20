// Package data describes data sets (Dataset), checks them with a short simulation
// (PilotRun) and generates their shards (Generate). The bytes of a shard depend on the
// description alone: any machine can make any shard again.
//
// Below it are equations (the families), simulation (the chains and probes) and sets (how
// shards are stored, and how batches are composed of them).
package data

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Dataset describes a data set: Functions for training in Shards equal shards,
// and HeldOut functions for evaluation in one more shard.
type Dataset struct {
	Family    string `json:"family" yaml:"family"` // name or definition, for family.ByName
	Seed      uint64 `json:"seed" yaml:"seed"`
	Functions int    `json:"functions" yaml:"functions"` // for training
	HeldOut   int    `json:"held_out" yaml:"held_out"`   // for evaluation
	Shards    int    `json:"shards" yaml:"shards"`       // of the training functions
	Samples   int    `json:"samples" yaml:"samples"`     // stored per training function
	// ReferenceSamples are stored per held-out function; 0: as many as Samples.
	ReferenceSamples int `json:"reference_samples" yaml:"reference_samples"`
	// Training and Reference say how training and reference samples are simulated. Exact
	// draws ignore both; some families have only those.
	Training  simulate.Scheme `json:"training" yaml:"training"`
	Reference simulate.Scheme `json:"reference" yaml:"reference"`
	// Draws and ReferenceDraws say how training and reference samples are drawn. Empty
	// means Simulated, with the hash of data sets that are older than this choice.
	Draws          Draws `json:"draws,omitempty" yaml:"draws"`
	ReferenceDraws Draws `json:"reference_draws,omitempty" yaml:"reference_draws"`
	// HeldOutFrom is the number of the first held-out function; 0: after all training
	// functions, whose numbers skip those held out. So data sets of different sizes can
	// share their held-out functions.
	HeldOutFrom int `json:"held_out_from,omitempty" yaml:"held_out_from"`
	// First is where the training functions begin in the sequence of all training functions,
	// so that data can grow and keep the newest: see Window.
	First int `json:"first,omitempty" yaml:"first"`
	// Imports are functions that a user gave, the newest last. They take the place of the
	// first training functions, so that counts, shards and batches stay.
	Imports []Import `json:"imports,omitempty" yaml:"imports"`
}

// Draws says how samples are drawn.
type Draws string

const (
	// Simulated samples are chains, by the integrator of their scheme. Families that define their functions
	// by their laws (family.Sampler) draw from those laws.
	Simulated Draws = "simulated"
	// Exact samples are independent draws from the invariant law, for families that know
	// it (family.HasExactDraws).
	Exact Draws = "exact"
)

func (d Draws) validate(f family.Family) error {
	switch d {
	case "", Simulated:
		return nil
	case Exact:
		if !family.HasExactDraws(f) {
			return fmt.Errorf("%q draws of %s: %w", d, f.Name(), family.ErrNoLaw)
		}
		return nil
	}
	return fmt.Errorf("%.40q is unknown: must be %s or %s", d, Simulated, Exact)
}

// format enters the hash. It changes when the same description gives other bytes.
const format = 4

// Bounds of a Dataset.
const (
	MaxFunctions = 1 << 24
	MaxPerShard  = 1 << 19 // functions
	MaxSamples   = 1 << 22
	MaxFirst     = 1 << 30
	// maxHeld bounds the values of a shard's fields after the first: they stay in memory,
	// at most 512 MiB, while the first is written.
	maxHeld = 1 << 27
	// Time steps of chains and probes out of this range are typing errors.
	LeastStep, LargestStep = 1e-9, 1.
)

// ErrFamily is an error of the family that a data set names or defines.
var ErrFamily = errors.New("data.family")

// Resolve returns the family of a valid data set; callers hand it on, since a definition
// is compiled each time. The error is ErrFamily, or names the first field that is out of
// range by its path in an experiment's YAML.
func (d Dataset) Resolve() (family.Family, error) {
	f, err := family.ByName(d.Family)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFamily, err)
	}
	return f, d.validate(f)
}

func (d Dataset) validate(f family.Family) error {
	for _, field := range []struct {
		name            string
		value, min, max int
	}{
		{"functions", d.Functions, 1, MaxFunctions},
		{"held_out", d.HeldOut, 1, MaxPerShard},
		{"held_out_from", d.HeldOutFrom, 0, MaxFunctions},
		{"first", d.First, 0, MaxFirst},
		{"shards", d.Shards, 1, ergoflow.MaxShards},
		{"samples", d.Samples, 1, MaxSamples},
		{"reference_samples", d.ReferenceSamples, 0, MaxSamples},
	} {
		if field.value < field.min || field.value > field.max {
			return fmt.Errorf("data.%s is %d: must be from %d to %d", field.name, field.value, field.min, field.max)
		}
	}
	if d.Functions%d.Shards != 0 {
		return fmt.Errorf("data.functions is %d: must be a multiple of data.shards (%d)", d.Functions, d.Shards)
	}
	if d.Functions/d.Shards > MaxPerShard {
		return fmt.Errorf("data.shards is %d: must leave at most %d functions per shard, not %d", d.Shards, MaxPerShard, d.Functions/d.Shards)
	}
	if err := cmp.Or(d.heldOutBetweenShards(), d.validateImports(f)); err != nil {
		return err
	}
	if held, most := heldValues(f), max(d.Functions/d.Shards, d.HeldOut); held > 0 && most > maxHeld/held {
		return fmt.Errorf("data.shards is %d: must leave at most %d functions per shard, not %d: each has %d values in fields after the first", d.Shards, maxHeld/held, most, held)
	}
	for _, s := range []struct {
		path    string
		scheme  simulate.Scheme
		samples int
	}{
		{"data.training", d.Training, d.Samples},
		{"data.reference", d.Reference, d.StoredReference()},
	} {
		if err := ValidateScheme(s.path, s.scheme, s.samples, f); err != nil {
			return err
		}
	}
	if timed, ok := f.(family.Timed); ok {
		if err := d.equationsApart(timed); err != nil {
			return err
		}
	}
	if err := d.Draws.validate(f); err != nil {
		return fmt.Errorf("data.draws: %w", err)
	}
	if err := d.ReferenceDraws.validate(f); err != nil {
		return fmt.Errorf("data.reference_draws: %w", err)
	}
	return nil
}

// ValidateScheme reports the first field of a scheme at a path of an experiment's YAML
// that is out of range, or does not suit that many samples of functions of f.
func ValidateScheme(path string, s simulate.Scheme, samples int, f family.Family) error {
	if err := s.Validate(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if s.DT < LeastStep || s.DT > LargestStep {
		return fmt.Errorf("%s.dt is %g: must be from %g to %g", path, s.DT, LeastStep, LargestStep)
	}
	if samples%s.Chains != 0 {
		return fmt.Errorf("%s.chains is %d: must be a divisor of the %d samples", path, s.Chains, samples)
	}
	if n, most := s.Start.Axes(), axes(f); n > 1 && n != most {
		if most == 1 {
			return fmt.Errorf("%s.start has %d laws: must be one, for a family on the line", path, n)
		}
		return fmt.Errorf("%s.start has %d laws: must be one, or %d", path, n, most)
	}
	if err := startsWithin(f, s.Start); err != nil {
		return fmt.Errorf("%s.start: %w", path, err)
	}
	if timed, ok := f.(family.Timed); ok {
		if err := timed.Observes(s, samples); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return suits(path, s, f)
}

// suits refuses an integrator or a tempering that does not suit the form of a family's first function.
// The message begins with the word integrator or tempering.
func suits(path string, s simulate.Scheme, f family.Family) error {
	if s.Integrator == simulate.Euler && !s.Tempering.On() {
		return nil
	}
	function, err := f.Function(0, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := s.Fits(function.System); err != nil {
		return fmt.Errorf("%s.%w", path, err)
	}
	return nil
}

// axes is the number of laws that a start may have besides one.
func axes(f family.Family) int {
	if _, ok := f.(family.Spatial); ok {
		return f.Dim()
	}
	return min(f.Dim(), 2)
}

// SampleSpec describes the samples of count functions: as in training for the purpose
// shard.Train, as in the reference for any other. Each purpose is an independent set.
func (d Dataset) SampleSpec(purpose string, first, count int) family.SampleSpec {
	draws := family.SampleSpec{
		First: first, Count: count, Seed: d.Seed, Scheme: d.Reference, Purpose: purpose, Exact: d.ReferenceDraws == Exact,
	}
	if purpose == shard.Train {
		draws.Scheme, draws.Exact = d.Training, d.Draws == Exact
	}
	return draws
}

// heldValues is how many values of one function writeFields holds in memory.
func heldValues(f family.Family) int {
	held := 0
	for k, field := range f.Fields() {
		if k > 0 {
			held += field.Size()
		}
	}
	return held
}

// StoredReference is how many samples the held-out shard has of each function.
func (d Dataset) StoredReference() int { return cmp.Or(d.ReferenceSamples, d.Samples) }

// Hash names the data set: 32 hexadecimal digits of everything that its bytes depend on.
func (d Dataset) Hash() string {
	// Equivalent descriptions have the same hash.
	d.ReferenceSamples = d.StoredReference()
	if d.HeldOutFrom == d.Functions {
		d.HeldOutFrom = 0
	}
	for _, draws := range []*Draws{&d.Draws, &d.ReferenceDraws} {
		if *draws == Simulated {
			*draws = ""
		}
	}
	canonical, err := json.Marshal(struct {
		Format int `json:"format"`
		Dataset
	}{format, d})
	if err != nil { // only numbers that JSON lacks, which Resolve refuses
		panic(fmt.Sprintf("data: hash of an invalid description: %v", err))
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:16])
}

// header describes shard k.
func (d Dataset) header(k int, f family.Family) shard.Header {
	first, count := d.ShardRange(k)
	h := shard.Header{
		Family: f.Name(), Dataset: d.Hash(), Shard: k, Purpose: shard.Train,
		First: first, Count: count, Dim: f.Dim(), Fields: f.Fields(), Samples: d.Samples,
	}
	_, h.Distinct = f.(family.Spatial)
	if k == d.HeldOutShard() {
		h.Purpose, h.Samples = shard.Reference, d.StoredReference()
	}
	return h
}

// TrainingManifests are those of all training shards, by their numbers. It fails with
// shard.ErrNotFound if one is missing.
func (d Dataset) TrainingManifests(store *shard.Dir) ([]shard.Manifest, error) {
	manifests := make([]shard.Manifest, d.Shards)
	for k := range manifests {
		var err error
		if manifests[k], err = store.Manifest(d.Hash(), k); err != nil {
			return nil, err
		}
	}
	return manifests, nil
}
