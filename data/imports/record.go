package imports

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// Format numbers the layout of imports that the package documentation describes.
const Format = 1

var (
	// ErrMissing means that a store does not have an import.
	ErrMissing = errors.New("import not found")
	// ErrCorrupt means that an import is not what its hash says.
	ErrCorrupt = errors.New("corrupt import")
	// ErrName means that a name cannot be one of imports.
	ErrName = errors.New("must be up to 64 lower-case letters, digits, - and _, a letter or digit first")
)

// Record describes an import.
type Record struct {
	Format    int            `json:"format"`
	Hash      string         `json:"hash"` // of the content: 32 hexadecimal digits
	Name      string         `json:"name"`
	Family    string         `json:"family"` // its name
	Functions int            `json:"functions"`
	Samples   int            `json:"samples"` // of every function
	Dim       int            `json:"dim"`
	Fields    []family.Field `json:"fields"`
	Bytes     int64          `json:"bytes"` // of the file of functions
	// Batch counts the collections that accepted something: imports of a later batch are newer,
	// those of one batch are in the order of their hashes.
	Batch    int       `json:"batch"`
	Accepted time.Time `json:"accepted"`
	File     string    `json:"file"`               // name of the user's main file
	Warnings []string  `json:"warnings,omitempty"` // of its samples
	// CreatedBy is program and version.
	CreatedBy string `json:"created_by"`
}

const (
	folder       = "imports"
	dataSuffix   = ".safetensors"
	recordSuffix = ".json"
	// MaxRecord bounds a record, in bytes.
	MaxRecord = 1 << 16
)

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// CheckName fails with ErrName.
func CheckName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("name of imports %.80q: %w", name, ErrName)
	}
	return nil
}

// CheckHash refuses what cannot be the hash of an import.
func CheckHash(hash string) error {
	if b, err := hex.DecodeString(hash); err != nil || len(b) != 16 || hash != hex.EncodeToString(b) {
		return fmt.Errorf("import %.80q: must be a hash of 32 lower-case hexadecimal digits", hash)
	}
	return nil
}

func directory(store *shard.Dir, name string) string {
	return filepath.Join(store.Root(), folder, name)
}

// Names lists the names under which a store has imports.
func Names(store *shard.Dir) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(store.Root(), folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if nameForm.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// List returns the imports of a name, the newest last. It returns all records that it can
// read; the error joins one for each of the others.
func List(store *shard.Dir, name string) ([]Record, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(directory(store, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Record
	var bad []error
	for _, e := range entries {
		hash, ok := strings.CutSuffix(e.Name(), recordSuffix)
		if !ok || CheckHash(hash) != nil {
			continue
		}
		r, err := readRecord(directory(store, name), hash)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Batch, b.Batch), cmp.Compare(a.Hash, b.Hash))
	})
	return all, errors.Join(bad...)
}

func readRecord(dir, hash string) (Record, error) {
	path := filepath.Join(dir, hash+recordSuffix)
	f, err := os.Open(path)
	if err != nil {
		return Record{}, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, MaxRecord+1))
	if err != nil {
		return Record{}, err
	}
	r, err := parseRecord(path, raw)
	if err == nil && (r.Hash != hash || r.Name != filepath.Base(dir)) {
		err = fmt.Errorf("%s: %w: it is not of this import", path, ErrCorrupt)
	}
	if err != nil {
		return Record{}, err
	}
	return r, nil
}

// parseRecord checks the content of a record's file.
func parseRecord(path string, raw []byte) (r Record, err error) {
	if err := json.Unmarshal(raw, &r); err != nil || len(raw) > MaxRecord {
		return Record{}, fmt.Errorf("%s: %w: it is no record (%w)", path, ErrCorrupt, cmp.Or(err, io.ErrShortBuffer))
	}
	if err := ergoflow.CheckFormat(path, r.Format, Format); err != nil {
		return Record{}, err
	}
	if r.Format != Format {
		return Record{}, fmt.Errorf("%s: %w: an import of format %d, this program reads format %d", path, ergoflow.ErrOlder, r.Format, Format)
	}
	if CheckHash(r.Hash) != nil || CheckName(r.Name) != nil ||
		r.Functions < 1 || r.Functions > maxFunctions || r.Samples < 1 || r.Samples > maxSamples || r.Dim < 1 || r.Dim > 2 {
		return Record{}, fmt.Errorf("%s: %w: it is not of this import", path, ErrCorrupt)
	}
	return r, nil
}
