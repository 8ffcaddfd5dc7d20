package shard

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"github.com/ergoflow/ergoflow/data/safetensors"
)

// Format numbers the layout that the package documentation describes.
const Format = 1

var (
	// ErrCorrupt: a shard's files do not agree with one another. Without its
	// manifest a shard is not there, and generating the data set makes it again.
	ErrCorrupt = errors.New("corrupt shard (delete its .json file and generate again)")
	// ErrNotFound: no committed shard of that number.
	ErrNotFound = errors.New("shard not found")
)

// The purposes of a shard.
const (
	Train     = "train"
	Reference = "reference" // held out for evaluation
)

// Header says which shard it is and what shape it has.
type Header struct {
	Family  string `json:"family"`
	Dataset string `json:"dataset"` // hash of the data set's description
	Shard   int    `json:"shard"`
	Purpose string `json:"purpose"` // Train or Reference
	First   int    `json:"first"`   // number of its first function in the experiment
	Count   int    `json:"count"`   // functions, F
	Grid    int    `json:"grid"`    // nodes of each coefficient, G
	Samples int    `json:"samples"` // per function, N
}

// Manifest describes a committed shard.
type Manifest struct {
	Format int `json:"format"`
	Header
	Bytes     int64   `json:"bytes"`     // of the data file
	SHA256    string  `json:"sha256"`    // of the data file, hexadecimal
	Drift     Moments `json:"drift"`     // of all values of the tensor
	Diffusion Moments `json:"diffusion"` // of all values of the tensor
	// Simulator made the samples, of a family that is simulated: an instruction
	// set, "avx2" say, of which all give the same, or a device.
	Simulator string `json:"simulator,omitempty"`
	CreatedBy string `json:"created_by"` // program and version
}

const (
	maxManifest  = 1 << 16 // bytes
	maxFunctions = 1 << 26 // per shard; likewise nodes and samples per function
	maxShard     = 99_999
)

// Validate checks that the shape is possible and the names are safe in a path.
func (h Header) Validate() error {
	if err := checkHash(h.Dataset); err != nil {
		return err
	}
	if !isName(h.Family) {
		return fmt.Errorf("family %q: want lower-case letters, digits and underscores", h.Family)
	}
	if h.Purpose != Train && h.Purpose != Reference {
		return fmt.Errorf("purpose %q: want %s or %s", h.Purpose, Train, Reference)
	}
	if h.Shard < 0 || h.Shard > maxShard {
		return fmt.Errorf("shard %d: want 0 to %d", h.Shard, maxShard)
	}
	if h.First < 0 || h.Count < 1 || h.Grid < 2 || h.Samples < 1 ||
		h.Count > maxFunctions || h.Grid > maxFunctions || h.Samples > maxFunctions {
		return fmt.Errorf("shard %d: impossible shape: first %d, %d functions, %d nodes, %d samples",
			h.Shard, h.First, h.Count, h.Grid, h.Samples)
	}
	return nil
}

// tensors declares the data file's tensors.
func (h Header) tensors() []safetensors.Info {
	return []safetensors.Info{
		{Name: "drift", DType: safetensors.F32, Shape: []int{h.Count, h.Grid}},
		{Name: "diffusion", DType: safetensors.F32, Shape: []int{h.Count, h.Grid}},
		{Name: "samples", DType: safetensors.F32, Shape: []int{h.Count, h.Samples}},
	}
}

func (h Header) metadata() map[string]string {
	return map[string]string{
		"format":  strconv.Itoa(Format),
		"family":  h.Family,
		"dataset": h.Dataset,
		"shard":   strconv.Itoa(h.Shard),
		"purpose": h.Purpose,
		"first":   strconv.Itoa(h.First),
	}
}

// readManifest reads and checks a manifest file.
func readManifest(path string) (Manifest, error) {
	f, err := os.Open(path)
	if err != nil {
		return Manifest{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return Manifest{}, err
	}
	if len(b) > maxManifest {
		return Manifest{}, fmt.Errorf("%s: %w: longer than %d bytes", path, ErrCorrupt, maxManifest)
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w: %w", path, ErrCorrupt, err)
	}
	if m.Format != Format {
		return Manifest{}, fmt.Errorf("%s: format %d, this program reads %d", path, m.Format, Format)
	}
	if err := m.Header.Validate(); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w: %w", path, ErrCorrupt, err)
	}
	if sum, err := hex.DecodeString(m.SHA256); err != nil || len(sum) != 32 || m.Bytes < 8 {
		return Manifest{}, fmt.Errorf("%s: %w: no length or checksum", path, ErrCorrupt)
	}
	return m, nil
}

// checkHash refuses what is no hash before it becomes part of a path.
func checkHash(hash string) error {
	if b, err := hex.DecodeString(hash); err != nil || len(b) < 8 || len(b) > 32 || hash != hex.EncodeToString(b) {
		return fmt.Errorf("data set %q: want a hash of 16 to 64 lower-case hexadecimal digits", hash)
	}
	return nil
}

func isName(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// Moments sums up the values of one channel.
type Moments struct {
	Count int64   `json:"count"`
	Sum   float64 `json:"sum"`
	SumSq float64 `json:"sum_sq"`
}

// add accumulates values and reports whether all of them are finite.
func (m *Moments) add(values []float32) bool {
	var sum, sq float64
	for _, v := range values {
		x := float64(v)
		sum += x
		sq += x * x
	}
	m.Count += int64(len(values))
	m.Sum += sum
	m.SumSq += sq
	return !math.IsNaN(sq) && !math.IsInf(sq, 0) // no float32 squared overflows a float64
}
