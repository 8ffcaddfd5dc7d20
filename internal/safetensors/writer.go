package safetensors

import (
	"bytes"
	"fmt"
	"io"
)

// Writer streams a file. NewWriter declares the tensors; Write then takes their data in
// that order, in pieces of any size.
type Writer struct {
	w         io.Writer
	size      int // of the whole file
	remaining int // bytes of data
}

// NewWriter writes the header to w.
func NewWriter(w io.Writer, tensors []Info, metadata map[string]string) (*Writer, error) {
	header, data, err := encodeHeader(tensors, metadata)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(header); err != nil {
		return nil, err
	}
	return &Writer{w: w, size: len(header) + data, remaining: data}, nil
}

// Size is the length in bytes of the finished file.
func (w *Writer) Size() int { return w.size }

// Write appends bytes of data, refusing more than was declared.
func (w *Writer) Write(p []byte) (int, error) {
	if len(p) > w.remaining {
		return 0, fmt.Errorf("%d bytes of data where %d remain of the declared tensors", len(p), w.remaining)
	}
	n, err := w.w.Write(p)
	w.remaining -= n
	return n, err
}

// WriteFloat32s appends elements of an F32 tensor.
func (w *Writer) WriteFloat32s(values []float32) error {
	_, err := w.Write(bytesOf(values))
	return err
}

// Close fails if declared data is missing. It does not close the underlying
// writer.
func (w *Writer) Close() error {
	if w.remaining > 0 {
		return fmt.Errorf("%d bytes of the declared tensors were not written", w.remaining)
	}
	return nil
}

// Encode returns a whole file. Its bytes depend on the arguments alone.
func Encode(tensors []Tensor, metadata map[string]string) ([]byte, error) {
	infos := make([]Info, len(tensors))
	for i, t := range tensors {
		size, err := t.Bytes()
		if err != nil {
			return nil, err
		}
		if len(t.Data) != size {
			return nil, fmt.Errorf("tensor %q: %d bytes of data for shape %v of %s", t.Name, len(t.Data), t.Shape, t.DType)
		}
		infos[i] = t.Info
	}
	header, data, err := encodeHeader(infos, metadata)
	if err != nil {
		return nil, err
	}
	file := bytes.NewBuffer(make([]byte, 0, len(header)+data))
	file.Write(header)
	for _, t := range tensors {
		file.Write(t.Data)
	}
	return file.Bytes(), nil
}
