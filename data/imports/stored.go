package imports

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/safetensors"
)

const equationsName = "equation_sha256"

// Import is a stored import, mapped into memory. It is safe for concurrent use until Close.
type Import struct {
	record    Record
	file      *safetensors.File
	tensors   [][]float32 // the fields, then the samples
	equations []byte      // 32 of every function
}

// Open opens an import of any name and checks lengths and shapes: ErrMissing if the store does
// not have it, ErrCorrupt if they contradict its record. See Verify.
func Open(store *shard.Dir, hash string) (*Import, error) {
	if err := CheckHash(hash); err != nil {
		return nil, err
	}
	names, err := Names(store)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		r, err := readRecord(directory(store, name), hash)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return r.Open(store)
	}
	return nil, fmt.Errorf("import %s in %s: %w", hash, filepath.Join(store.Root(), folder), ErrMissing)
}

func (r Record) path(store *shard.Dir) string {
	return filepath.Join(directory(store, r.Name), r.Hash+dataSuffix)
}

// Open opens this import, under its own name: see [Open].
func (r Record) Open(store *shard.Dir) (*Import, error) {
	path := r.path(store)
	file, err := safetensors.Open(path)
	if errors.Is(err, safetensors.ErrFormat) || errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w %s: %w", ErrCorrupt, r.Hash, err)
	}
	if err != nil {
		return nil, err
	}
	im := &Import{record: r, file: file}
	if err := im.bind(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w %s: %s: %w", ErrCorrupt, r.Hash, path, err), file.Close())
	}
	return im, nil
}

// bind finds the tensors.
func (im *Import) bind() error {
	for _, want := range im.record.tensors() {
		t, err := im.file.Tensor(want.Name)
		if err != nil {
			return err
		}
		if t.DType != want.DType || !slices.Equal(t.Shape, want.Shape) {
			return fmt.Errorf("tensor %q is %s %v: must be %s %v", t.Name, t.DType, t.Shape, want.DType, want.Shape)
		}
		if want.Name == equationsName {
			im.equations = t.Data
			continue
		}
		values, err := t.Float32s()
		if err != nil {
			return err
		}
		im.tensors = append(im.tensors, values)
	}
	return nil
}

// tensors are those of the file of functions.
func (r Record) tensors() []safetensors.Info {
	var all []safetensors.Info
	for _, f := range r.Fields {
		all = append(all, safetensors.Info{Name: f.Name, DType: safetensors.F32, Shape: slices.Concat([]int{r.Functions}, f.Shape)})
	}
	return append(all,
		safetensors.Info{Name: samplesName, DType: safetensors.F32, Shape: []int{r.Functions, r.Samples, r.Dim}},
		safetensors.Info{Name: equationsName, DType: safetensors.U8, Shape: []int{r.Functions, sha256.Size}})
}

// Record describes the import.
func (im *Import) Record() Record { return im.record }

// Fields are the family's.
func (im *Import) Fields() []family.Field { return im.record.Fields }

// Field is field k of function i.
func (im *Import) Field(k, i int) []float32 { return row(im.tensors[k], i, im.record.Functions) }

// Samples are all stored samples of function i [N, d].
func (im *Import) Samples(i int) []float32 {
	return row(im.tensors[len(im.tensors)-1], i, im.record.Functions)
}

func row(values []float32, i, of int) []float32 {
	width := len(values) / of
	return values[i*width : (i+1)*width : (i+1)*width]
}

// Verify computes the hash of the content again; ErrCorrupt if it is another one.
func (im *Import) Verify(ctx context.Context) error {
	functions := make([][sha256.Size]byte, im.record.Functions)
	for i := range functions {
		if err := ctx.Err(); err != nil {
			return err
		}
		fields := make([][]float32, len(im.record.Fields))
		for k := range fields {
			fields[k] = im.Field(k, i)
		}
		equation := hashOf(nil, fields...)
		if !bytes.Equal(equation[:], im.equations[i*sha256.Size:][:sha256.Size]) {
			return fmt.Errorf("%w %s: equation of function %d has another hash", ErrCorrupt, im.record.Hash, i)
		}
		functions[i] = hashOf(equation[:], im.Samples(i))
	}
	if got := im.record.contentHash(functions); got != im.record.Hash {
		return fmt.Errorf("%w %s: its content has the hash %s", ErrCorrupt, im.record.Hash, got)
	}
	return nil
}

// contentHash is the hash of functions, in order of their own hashes.
func (r Record) contentHash(functions [][sha256.Size]byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "ergoflow/import/%d\n%s\n", Format, r.Family)
	var sizes [16]byte
	binary.LittleEndian.PutUint64(sizes[:], uint64(r.Samples))
	binary.LittleEndian.PutUint64(sizes[8:], uint64(r.Dim))
	h.Write(sizes[:])
	for _, f := range functions {
		h.Write(f[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Close ends the mapping.
func (im *Import) Close() error {
	im.tensors, im.equations = nil, nil
	return im.file.Close()
}

// Fit checks imports against another experiment than that for which they were collected. It
// makes the held-out functions once.
type Fit struct {
	spec Spec
	held *heldOut
}

// NewFit is for the experiment of that specification.
func NewFit(spec Spec) *Fit { return &Fit{spec, newHeldOut(spec)} }

// Check checks an import: its family, its number of samples, and that it has none of the
// held-out functions.
func (f *Fit) Check(ctx context.Context, im *Import) error {
	if im.record.Family != f.spec.Family.Name() {
		return fmt.Errorf("it is of the family %s, not %s", im.record.Family, f.spec.Family.Name())
	}
	if im.record.Samples < f.spec.Samples {
		return fmt.Errorf("it has %d samples of every function, data.samples needs %d", im.record.Samples, f.spec.Samples)
	}
	if err := f.held.prepare(); err != nil {
		return err
	}
	fields := make([][]float32, len(im.record.Fields))
	for i := range im.record.Functions {
		if err := ctx.Err(); err != nil {
			return err
		}
		for k := range fields {
			fields[k] = im.Field(k, i)
		}
		if number, ok := f.held.find(fields); ok {
			return fmt.Errorf("its function %d is held-out function %d, on which models are judged: training must not see it", i, number)
		}
	}
	return nil
}
