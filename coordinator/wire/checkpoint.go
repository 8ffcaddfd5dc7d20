// Package wire has the protobuf messages and services between workers, coordinator and
// command line (wire.proto), and what carries checkpoints and dumps in parts.
package wire

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/ergoflow/ergoflow"
)

// ErrCheckpoint means that the received bytes are not a checkpoint, or not the one that
// its header announced.
var ErrCheckpoint = errors.New("not the checkpoint that was announced")

// ReadCheckpoint receives the parts after a header until io.EOF. They must have the size
// that it announces, at most ergoflow.MaxState, and its SHA-256: otherwise the error is
// ErrCheckpoint. An error of receive is returned as it is.
func ReadCheckpoint(header *CheckpointHeader, receive func() (*CheckpointPart, error)) ([]byte, error) {
	size := header.GetSize()
	switch {
	case header == nil:
		return nil, fmt.Errorf("%w: it does not begin with its header", ErrCheckpoint)
	case size < 1 || size > ergoflow.MaxState:
		return nil, fmt.Errorf("%w: %d bytes are not 1 to %d", ErrCheckpoint, size, int64(ergoflow.MaxState))
	case len(header.GetSha256()) != sha256.Size:
		return nil, fmt.Errorf("%w: its header has no SHA-256", ErrCheckpoint)
	}
	// The buffer grows as bytes arrive: a header alone takes no memory.
	var received bytes.Buffer
	received.Grow(int(min(size, 1<<20)))
	for {
		part, err := receive()
		data, n := part.GetData(), int64(received.Len())
		switch {
		case errors.Is(err, io.EOF) && n == size:
			if sum := sha256.Sum256(received.Bytes()); !bytes.Equal(sum[:], header.GetSha256()) {
				return nil, fmt.Errorf("%w: SHA-256 is %x, announced was %x", ErrCheckpoint, sum, header.GetSha256())
			}
			return received.Bytes(), nil
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%w: it ends after %d of %d bytes", ErrCheckpoint, n, size)
		case err != nil:
			return nil, fmt.Errorf("after %d of %d bytes: %w", n, size, err)
		case part.GetHeader() != nil:
			return nil, fmt.Errorf("%w: a second header after %d bytes", ErrCheckpoint, n)
		case len(data) == 0: // there could be any number of them
			return nil, fmt.Errorf("%w: an empty part after %d bytes", ErrCheckpoint, n)
		case n+int64(len(data)) > size:
			return nil, fmt.Errorf("%w: more than its %d bytes arrive", ErrCheckpoint, size)
		}
		received.Write(data)
	}
}
