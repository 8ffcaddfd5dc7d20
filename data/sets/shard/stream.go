package shard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/ergoflow/ergoflow/internal/safetensors"
)

// VerifyData reads a shard's data from elsewhere, under a name, and compares their SHA-256 and
// header with the manifest; ErrCorrupt if they differ. Where the data end early it fails with the
// reader's error. It ends with ctx.
func (m Manifest) VerifyData(ctx context.Context, name string, data io.Reader) error {
	head := make([]byte, min(m.Bytes, maxHeader))
	n, err := io.ReadFull(data, head)
	if err != nil {
		return fmt.Errorf("%s: %w after %d of %d bytes", name, err, n, m.Bytes)
	}
	sum := sha256.New()
	sum.Write(head)
	for left := m.Bytes - int64(n); left > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(sum, data, min(left, verifyBytes))
		if left -= n; err != nil {
			return fmt.Errorf("%s: %w after %d of %d bytes", name, err, m.Bytes-left, m.Bytes)
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != m.SHA256 {
		return fmt.Errorf("%s: %w: SHA-256 is %s, the manifest says %s", name, ErrCorrupt, got, m.SHA256)
	}
	index, err := safetensors.ReadIndex(bytes.NewReader(head), m.Bytes)
	if err == nil {
		err = m.describes(index)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %w", name, ErrCorrupt, err)
	}
	return nil
}

// describes compares a data file's header with the manifest.
func (m Manifest) describes(file safetensors.Index) error {
	if want := m.metadata(); !maps.Equal(file.Metadata, want) {
		return fmt.Errorf("metadata %v, the manifest says %v", file.Metadata, want)
	}
	wanted := m.tensors()
	if n := len(file.Places); n != len(wanted) {
		return fmt.Errorf("%d tensors, want %d", n, len(wanted))
	}
	for _, want := range wanted {
		i := slices.IndexFunc(file.Places, func(p safetensors.Place) bool { return p.Name == want.Name })
		if i < 0 {
			return fmt.Errorf("no tensor %q", want.Name)
		}
		if got := file.Places[i].Info; got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
			return fmt.Errorf("tensor %q is %s of shape %v, the manifest says %s of shape %v", want.Name, got.DType, got.Shape, want.DType, want.Shape)
		}
	}
	return nil
}
