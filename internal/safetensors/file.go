package safetensors

import (
	"fmt"
	"os"

	"github.com/edsrzf/mmap-go"
)

// File is a checked file: mapped by [Open] or held by the caller of [Decode].
type File struct {
	metadata map[string]string
	tensors  []Tensor
	index    map[string]int
	mapping  mmap.MMap // nil: the caller's bytes
}

// Open maps the file at path and checks it. Tensors are views of the mapping:
// they cost no memory of the process and end with Close. The file must not be
// truncated while it is open; replacing it by a rename is harmless.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping outlives the descriptor
	stat, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !stat.Mode().IsRegular() || stat.Size() < 8 {
		return nil, fmt.Errorf("%s: %w", path, formatError("%d bytes are too few", stat.Size()))
	}
	mapping, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	file, err := Decode(mapping)
	if err != nil {
		_ = mapping.Unmap() // the error that matters is err
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	file.mapping = mapping
	return file, nil
}

// Decode checks a whole file in memory. The tensors are views of b.
func Decode(b []byte) (*File, error) {
	header, data, err := split(b)
	if err != nil {
		return nil, err
	}
	places, metadata, err := parse(header, uint64(len(data)))
	if err != nil {
		return nil, err
	}
	file := &File{metadata: metadata, tensors: make([]Tensor, len(places)), index: make(map[string]int, len(places))}
	for i, p := range places {
		file.tensors[i] = Tensor{p.Info, data[p.start:p.end:p.end]}
		file.index[p.Name] = i
	}
	return file, nil
}

// Metadata is the file's map of strings, nil if it has none.
func (f *File) Metadata() map[string]string { return f.metadata }

// Tensors lists the tensors by their place in the file.
func (f *File) Tensors() []Tensor { return f.tensors }

// Tensor finds a tensor by its name.
func (f *File) Tensor(name string) (Tensor, error) {
	i, ok := f.index[name]
	if !ok {
		return Tensor{}, fmt.Errorf("no tensor %q", name)
	}
	return f.tensors[i], nil
}

// Close ends the mapping; views into it must not be used any more.
func (f *File) Close() error {
	mapping := f.mapping
	f.mapping, f.tensors, f.index = nil, nil, nil
	if mapping == nil {
		return nil
	}
	return mapping.Unmap()
}
