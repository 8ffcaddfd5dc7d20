package shard

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/safetensors"
)

// Writer writes one shard: field after field, each of every function in order, then the
// samples, then Commit. It holds only a small buffer in memory.
type Writer struct {
	manifest Manifest
	base     string // path without suffix
	file     *atomicfile.File
	buffer   *bufio.Writer
	hash     hash.Hash
	tensors  *safetensors.Writer
	written  []int     // values of each tensor
	moments  []Moments // of each field
	states   []Moments // of the samples
	done     bool
}

// Create begins a shard under a temporary name. The caller ends it with Commit,
// or Abort to leave no trace. It fails with ErrLink where a link leads to what belongs
// to another data set, and with a *disk.FullError where there is no room.
func (d *Dir) Create(h Header) (*Writer, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	dir := filepath.Join(d.root, h.Family+"-"+h.Dataset)
	if err := makeDir(dir, h.Dataset); err != nil {
		return nil, err
	}
	removeStale(dir, fileName(h.Shard))
	base := filepath.Join(dir, fileName(h.Shard))
	if err := checkFiles(base); err != nil {
		return nil, err
	}
	file, err := atomicfile.Create(base + dataSuffix)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", base+dataSuffix, err)
	}
	if err := file.Reserve(h.Bytes()); err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", base+dataSuffix, err), file.Abort())
	}
	w := &Writer{
		manifest: Manifest{Format: Format, Header: h, CreatedBy: "ergoflow " + ergoflow.Version},
		base:     base,
		file:     file,
		hash:     sha256.New(),
		written:  make([]int, len(h.Fields)+1),
		moments:  make([]Moments, len(h.Fields)),
		states:   make([]Moments, h.stateMoments()),
	}
	w.buffer = bufio.NewWriterSize(io.MultiWriter(file, w.hash), 1<<20)
	w.tensors, err = safetensors.NewWriter(w.buffer, h.tensors(), h.metadata())
	if err != nil {
		w.Abort()
		return nil, err
	}
	return w, nil
}

// makeDir makes a data set's directory, or checks the one that is there.
func makeDir(dir, hash string) error {
	err := checkDir(dir, hash)
	if errors.Is(err, fs.ErrNotExist) {
		return os.MkdirAll(dir, 0o755)
	}
	return err
}

// SimulatedBy records the simulator in the manifest.
func (w *Writer) SimulatedBy(simulator string) { w.manifest.Simulator = simulator }

// Recipe records the recipe in the manifest.
func (w *Writer) Recipe(recipe string) { w.manifest.Recipe = recipe }

// Imported records how many functions, the first ones, are imported.
func (w *Writer) Imported(functions int) { w.manifest.Imported = functions }

// Field appends values of field k, in the header's order: whole functions or
// parts of them.
func (w *Writer) Field(k int, values []float32) error {
	if k < 0 || k >= len(w.moments) {
		return fmt.Errorf("shard %d: field %d of %d", w.manifest.Shard, k, len(w.moments))
	}
	var m Moments
	m.Add(values...)
	if !m.finite() {
		return w.notFinite(w.manifest.Fields[k].Name, k, values)
	}
	w.moments[k].Merge(m)
	return w.append(k, values)
}

// Samples appends samples.
func (w *Writer) Samples(values []float32) error {
	var m Moments
	m.Add(values...)
	if !m.finite() {
		return w.notFinite(samples, len(w.moments), values)
	}
	addStates(w.states, w.written[len(w.moments)], values)
	return w.append(len(w.moments), values)
}

// append writes to one tensor, in the order of the tensors.
func (w *Writer) append(tensor int, values []float32) error {
	h := w.manifest.Header
	for before := range tensor {
		if w.written[before] != h.Count*h.width(before) {
			return fmt.Errorf("shard %d: tensor %d written before tensor %d is complete", h.Shard, tensor, before)
		}
	}
	if len(values) > h.Count*h.width(tensor)-w.written[tensor] {
		return fmt.Errorf("shard %d: too many values for tensor %d", h.Shard, tensor)
	}
	w.written[tensor] += len(values)
	return w.tensors.WriteFloat32s(values)
}

func (w *Writer) notFinite(name string, tensor int, values []float32) error {
	width := w.manifest.width(tensor)
	for i, v := range values {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			at := w.written[tensor] + i
			return fmt.Errorf("function %d: %s is %v at index %d", w.manifest.First+at/width, name, v, at%width)
		}
	}
	return fmt.Errorf("%s is not finite", name)
}

// Commit makes the shard durable and then visible: it syncs and renames the data, then the
// manifest. On an error nothing is visible, and the temporary files are removed.
func (w *Writer) Commit() (_ Manifest, err error) {
	if w.done {
		return Manifest{}, errors.New("shard: the writer is closed")
	}
	defer func() {
		if err != nil {
			w.Abort()
			err = fmt.Errorf("write shard %d: %w", w.manifest.Shard, err)
		}
	}()
	if err := w.tensors.Close(); err != nil {
		return Manifest{}, err
	}
	if err := w.buffer.Flush(); err != nil {
		return Manifest{}, err
	}
	// Another data set's writer may have come first where two links lead to one directory.
	if err := checkDir(filepath.Dir(w.base), w.manifest.Dataset); err != nil {
		return Manifest{}, err
	}
	if err := w.file.Commit(); err != nil {
		return Manifest{}, fmt.Errorf("write %s: %w", w.base+dataSuffix, err)
	}
	w.manifest.Bytes = int64(w.tensors.Size())
	w.manifest.SHA256 = hex.EncodeToString(w.hash.Sum(nil))
	w.manifest.Moments = make(map[string]Moments, len(w.moments))
	for k, m := range w.moments {
		w.manifest.Moments[w.manifest.Fields[k].Name] = m
	}
	w.manifest.States = w.states
	if err := writeManifest(w.base, w.manifest); err != nil {
		return Manifest{}, err
	}
	w.done = true
	return w.manifest, nil
}

func writeManifest(base string, m Manifest) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(base+manifestSuffix, append(b, '\n'))
}

// Abort removes the temporary file. After Commit it does nothing.
func (w *Writer) Abort() {
	if !w.done {
		w.done = true
		_ = w.file.Abort() // if this fails, a later writer removes the file as stale
	}
}

// abandoned is the age at which a temporary file has no writer any more: a writer appends
// every few seconds.
const abandoned = time.Hour

// removeStale removes temporary files that killed writers of a shard left. Its failure does
// not matter to the writer.
func removeStale(dir, name string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "."+name+".") {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
