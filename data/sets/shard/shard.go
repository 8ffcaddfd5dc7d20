package shard

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ergoflow/ergoflow/internal/safetensors"
)

// Shard is a committed shard, mapped into memory and read without copying. It
// is safe for concurrent use until Close.
type Shard struct {
	file     *safetensors.File
	manifest Manifest
	tensors  [][]float32 // the fields, then the samples
}

// newShard checks the file's contents against the manifest.
func newShard(file *safetensors.File, m Manifest) (*Shard, error) {
	if got, want := file.Metadata(), m.metadata(); !maps.Equal(got, want) {
		return nil, fmt.Errorf("metadata %v, the manifest says %v", got, want)
	}
	wanted := m.tensors()
	if n := len(file.Tensors()); n != len(wanted) {
		return nil, fmt.Errorf("%d tensors, want %d", n, len(wanted))
	}
	s := &Shard{file: file, manifest: m}
	for _, want := range wanted {
		t, err := file.Tensor(want.Name)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(t.Shape, want.Shape) {
			return nil, fmt.Errorf("tensor %q has shape %v, the manifest says %v", t.Name, t.Shape, want.Shape)
		}
		values, err := t.Float32s()
		if err != nil {
			return nil, err
		}
		s.tensors = append(s.tensors, values)
	}
	return s, nil
}

// Manifest describes the shard.
func (s *Shard) Manifest() Manifest { return s.manifest }

// First is the number of the first function in the data set.
func (s *Shard) First() int { return s.manifest.First }

// Fields are the tensors that the shard stores of every function beside its samples.
func (s *Shard) Fields() []Field { return s.manifest.Fields }

// Field is field k, in the manifest's order, of the shard's function i.
func (s *Shard) Field(k, i int) []float32 { return s.row(k, i) }

// Samples are the stored samples of the shard's function i [N, d].
func (s *Shard) Samples(i int) []float32 { return s.row(len(s.manifest.Fields), i) }

func (s *Shard) row(tensor, i int) []float32 {
	width := s.manifest.width(tensor)
	return s.tensors[tensor][i*width : (i+1)*width : (i+1)*width]
}

// Close unmaps the file; slices of it must not be used afterwards.
func (s *Shard) Close() error {
	s.tensors = nil
	return s.file.Close()
}
