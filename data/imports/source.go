package imports

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/internal/npy"
	"github.com/ergoflow/ergoflow/internal/safetensors"
)

// Bounds of a file.
const (
	maxFunctions = 1 << 19 // as many as a shard may have
	maxSamples   = 1 << 22 // of a function
)

// errChanged means that a file changed while it was read: it is still being written.
var errChanged = errors.New("it changed while it was read")

// samplesName is the name of the tensor of samples.
const samplesName = "samples"

// source are the open files of functions that a user wrote.
type source struct {
	files     []*os.File
	was       []fs.FileInfo
	samples   tensor
	fields    []tensor   // in the family's order; none if there are formulas
	equations []equation // or nil
	functions int        // F
	each      int        // N, samples of a function

	target
	scratch []float64
	raw     []byte
}

// open opens and checks everything that does not need the values.
func (g group) open(t target) (s *source, err error) {
	s = &source{target: t}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
			s = nil
		}
	}()
	var arrays []tensor
	var said description
	switch filepath.Ext(g.main) {
	case ".safetensors":
		file, size, err := s.add(g.main)
		if err != nil {
			return s, err
		}
		index, err := safetensors.ReadIndex(file, size)
		if err != nil {
			return s, err
		}
		arrays = tensorsOf(file, index)
		if said, err = parseMetadata(index.Metadata); err != nil {
			return s, err
		}
	case ".npy":
		paths := g.arrays()
		for _, name := range slices.Sorted(maps.Keys(paths)) {
			file, size, err := s.add(paths[name])
			if err != nil {
				return s, err
			}
			layout, err := npy.ReadLayout(file, size)
			if err != nil {
				return s, fmt.Errorf("%s: %w", name, err)
			}
			arrays = append(arrays, tensor{name, file, layout})
		}
	}
	for _, path := range g.descriptions {
		beside, err := s.readDescription(path)
		if err != nil {
			return s, fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		if err := said.join(beside); err != nil {
			return s, err
		}
	}
	if err := said.fits(t); err != nil {
		return s, err
	}
	return s, s.take(arrays, said)
}

// add opens a file of the source.
func (s *source) add(path string) (*os.File, int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	s.files = append(s.files, file)
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	s.was = append(s.was, info)
	return file, info.Size(), nil
}

func (s *source) readDescription(path string) (description, error) {
	file, _, err := s.add(path)
	if err != nil {
		return description{}, err
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxDescription+1))
	if err != nil {
		return description{}, err
	}
	return parseDescription(path, raw)
}

// take finds samples and equations among the arrays, and checks shapes and sizes.
func (s *source) take(arrays []tensor, said description) error {
	named := func(name string) int {
		return slices.IndexFunc(arrays, func(t tensor) bool { return t.name == name })
	}
	at := named(samplesName)
	if at < 0 {
		return errors.New(`there is no tensor "samples"`)
	}
	s.samples = arrays[at]
	shape := s.samples.at.Shape
	if d := s.Dim(); d == 1 && len(shape) == 1 || d > 1 && len(shape) == 2 && shape[1] == d { // of one function
		shape = slices.Concat([]int{1}, shape)
		s.samples.at.Shape = shape
	} else if d == 1 && len(shape) == 2 && len(said.Equations) == 1 && shape[1] <= maxSamples/max(shape[0], 1) { // chains of one function, [chain, draw]
		shape = []int{1, shape[0] * shape[1]}
		s.samples.at.Shape = shape
	}
	if len(shape) != 3 && !(len(shape) == 2 && s.Dim() == 1) {
		return fmt.Errorf("samples has shape %v: must be [functions, samples, %d]", shape, s.Dim())
	}
	s.functions, s.each = shape[0], shape[1]
	if s.functions < 1 || s.functions > maxFunctions || s.each < 1 || s.each > maxSamples {
		return fmt.Errorf("%d functions with %d samples each: must be 1 to %d functions with 1 to %d samples", s.functions, s.each, maxFunctions, maxSamples)
	}
	if err := s.samples.shaped(s.functions, s.each, s.Dim()); err != nil {
		return err
	}
	names := s.fieldNames()
	for _, t := range arrays {
		if t.name != samplesName && !slices.Contains(names, t.name) {
			return fmt.Errorf("tensor %.80q: functions of %s have %s and samples", t.name, s.Name(), strings.Join(names, ", "))
		}
	}
	if said.Equations != nil {
		if len(arrays) > 1 {
			return errors.New("it has formulas and fields: one of them would do")
		}
		if len(said.Equations) != s.functions {
			return fmt.Errorf("%d equations for the samples of %d functions", len(said.Equations), s.functions)
		}
		s.equations = said.Equations
		return nil
	}
	return s.takeFields(arrays, named, said.Grid != nil)
}

func (s *source) takeFields(arrays []tensor, named func(string) int, gridSaid bool) error {
	for _, f := range s.Fields() {
		at := named(f.Name)
		if at < 0 {
			return fmt.Errorf("there are no equations: neither formulas nor a tensor %q %v", f.Name, slices.Concat([]int{s.functions}, f.Shape))
		}
		field := arrays[at]
		if err := field.shaped(slices.Concat([]int{s.functions}, f.Shape)...); err != nil {
			return err
		}
		s.fields = append(s.fields, field)
	}
	if !gridSaid {
		return fmt.Errorf(`it does not say the grid of its fields: give "grid": {"lo": %g, "hi": %g, "nodes": %d} if they are tabulated there`, s.grid.Lo, s.grid.Hi, s.grid.N)
	}
	return nil
}

// equation makes function i from its fields or its formulas.
func (s *source) equation(i int) (family.Function, error) {
	if s.equations != nil {
		f, err := s.of(s.equations[i])
		if err != nil {
			return f, fmt.Errorf("equation of function %d: %w", i, err)
		}
		return f, nil
	}
	values := make([][]float32, len(s.fields))
	for k := range s.fields {
		var err error
		if s.scratch, err = s.fields[k].row(i, s.scratch, &s.raw); err != nil {
			return family.Function{}, err
		}
		values[k] = single(s.scratch)
	}
	f, err := s.Restore(values)
	if err != nil {
		return f, fmt.Errorf("equation of function %d: %w", i, err)
	}
	return f, nil
}

// samplesOf are the samples of function i. It refuses those that float32 would change: see
// [npy.Single].
func (s *source) samplesOf(i int) ([]float32, error) {
	var err error
	if s.scratch, err = s.samples.row(i, s.scratch, &s.raw); err != nil {
		return nil, err
	}
	rounded, small := npy.Single(npy.Array[float64]{Shape: []int{len(s.scratch)}, Data: s.scratch})
	if !small && !constant(rounded.Data, 1) {
		return nil, fmt.Errorf("samples of function %d are far from 0 beside their deviation: float32 would change them by more than 1e-4 of it; subtract a constant from x in equation and samples", i)
	}
	return rounded.Data, nil
}

// unchanged fails with errChanged where a file is not what it was when it was opened.
func (s *source) unchanged() error {
	for i, file := range s.files {
		is, err := os.Stat(file.Name())
		if err != nil || !os.SameFile(is, s.was[i]) || is.Size() != s.was[i].Size() || !is.ModTime().Equal(s.was[i].ModTime()) {
			return errChanged
		}
	}
	return nil
}

// Close closes the files.
func (s *source) Close() error {
	var err error
	for _, file := range s.files {
		err = errors.Join(err, file.Close())
	}
	return err
}
