package shard

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/gitlfs"
	"github.com/ergoflow/ergoflow/internal/safetensors"
)

// Format numbers the layout that the package documentation describes.
const Format = 2

var (
	// ErrCorrupt means that a shard's files contradict one another. If you delete its
	// manifest, generating the data set makes the shard again.
	ErrCorrupt = errors.New("corrupt shard")
	// ErrNotFound means that there is no committed shard with that number.
	ErrNotFound = errors.New("shard not found")
)

// The purposes of a shard.
const (
	Train     = "train"
	Reference = "reference" // held out for evaluation
)

// Header identifies a shard and gives its shape.
type Header struct {
	Family  string  `json:"family"`
	Dataset string  `json:"dataset"` // hash of the data set's description
	Shard   int     `json:"shard"`
	Purpose string  `json:"purpose"` // Train or Reference
	First   int     `json:"first"`   // number of its first function in the experiment
	Count   int     `json:"count"`   // functions, F
	Dim     int     `json:"dim"`     // numbers of a sample, d
	Fields  []Field `json:"fields"`  // stored for every function beside its samples
	Samples int     `json:"samples"` // per function, N
	// Distinct coordinates of three and more dimensions are not those of identical particles.
	Distinct bool `json:"distinct,omitempty"`
}

// Manifest describes a committed shard.
type Manifest struct {
	Format int `json:"format"`
	Header
	Bytes   int64              `json:"bytes"`   // of the data file
	SHA256  string             `json:"sha256"`  // of the data file, hexadecimal
	Moments map[string]Moments `json:"moments"` // of all values of each field, by its name
	// States are the moments of all samples: by coordinate in one and two dimensions and where
	// coordinates are Distinct, of all coordinates else. Shards of older builds have none.
	States []Moments `json:"states,omitempty"`
	// Simulator made the samples, unless they are exact draws: an instruction set such
	// as "avx2", all of which give the same samples, or a device.
	Simulator string `json:"simulator,omitempty"`
	// Recipe names what the fields and samples of a function depend on besides its number.
	// Functions of the same number and recipe are the same in all data sets. Shards of older
	// builds have none.
	Recipe string `json:"recipe,omitempty"`
	// Imported is how many functions, the first ones, a user gave. They are not of the recipe.
	Imported int `json:"imported,omitempty"`
	// Origin is the shard for which the data file was made, where that is another one.
	Origin    *Origin `json:"origin,omitempty"`
	CreatedBy string  `json:"created_by"` // program and version
}

// Origin names a shard of another data set with the same functions. The data file is its file,
// so the metadata in it are that shard's.
type Origin struct {
	Dataset string `json:"dataset"`
	Shard   int    `json:"shard"`
}

const (
	// MaxManifest bounds a manifest, in bytes.
	MaxManifest  = 1 << 16
	maxFunctions = 1 << 26 // per shard; likewise samples, and values of a field, per function
	maxDim       = 1 << 12
	maxShard     = 99_999
)

// Validate checks what a file may say: that the shape is possible, and that the names are
// safe in a path. The bounds of data sets are those of data.Dataset.
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
	if h.First < 0 || h.Count < 1 || h.Dim < 1 || h.Samples < 1 ||
		h.Count > maxFunctions || h.Dim > maxDim || h.Samples > maxFunctions {
		return fmt.Errorf("shard %d: impossible shape: first %d, %d functions, %d samples of %d numbers",
			h.Shard, h.First, h.Count, h.Samples, h.Dim)
	}
	if err := validateFields(h.Fields); err != nil {
		return fmt.Errorf("shard %d: %w", h.Shard, err)
	}
	return nil
}

// tensors describes the data file's tensors.
func (h Header) tensors() []safetensors.Info {
	var all []safetensors.Info
	for _, f := range h.Fields {
		all = append(all, safetensors.Info{Name: f.Name, DType: safetensors.F32, Shape: slices.Concat([]int{h.Count}, f.Shape)})
	}
	return append(all, safetensors.Info{Name: samples, DType: safetensors.F32, Shape: []int{h.Count, h.Samples, h.Dim}})
}

// Bytes is the size of the data file, but for its header of a few KiB.
func (h Header) Bytes() int64 {
	width := 0
	for k := range len(h.Fields) + 1 {
		width += h.width(k)
	}
	return 4 * int64(h.Count) * int64(width)
}

// samples is the name of the last tensor.
const samples = "samples"

// width is the number of values of one function in tensor k, in the order of tensors.
func (h Header) width(k int) int {
	if k < len(h.Fields) {
		return h.Fields[k].Size()
	}
	return h.Samples * h.Dim
}

// metadata of the data file.
func (m Manifest) metadata() map[string]string {
	if m.Origin != nil {
		m.Dataset, m.Shard = m.Origin.Dataset, m.Origin.Shard
	}
	return m.Header.metadata()
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

// readManifest reads and checks a manifest file. It returns the file's content, too.
func readManifest(path string) (m Manifest, content []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return Manifest{}, nil, err
	}
	defer f.Close()
	if content, err = io.ReadAll(io.LimitReader(f, MaxManifest+1)); err != nil {
		return Manifest{}, nil, err
	}
	m, err = parseManifest(path, content)
	return m, content, err
}

// parseManifest checks the content of a manifest file.
func parseManifest(path string, b []byte) (Manifest, error) {
	if len(b) > MaxManifest {
		return Manifest{}, fmt.Errorf("%s: %w: longer than %d bytes", path, ErrCorrupt, MaxManifest)
	}
	if err := gitlfs.Check(b); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w: %w", path, ErrCorrupt, err)
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w: %w", path, ErrCorrupt, err)
	}
	if err := ergoflow.CheckFormat(path, m.Format, Format); err != nil {
		return Manifest{}, err
	}
	if m.Format != Format {
		return Manifest{}, fmt.Errorf("%s: %w: a shard of format %d, this program reads format %d (delete the data set's directory and generate again)", path, ergoflow.ErrOlder, m.Format, Format)
	}
	if err := m.Header.Validate(); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w: %w", path, ErrCorrupt, err)
	}
	if m.Imported < 0 || m.Imported > m.Count {
		return Manifest{}, fmt.Errorf("%s: %w: %d of %d functions are imported", path, ErrCorrupt, m.Imported, m.Count)
	}
	if o := m.Origin; o != nil && (checkHash(o.Dataset) != nil || o.Shard < 0 || o.Shard > maxShard) {
		return Manifest{}, fmt.Errorf("%s: %w: its origin is shard %d of %.80q", path, ErrCorrupt, o.Shard, o.Dataset)
	}
	if sum, err := hex.DecodeString(m.SHA256); err != nil || len(sum) != 32 || m.Bytes < 8 {
		return Manifest{}, fmt.Errorf("%s: %w: no length or checksum", path, ErrCorrupt)
	}
	for _, f := range m.Fields {
		if _, ok := m.Moments[f.Name]; !ok {
			return Manifest{}, fmt.Errorf("%s: %w: no moments of field %q", path, ErrCorrupt, f.Name)
		}
	}
	if n := len(m.States); n != 0 && n != m.stateMoments() {
		return Manifest{}, fmt.Errorf("%s: %w: %d moments of the samples, want %d", path, ErrCorrupt, n, m.stateMoments())
	}
	return m, nil
}

// checkHash refuses anything but a hash, which becomes part of a path.
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
