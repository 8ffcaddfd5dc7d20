package ergoflow

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
)

// Version is the release of the program.
const Version = "0.1.0"

// MaxWorld bounds the members of a generation: the ranks of one ring.
const MaxWorld = 1024

// MaxState bounds an encoded training state, and so a checkpoint, in bytes.
const MaxState = 1 << 30

// Generation numbers one membership of the training group. Generations strictly
// increase, survive restarts of the coordinator and are never reused; zero is
// before the first.
type Generation uint64

// Step counts the optimizer updates of the whole group that have been applied:
// a state at step s is about to compute update s (counting from zero).
type Step int64

// Mark names a training state: its step, and the generation that made that step.
// Two states with one mark are equal. If no member of a generation is left, a later
// generation may make the same steps again. Then its states take precedence, however
// far the earlier one came, as a later term does in Raft. The zero Mark is the
// initial state.
type Mark struct {
	Generation Generation `json:"generation"`
	Step       Step       `json:"step"`
}

// Compare orders marks by generation, then by step. It is positive if a takes
// precedence over b, negative if b does, and zero if they are equal.
func (a Mark) Compare(b Mark) int {
	return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Step, b.Step))
}

func (a Mark) String() string { return fmt.Sprintf("step %d of generation %d", a.Step, a.Generation) }

// WorkerID names a worker for as long as its process lives.
type WorkerID string

// Wire is the number format in which workers send each other gradients. Sums are
// float32 in every format.
type Wire string

const (
	WireFloat32  Wire = "f32"
	WireBFloat16 Wire = "bf16"
	WireInt8     Wire = "int8" // the rounding error is added to the next gradient
)

// Wires lists the known ones.
func Wires() []Wire { return []Wire{WireFloat32, WireBFloat16, WireInt8} }

// Plan is what the coordinator must know of a run to conduct it. Of Config it reads
// the section data alone, for the jobs, and hands the rest to workers.
type Plan struct {
	Run             string          `json:"run"`              // hash of the configuration, in hexadecimal
	Experiment      string          `json:"experiment"`       // name and preset, for people
	Dataset         string          `json:"dataset"`          // hash of the data description: names the shard files
	Shards          int             `json:"shards"`           // training shards, placed on workers
	Groups          int             `json:"groups,omitempty"` // of consecutive shards that are placed as one; zero: each shard alone
	Steps           Step            `json:"steps"`            // optimizer updates in all
	CheckpointEvery Step            `json:"checkpoint_every"`
	Config          json.RawMessage `json:"config"` // the whole configuration
	// Start is the SHA-256 of the parameters with which the run begins, in hexadecimal. The
	// state with them is the run's checkpoint at step 0. Empty: random parameters.
	Start string `json:"start,omitempty"`
}

// MaxShards bounds the training shards of a data set.
const MaxShards = 1 << 16

// Other bounds of a plan, in bytes.
const (
	maxName   = 256
	maxConfig = 1 << 20
)

// Validate returns the first field that is out of range. The coordinator calls it
// before it accepts a run, a worker before it prepares for one.
func (p Plan) Validate() error {
	switch {
	case p.Run == "" || len(p.Run) > maxName:
		return fmt.Errorf("the name of the run has %d bytes, not 1 to %d", len(p.Run), maxName)
	case len(p.Experiment) > maxName:
		return fmt.Errorf("the name of the experiment has %d bytes, more than %d", len(p.Experiment), maxName)
	case p.Dataset == "" || len(p.Dataset) > maxName:
		return fmt.Errorf("the name of the data set has %d bytes, not 1 to %d", len(p.Dataset), maxName)
	case p.Shards < 1 || p.Shards > MaxShards:
		return fmt.Errorf("%d shards, not 1 to %d", p.Shards, MaxShards)
	case p.Groups < 0 || p.Groups > p.Shards:
		return fmt.Errorf("%d groups for %d shards", p.Groups, p.Shards)
	case p.Steps < 1:
		return fmt.Errorf("%d steps, fewer than one", p.Steps)
	case p.CheckpointEvery < 1:
		return fmt.Errorf("a checkpoint every %d steps", p.CheckpointEvery)
	case len(p.Start) > maxName:
		return fmt.Errorf("the hash of the parameters at the start has %d bytes, more than %d", len(p.Start), maxName)
	case len(p.Config) > maxConfig:
		return fmt.Errorf("the configuration has %d bytes, more than %d", len(p.Config), maxConfig)
	}
	return nil
}

// Units is how many parts of the data are placed on workers, and so how many
// workers can take part: groups of shards, or shards.
func (p Plan) Units() int {
	if p.Groups > 0 {
		return p.Groups
	}
	return p.Shards
}

// Unit returns the shards [first, end) of part u. Parts differ by one shard at
// most.
func (p Plan) Unit(u int) (first, end int) {
	return u * p.Shards / p.Units(), (u + 1) * p.Shards / p.Units()
}

// EqualWork reports whether two plans of a run agree in what its hash covers.
func (p Plan) EqualWork(q Plan) bool {
	return p.Dataset == q.Dataset && p.Shards == q.Shards && p.Groups == q.Groups && p.Steps == q.Steps && p.Start == q.Start
}

// EqualSettings reports whether two plans of a run agree in what its hash leaves out.
func (p Plan) EqualSettings(q Plan) bool {
	return p.Experiment == q.Experiment && p.CheckpointEvery == q.CheckpointEvery && bytes.Equal(p.Config, q.Config)
}
