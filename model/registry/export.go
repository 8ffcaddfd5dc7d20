package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/disk"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// The files of an exported version.
const (
	WeightsFile = "weights.safetensors"
	VersionFile = "version.json"
	CardFile    = "README.md"
)

// exported is version.json.
type exported struct {
	Format int `json:"format"`
	Version
}

const exportFormat = 1

// ErrExport: a directory has no exported version, or a damaged one.
var ErrExport = errors.New("it is no exported version, or a damaged one")

// ErrExists: an export would replace something.
var ErrExists = errors.New("it exists and is not an empty directory")

// Export writes a version as a directory: its weights, its record as JSON and a model card.
// The directory appears complete or not at all.
func (r *Registry) Export(ctx context.Context, v Version, dir string) error {
	content, err := r.Load(ctx, v)
	if err != nil {
		return err
	}
	v.Weights.Object = "" // they are a file now
	record, err := json.MarshalIndent(exported{exportFormat, v}, "", "  ")
	if err != nil {
		return err
	}
	err = writeDir(dir, map[string][]byte{WeightsFile: content, VersionFile: append(record, '\n'), CardFile: []byte(v.Card())})
	if disk.Full(err) {
		err = &disk.FullError{Dir: filepath.Dir(dir), Bytes: v.Weights.Bytes, Err: err}
	}
	if err != nil {
		return fmt.Errorf("export %s to %s: %w", v.Ref(), dir, err)
	}
	return nil
}

// writeDir makes a directory with files, under another name until it is complete.
func writeDir(dir string, files map[string][]byte) (err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ErrExists
	}
	dir = filepath.Clean(dir)
	parent := filepath.Dir(dir)
	if err := atomicfile.MakeDirs(parent); err != nil {
		return err
	}
	first, err := os.MkdirTemp(parent, ".export-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(first))
		}
	}()
	for name, content := range files {
		if err := atomicfile.Write(filepath.Join(first, name), content); err != nil {
			return err
		}
	}
	if err := os.Chmod(first, 0o755); err != nil { // MkdirTemp makes it private
		return err
	}
	if err := os.Rename(first, dir); err != nil {
		return err
	}
	return atomicfile.SyncDir(parent)
}

// Import adds a version that Export wrote, to the model of that name or, if it is not empty,
// to another. It has a new number and no parent; Origin says what it was called. A version
// that was imported before, or that comes from this registry, is returned instead.
func (r *Registry) Import(ctx context.Context, dir, model, by string) (Version, error) {
	operation := "import " + dir
	v, content, err := readExport(dir)
	if err != nil {
		return Version{}, fmt.Errorf("%s: %w: %w", operation, ErrExport, err)
	}
	v.Origin = v.Ref()
	if model != "" {
		v.Model = model
	}
	if v.Key == "" {
		v.Key = "weights " + v.Weights.SHA256
	}
	v.Number, v.Parent, v.Created, v.By = 0, 0, time.Time{}, by
	if err := v.complete(content); err != nil {
		return Version{}, r.name(operation, err)
	}
	return r.add(ctx, operation, v, content)
}

// readExport reads an exported version, and verifies its weights.
func readExport(dir string) (v Version, content []byte, err error) {
	record, err := readBounded(filepath.Join(dir, VersionFile), maxDetails)
	if err != nil {
		return v, nil, err
	}
	var e exported
	switch err := json.Unmarshal(record, &e); {
	case err != nil:
		return v, nil, corrupt("%s: %w", VersionFile, err)
	case e.Format > exportFormat:
		return v, nil, fmt.Errorf("%w: %w", ErrFormat, ergoflow.CheckFormat(VersionFile, e.Format, exportFormat))
	case e.Format != exportFormat:
		return v, nil, fmt.Errorf("%w: %s has format %d, and this program reads %d", ErrFormat, VersionFile, e.Format, exportFormat)
	}
	if err := e.Weights.check(); err != nil {
		return v, nil, err
	}
	content, err = readBounded(filepath.Join(dir, WeightsFile), e.Weights.Bytes)
	if err == nil && describe(content) != e.Weights {
		err = corrupt("%s does not have the SHA-256 that %s says", WeightsFile, VersionFile)
	}
	if err == nil {
		_, err = state.Config(content)
	}
	return e.Version, content, err
}
