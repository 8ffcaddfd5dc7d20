package imports

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// Copy reads the record of an import and opens its functions, to copy both elsewhere. It fails
// with ErrCorrupt where the import is damaged.
func (r Record) Copy(ctx context.Context, store *shard.Dir) (record []byte, data *os.File, err error) {
	im, err := r.Open(store)
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(im.Verify(ctx), im.Close()); err != nil {
		return nil, nil, err
	}
	if record, err = os.ReadFile(filepath.Join(directory(store, r.Name), r.Hash+recordSuffix)); err != nil {
		return nil, nil, err
	}
	data, err = os.Open(r.path(store))
	return record, data, err
}

// ParseRecord checks a record that came from elsewhere, under a name.
func ParseRecord(name string, record []byte) (Record, error) {
	r, err := parseRecord(name, record)
	if err != nil {
		return r, err
	}
	size := int64(maxHeader)
	for _, info := range r.tensors() {
		n, err := info.Bytes()
		if err != nil {
			return Record{}, fmt.Errorf("%s: %w: %w", name, ErrCorrupt, err)
		}
		size += int64(n)
	}
	if r.Bytes < 8 || r.Bytes > size {
		return Record{}, fmt.Errorf("%s: %w: %d bytes of functions, at most %d have that shape", name, ErrCorrupt, r.Bytes, size)
	}
	return r, nil
}

// maxHeader bounds what a file of functions has beside its values, in bytes.
const maxHeader = 1 << 20

// Receive stores an import that comes from elsewhere, unless the store has it under its name. It
// verifies the functions, which are read from data, before the import exists.
func Receive(ctx context.Context, store *shard.Dir, record []byte, data func() (io.ReadCloser, error)) (err error) {
	r, err := ParseRecord("record of an import", record)
	if err != nil {
		return err
	}
	dir := directory(store, r.Name)
	if known, err := readRecord(dir, r.Hash); err == nil {
		if im, err := known.Open(store); err == nil {
			return im.Close()
		}
	}
	if err := atomicfile.MakeDirs(dir); err != nil {
		return err
	}
	from, err := data()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	file, err := atomicfile.Create(r.path(store))
	if err != nil {
		return err
	}
	err = file.Reserve(r.Bytes)
	if err == nil {
		_, err = io.CopyN(file, from, r.Bytes)
	}
	if err == nil {
		err = file.Commit()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("copy import %.12s: %w", r.Hash, err), file.Abort())
	}
	im, err := r.Open(store)
	if err == nil {
		err = errors.Join(im.Verify(ctx), im.Close())
	}
	if err != nil {
		return errors.Join(err, os.Remove(r.path(store)))
	}
	return atomicfile.Write(filepath.Join(dir, r.Hash+recordSuffix), record)
}
