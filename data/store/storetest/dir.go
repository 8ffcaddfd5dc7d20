// Package storetest has what every store must do, and a store in a directory for tests of those
// who use one.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/data/store"
)

// Dir is a store in a directory. It is not for use: shards in a directory are mapped where they
// are.
type Dir struct{ root string }

// NewDir is a store in a directory that exists.
func NewDir(root string) *Dir { return &Dir{root} }

// temporary begins the names of files under way, which no key can have.
const temporary = ".put-"

func (d *Dir) path(key string) string { return filepath.Join(d.root, filepath.FromSlash(key)) }

func (d *Dir) String() string { return d.root }

// Close does nothing.
func (d *Dir) Close() error { return nil }

// Put links a finished file into place, which fails where there is one.
func (d *Dir) Put(ctx context.Context, key string, content io.ReaderAt, size int64) (err error) {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	if size < 0 || size > store.MaxBytes {
		return fmt.Errorf("%d bytes", size)
	}
	f, err := os.CreateTemp(d.root, temporary)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, &cancellable{ctx, io.NewSectionReader(content, 0, size)})
	if info, stat := f.Stat(); err == nil && stat == nil && info.Size() != size {
		err = io.ErrUnexpectedEOF
	}
	if err := errors.Join(err, f.Close(), ctx.Err()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.path(key)), 0o755); err != nil {
		return err
	}
	if err := os.Link(f.Name(), d.path(key)); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", key, store.ErrExists)
	} else if err != nil {
		return err
	}
	return nil
}

type cancellable struct {
	ctx context.Context
	io.Reader
}

func (c *cancellable) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(b)
}

// Get reads from the file.
func (d *Dir) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	o, err := d.Stat(ctx, key)
	if err != nil {
		return nil, err
	}
	if offset < 0 || length < 0 || offset > o.Bytes || length > o.Bytes-offset {
		return nil, fmt.Errorf("%s: %w", key, store.ErrRange)
	}
	f, err := os.Open(d.path(key))
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(f, offset, length), f}, nil
}

// Stat describes the file.
func (d *Dir) Stat(_ context.Context, key string) (store.Object, error) {
	if err := store.CheckKey(key); err != nil {
		return store.Object{}, err
	}
	info, err := os.Stat(d.path(key))
	if err != nil || !info.Mode().IsRegular() {
		return store.Object{}, fmt.Errorf("%s: %w", key, store.ErrNotFound)
	}
	return store.Object{Key: key, Bytes: info.Size(), Made: info.ModTime()}, nil
}

// List walks the directory.
func (d *Dir) List(_ context.Context, prefix string) (all []store.Object, err error) {
	if prefix != "" {
		if err := store.CheckKey(strings.TrimSuffix(prefix, "/")); err != nil {
			return nil, err
		}
	}
	err = filepath.WalkDir(d.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), temporary) {
			return err
		}
		key, err := filepath.Rel(d.root, path)
		if err != nil || !strings.HasPrefix(filepath.ToSlash(key), prefix) {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		all = append(all, store.Object{Key: filepath.ToSlash(key), Bytes: info.Size(), Made: info.ModTime()})
		return nil
	})
	slices.SortFunc(all, func(a, b store.Object) int { return strings.Compare(a.Key, b.Key) })
	return all, err
}

// Delete removes the file.
func (d *Dir) Delete(_ context.Context, key string) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	if err := os.Remove(d.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Sweep removes old temporary files, of whatever key.
func (d *Dir) Sweep(_ context.Context, _ string, before time.Time) (puts int, err error) {
	entries, err := os.ReadDir(d.root)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), temporary) || !info.ModTime().Before(before) {
			continue
		}
		if err := os.Remove(filepath.Join(d.root, e.Name())); err != nil {
			return puts, err
		}
		puts++
	}
	return puts, nil
}
