// Package boltfile opens bbolt files so that damage, a full disk and a second
// process are errors. bbolt itself panics on pages that it cannot read, in part
// in goroutines of its own, and a memory map faults where its file was cut off.
package boltfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

var (
	// ErrLocked: another process has the file open.
	ErrLocked = errors.New("it is in use by another process")
	// ErrCorrupt: the file is damaged.
	ErrCorrupt = errors.New("the file is damaged")
	// ErrSpace: the disk is full, or this user's part of it.
	ErrSpace = errors.New("no space left on the disk; what was stored before is intact")
	// ErrLimit: the file would become larger than a file may be.
	ErrLimit = errors.New("the file reaches the limit on its size (ulimit -f, or the file system's); what was stored before is intact")
)

// lockTimeout is how long to wait until another process closes the file.
const lockTimeout = time.Second

// reserved is the address space that a file is mapped into from the start, in bytes.
// Growing the map would wait for all readers, and a reader may be a slow client that
// takes a snapshot.
const reserved = 1 << 30

// Growth is the number of bytes by which a file grows. bbolt's default of 16 MiB would
// make every small file that long.
const Growth = 1 << 20

// DB is an open file.
type DB struct {
	*bbolt.DB
	// Warning says that one of the two meta records is damaged, of which each transaction
	// overwrites the older: the file is read as the other has it, and its newest change may
	// be missing. Empty if both are whole.
	Warning string
}

// Open opens the file at path after checking its structure, and makes it where it is
// missing unless readOnly. The free list is not stored: bbolt would rewrite it with every
// commit.
func Open(path string, readOnly bool) (*DB, error) {
	var opened DB
	var err error
	if !readOnly {
		err = Guard(func() error { return create(path) })
	}
	if err == nil {
		opened.Warning, err = inspect(path)
	}
	if err == nil {
		err = Guard(func() (err error) {
			opened.DB, err = open(path, readOnly)
			return err
		})
	}
	var named *fs.PathError
	if errors.As(err, &named) { // it names the path, too
		err = explain(named.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &opened, nil
}

// create makes the file where it is missing, under another name first: otherwise a crash
// or a full disk could leave an empty file, which looks like a damaged one.
func create(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // inspect reports damage
	}
	first := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s-%d", filepath.Base(path), os.Getpid()))
	defer os.Remove(first)
	db, err := open(first, false)
	if err != nil {
		return err
	}
	if err = db.Close(); err != nil {
		return err
	}
	// Another process may have been faster: a link, unlike a rename, replaces nothing.
	err = os.Link(first, path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, fs.ErrPermission):
		return os.Rename(first, path) // a file system without links
	}
	return err
}

// open is openMapped, with less address space where there is a limit on it (ulimit -v).
func open(path string, readOnly bool) (*bbolt.DB, error) {
	db, err := openMapped(path, readOnly, reserved)
	if err != nil && is(err, syscall.ENOMEM) {
		return openMapped(path, readOnly, 0)
	}
	return db, err
}

// openMapped is bbolt.Open with our options. Where that panics, openMapped closes the file,
// which unlocks it.
func openMapped(path string, readOnly bool, mapped int) (*bbolt.DB, error) {
	var file *os.File
	done := false
	defer func() {
		if !done && file != nil {
			file.Close()
		}
	}()
	db, err := bbolt.Open(path, 0o644, &bbolt.Options{
		Timeout:         lockTimeout,
		ReadOnly:        readOnly,
		NoFreelistSync:  true,
		FreelistType:    bbolt.FreelistMapType,
		InitialMmapSize: mapped,
		OpenFile: func(name string, flag int, perm os.FileMode) (*os.File, error) {
			var err error
			file, err = os.OpenFile(name, flag, perm)
			return file, err
		},
	})
	done = true
	if err != nil {
		return nil, err
	}
	db.AllocSize = Growth
	if !readOnly {
		if err := reserve(file); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}

// Guard runs an operation on a database that Open returned. It returns panics and faults
// of a damaged file as ErrCorrupt, a full disk as ErrSpace, and a file that may not grow as
// ErrLimit.
func Guard(operation func() error) (err error) {
	faults := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(faults)
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrCorrupt, r)
		}
		if err != nil {
			err = explain(err)
		}
	}()
	return operation()
}

// explain adds its kind to an error.
func explain(err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return ErrLocked
	case is(err, syscall.ENOSPC), is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", ErrSpace, err)
	case is(err, syscall.EFBIG):
		return fmt.Errorf("%w: %w", ErrLimit, err)
	}
	return err
}

// is also checks the text: bbolt does not wrap the error of a file that cannot grow.
func is(err error, kind syscall.Errno) bool {
	return errors.Is(err, kind) || strings.HasSuffix(err.Error(), kind.Error())
}
