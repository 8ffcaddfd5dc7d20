package shard

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ergoflow/ergoflow/data/safetensors"
)

// Shard is a committed shard, mapped into memory and read without copying. It
// is safe for concurrent use until Close.
type Shard struct {
	file      *safetensors.File
	manifest  Manifest
	drift     []float32
	diffusion []float32
	samples   []float32
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
	for i, view := range []*[]float32{&s.drift, &s.diffusion, &s.samples} {
		t, err := file.Tensor(wanted[i].Name)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(t.Shape, wanted[i].Shape) {
			return nil, fmt.Errorf("tensor %q has shape %v, the manifest says %v", t.Name, t.Shape, wanted[i].Shape)
		}
		if *view, err = t.Float32s(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Manifest describes the shard.
func (s *Shard) Manifest() Manifest { return s.manifest }

// Count is the number of functions.
func (s *Shard) Count() int { return s.manifest.Count }

// Drift is the drift of the shard's function i at the grid nodes [G].
func (s *Shard) Drift(i int) []float32 { return row(s.drift, i, s.manifest.Grid) }

// Diffusion is the diffusion of the shard's function i at the grid nodes [G].
func (s *Shard) Diffusion(i int) []float32 { return row(s.diffusion, i, s.manifest.Grid) }

// Samples are the stored samples of the shard's function i [N].
func (s *Shard) Samples(i int) []float32 { return row(s.samples, i, s.manifest.Samples) }

func row(values []float32, i, width int) []float32 {
	return values[i*width : (i+1)*width : (i+1)*width]
}

// Close ends the mapping; slices from it must not be used any more.
func (s *Shard) Close() error {
	s.drift, s.diffusion, s.samples = nil, nil, nil
	return s.file.Close()
}
