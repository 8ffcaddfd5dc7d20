package safetensors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/ergoflow/ergoflow/internal/gitlfs"
)

// Index is the header of a file that others may change while it is read: a mapping of a file
// that is truncated ends the program.
type Index struct {
	Places   []Place // in the order of the file
	Metadata map[string]string
	data     int64 // offset of the first byte of data
}

// ReadIndex reads and checks the header of a file of that many bytes.
func ReadIndex(r io.ReaderAt, size int64) (Index, error) {
	var head [gitlfs.Head]byte
	n, err := r.ReadAt(head[:min(size, int64(gitlfs.Head))], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Index{}, err
	}
	if n < 8 {
		return Index{}, formatError("%d bytes are too few", size)
	}
	if err := gitlfs.Check(head[:n]); err != nil {
		return Index{}, formatError("%w", err)
	}
	length := binary.LittleEndian.Uint64(head[:])
	if length > maxHeader {
		return Index{}, formatError("header of %d bytes is longer than %d", length, maxHeader)
	}
	if length > uint64(size-8) {
		return Index{}, formatError("header of %d bytes, but only %d follow", length, size-8)
	}
	header := make([]byte, length)
	if _, err := r.ReadAt(header, 8); err != nil {
		return Index{}, fmt.Errorf("header: %w", err)
	}
	index := Index{data: 8 + int64(length)}
	index.Places, index.Metadata, err = parse(header, uint64(size-index.data))
	return index, err
}

// Offset is where the tensor's bytes begin in the file.
func (i Index) Offset(p Place) int64 { return i.data + int64(p.start) }
