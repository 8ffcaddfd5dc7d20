// Package state is the whole of a training run between two steps. Its encoding
// is what checkpoints store, what a worker sends to one that joins, and what is
// exported: one safetensors file (version 3 of this use of the format) with
//
//	parameters/<name>   F32, shape of the parameter
//	adam.m/<name>       F32, the same shape: first moments
//	adam.v/<name>       F32, the same shape: second moments
//	outer/<name>        F32, the same shape, in version 4 alone: velocity of the outer optimizer
//	losses              F64 [step], mean loss of every step taken
//	ledger.steps        I64 [n], word of each of the last n steps
//	ledger.words        I64 [stretches, shards], sums of words
//	ledger.users        I64 [stretches, shards], which workers used the shard
//
// and in __metadata__, all as text
//
//	format              "ergoflow-state-3", with outer/<name> "ergoflow-state-4"
//	step                updates applied, decimal
//	run                 hash of the configuration
//	normalisation       JSON, as shard.Normalisation; with state[k] the flow's coordinates
//	                    are (x_k − mean)/std
//	config              JSON, the whole experiment
//	ledger              JSON, the stretches of data/sets/ledger
//	content_sha256      of exports alone: see Seal
//
// Version 2 had no ledger; it is still read. Version 4 is of runs with local steps.
//
// Python reads the parameters with safetensors.numpy.load_file.
package state

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/safetensors"
	"github.com/ergoflow/ergoflow/model/network/parameters"
)

const (
	format     = "ergoflow-state-3"
	outer      = "ergoflow-state-4"
	unledgered = "ergoflow-state-2"

	formatPrefix = "ergoflow-state-"
	newest       = 4
)

// ErrCorrupt means that bytes are no encoded state, or a damaged one.
var ErrCorrupt = errors.New("not a valid training state")

// State after Step updates. Parameters, M and V have Layout.Size() elements.
type State struct {
	Step          ergoflow.Step
	Run           string
	Layout        parameters.Layout
	Parameters    []float32
	M, V          []float32 // moments of Adam
	Outer         []float32 // velocity of the outer optimizer (optim.Outer); nil: zero, or there is none
	Losses        []float64 // one for each step
	Ledger        ledger.Ledger
	Normalisation shard.Normalisation
	Config        json.RawMessage
}

// Fresh is the state before the first step.
func Fresh(layout parameters.Layout, seed uint64) *State {
	return &State{
		Layout:     layout,
		Parameters: layout.Initialise(seed),
		M:          make([]float32, layout.Size()),
		V:          make([]float32, layout.Size()),
	}
}

// Validate reports lengths that do not fit together and numbers that are not
// finite.
func (s *State) Validate() error {
	if err := s.Layout.Validate(); err != nil {
		return err
	}
	size := s.Layout.Size()
	for _, vector := range []struct {
		name   string
		values []float32
	}{{"parameters", s.Parameters}, {"adam.m", s.M}, {"adam.v", s.V}, {"outer", s.Outer}} {
		if len(vector.values) != size && (vector.name != "outer" || s.Outer != nil) {
			return fmt.Errorf("%s has %d elements instead of %d", vector.name, len(vector.values), size)
		}
		for i, x := range vector.values {
			if x-x != 0 { // NaN or infinite
				return fmt.Errorf("%s[%d] is %g", vector.name, i, x)
			}
		}
	}
	if err := s.Normalisation.Validate(); err != nil {
		return err
	}
	if s.Step < 0 || int64(len(s.Losses)) != int64(s.Step) {
		return fmt.Errorf("%d losses at step %d", len(s.Losses), s.Step)
	}
	return s.Ledger.Validate(s.Step)
}

// ParameterHash is the SHA-256 of the parameters, by which workers find out
// whether they hold the same state.
func (s *State) ParameterHash() [sha256.Size]byte { return HashParameters(s.Parameters) }

// HashParameters is the SHA-256 of a vector's little-endian bytes.
func HashParameters(theta []float32) [sha256.Size]byte {
	h := sha256.New()
	writeFloats(h, theta)
	return [sha256.Size]byte(h.Sum(nil))
}

func writeFloats(h hash.Hash, values []float32) {
	var chunk [4096]byte
	for len(values) > 0 {
		n := min(len(values), len(chunk)/4)
		for i, x := range values[:n] {
			binary.LittleEndian.PutUint32(chunk[4*i:], math.Float32bits(x))
		}
		h.Write(chunk[:4*n])
		values = values[n:]
	}
}

// vectors of a state of that format by the prefix of their tensors.
func (s *State) vectors(of string) []vector {
	all := []vector{{"parameters/", &s.Parameters}, {"adam.m/", &s.M}, {"adam.v/", &s.V}, {"outer/", &s.Outer}}
	if of != outer {
		return all[:3]
	}
	return all
}

// format is that of the state's encoding.
func (s *State) format() string {
	if s.Outer != nil {
		return outer
	}
	return format
}

type vector struct {
	prefix string
	values *[]float32
}

// Encode returns the bytes of the state. Equal states have equal bytes.
func (s *State) Encode() ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	normalisation, err := json.Marshal(s.Normalisation)
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	stretches, account, err := encodeLedger(s.Ledger)
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	offsets := s.Layout.Offsets()
	var tensors []safetensors.Tensor
	for _, vector := range s.vectors(s.format()) {
		for i, t := range s.Layout {
			part := (*vector.values)[offsets[i]:offsets[i+1]]
			tensors = append(tensors, safetensors.Float32(vector.prefix+t.Name, t.Shape, part))
		}
	}
	tensors = append(tensors, safetensors.Float64("losses", []int{len(s.Losses)}, s.Losses))
	tensors = append(tensors, account...)
	encoded, err := safetensors.Encode(tensors, map[string]string{
		"format":        s.format(),
		"step":          strconv.FormatInt(int64(s.Step), 10),
		"run":           s.Run,
		"normalisation": string(normalisation),
		"config":        string(s.Config),
		"ledger":        stretches,
	})
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	return encoded, nil
}

// Decode returns the state of the bytes, which it does not keep. The layout
// comes from the configuration: bytes of another network are refused.
func Decode(encoded []byte, layout parameters.Layout) (*State, error) {
	s, err := decode(encoded, layout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return s, nil
}

func decode(encoded []byte, layout parameters.Layout) (*State, error) {
	file, err := safetensors.Decode(encoded)
	if err != nil {
		return nil, err
	}
	if err := checkSeal(file); err != nil {
		return nil, err
	}
	metadata := file.Metadata()
	of := metadata["format"]
	if number, isState := strings.CutPrefix(of, formatPrefix); isState {
		if n, err := strconv.Atoi(number); err == nil && n > newest {
			return nil, ergoflow.CheckFormat("the training state", n, newest)
		}
	}
	if !slices.Contains([]string{unledgered, format, outer}, of) {
		return nil, fmt.Errorf("format is %q, this program reads %q, %q and %q", of, unledgered, format, outer)
	}
	step, err := strconv.ParseInt(metadata["step"], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("step: %w", err)
	}
	s := &State{Step: ergoflow.Step(step), Run: metadata["run"], Layout: layout, Config: json.RawMessage(metadata["config"])}
	if len(s.Config) > 0 && !json.Valid(s.Config) {
		return nil, errors.New("config is not JSON")
	}
	if err := json.Unmarshal([]byte(metadata["normalisation"]), &s.Normalisation); err != nil {
		return nil, fmt.Errorf("normalisation: %w", err)
	}
	vectors := s.vectors(of)
	wanted := len(vectors)*len(layout) + 1
	if of != unledgered {
		wanted += len(ledgerTensors)
	}
	if got := len(file.Tensors()); got != wanted {
		return nil, fmt.Errorf("%d tensors instead of %d", got, wanted)
	}
	for _, vector := range vectors {
		if *vector.values, err = gather(file, vector.prefix, layout); err != nil {
			return nil, err
		}
	}
	losses, err := file.Tensor("losses")
	if err != nil {
		return nil, err
	}
	values, err := losses.Float64s()
	if err != nil {
		return nil, err
	}
	s.Losses = append([]float64(nil), values...)
	if of != unledgered {
		if s.Ledger, err = decodeLedger(file, metadata["ledger"]); err != nil {
			return nil, err
		}
	}
	return s, s.Validate()
}

// gather concatenates the tensors of one vector in the order of the layout.
func gather(file *safetensors.File, prefix string, layout parameters.Layout) ([]float32, error) {
	flat := make([]float32, 0, layout.Size())
	for _, want := range layout {
		t, err := file.Tensor(prefix + want.Name)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(t.Shape, want.Shape) {
			return nil, fmt.Errorf("tensor %q has shape %v instead of %v", t.Name, t.Shape, want.Shape)
		}
		values, err := t.Float32s()
		if err != nil {
			return nil, err
		}
		flat = append(flat, values...)
	}
	return flat, nil
}
