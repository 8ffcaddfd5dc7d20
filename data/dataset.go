// Package data describes data sets and makes their shards. A data set follows
// from its description alone: any node makes any shard again, byte for byte.
package data

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

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
	// How training and reference samples are simulated. Exact draws, of which
	// some families have no others, ignore both.
	Training  simulate.Scheme `json:"training" yaml:"training"`
	Reference simulate.Scheme `json:"reference" yaml:"reference"`
	// How training and reference samples are drawn. The empty text means
	// Simulated, and leaves a data set the hash it had before there was a choice.
	Draws          Draws `json:"draws,omitempty" yaml:"draws"`
	ReferenceDraws Draws `json:"reference_draws,omitempty" yaml:"reference_draws"`
	// HeldOutFrom is the number of the first held-out function, around which those
	// for training are numbered; 0: after them all. So data sets of other sizes are
	// judged by the same functions.
	HeldOutFrom int `json:"held_out_from,omitempty" yaml:"held_out_from"`
}

// Draws says how samples come about.
type Draws string

const (
	// Simulated samples are chains of Euler–Maruyama, but for families that
	// define their functions by their laws: those draw from them.
	Simulated Draws = "simulated"
	// Exact samples are independent draws from the invariant law, for families
	// that know it (family.Exact).
	Exact Draws = "exact"
)

func (d Draws) validate(f family.Family) error {
	switch d {
	case "", Simulated:
		return nil
	case Exact:
		if _, ok := f.(family.Exact); !ok {
			return fmt.Errorf("%q draws of %s: %w", d, f.Name(), family.ErrNoLaw)
		}
		return nil
	}
	return fmt.Errorf("%.40q is none of: %s, %s", d, Simulated, Exact)
}

// format changes when the same description comes to mean other bytes.
const format = 4

// Bounds of a Dataset.
const (
	MaxFunctions = 1 << 24
	MaxPerShard  = 1 << 19 // functions
	MaxShards    = 1 << 16
	MaxSamples   = 1 << 22
	// maxHeld bounds the values of a shard's fields after the first, which are
	// held in memory while the first is written: 512 MiB.
	maxHeld = 1 << 27
	// Time steps beyond these, of chains and of probes, are typing errors.
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
		{"shards", d.Shards, 1, MaxShards},
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
	if share := d.Functions / d.Shards; d.HeldOutFrom < d.Functions && d.HeldOutFrom%share != 0 {
		return fmt.Errorf("data.held_out_from is %d, inside a training shard: must be a multiple of %d, or at least %d", d.HeldOutFrom, share, d.Functions)
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
	if timed, ok := f.(family.Timed); ok {
		if err := timed.Observes(s, samples); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// equationsApart reports an equation of which some times are held out and others
// are for training: the held-out functions would not be new.
func (d Dataset) equationsApart(f family.Timed) error {
	first, count := d.ShardRange(d.HeldOutShard())
	neighbours := [][2]int{{min(first, d.Functions) - 1, first}} // a training function and a held-out one
	if first < d.Functions {
		neighbours = append(neighbours, [2]int{first + count, first + count - 1})
	}
	for _, n := range neighbours {
		if f.Equation(n[0]) == f.Equation(n[1]) {
			return fmt.Errorf("data.functions: training function %d is of the equation of the held-out one %d, want multiples of %d for functions, held_out and held_out_from",
				n[0], n[1], len(f.Times())-1)
		}
	}
	return nil
}

// DrawsOf asks for samples of count functions as the data set has them: those of
// training for the purpose shard.Train, those of reference for any other, each
// purpose an independent set.
func (d Dataset) DrawsOf(purpose string, first, count int) family.Draws {
	draws := family.Draws{
		First: first, Count: count, Seed: d.Seed, Scheme: d.Reference, Purpose: purpose, Exact: d.ReferenceDraws == Exact,
	}
	if purpose == shard.Train {
		draws.Scheme, draws.Exact = d.Training, d.Draws == Exact
	}
	return draws
}

// heldValues is how many values of one function a writer of shards holds.
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

// Hash names the data set: 32 hexadecimal digits that follow from everything
// its bytes depend on.
func (d Dataset) Hash() string {
	// Two ways to say the same have one hash.
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

// HeldOutShard is the number of the held-out shard, which follows the training
// shards.
func (d Dataset) HeldOutShard() int { return d.Shards }

// ShardRange returns the functions of shard k: training shards are 0 to
// Shards-1, the held-out shard is Shards.
func (d Dataset) ShardRange(k int) (first, count int) {
	if k == d.HeldOutShard() {
		return d.firstHeldOut(), d.HeldOut
	}
	count = d.Functions / d.Shards
	return d.TrainingFunction(k * count), count
}

// TrainingFunction is the number within the family of the i-th training function.
func (d Dataset) TrainingFunction(i int) int {
	if i >= d.firstHeldOut() {
		i += d.HeldOut
	}
	return i
}

func (d Dataset) firstHeldOut() int { return cmp.Or(d.HeldOutFrom, d.Functions) }

// header describes shard k.
func (d Dataset) header(k int, f family.Family) shard.Header {
	first, count := d.ShardRange(k)
	h := shard.Header{
		Family: f.Name(), Dataset: d.Hash(), Shard: k, Purpose: shard.Train,
		First: first, Count: count, Dim: f.Dim(), Fields: f.Fields(), Samples: d.Samples,
	}
	if k == d.HeldOutShard() {
		h.Purpose, h.Samples = shard.Reference, d.StoredReference()
	}
	return h
}

// Normalisation reads the manifests of all training shards; it fails with
// shard.ErrNotFound if one is missing.
func (d Dataset) Normalisation(store *shard.Dir) (shard.Normalisation, error) {
	manifests := make([]shard.Manifest, d.Shards)
	for k := range manifests {
		var err error
		if manifests[k], err = store.Manifest(d.Hash(), k); err != nil {
			return nil, fmt.Errorf("normalisation: %w", err)
		}
	}
	return shard.Normalise(manifests)
}
