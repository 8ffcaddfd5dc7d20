// Package atomicfile writes files that appear complete or not at all. It writes under a
// temporary name beside the final one, syncs, and renames.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// ErrDangling: a symbolic link points to nothing.
var ErrDangling = errors.New("it is a symbolic link whose target does not exist")

// File is a file that is invisible before Commit. The caller ends it with Commit or
// Abort.
type File struct {
	pending *renameio.PendingFile
	dir     string
}

// Create begins the file that Commit will put at path. If a symbolic link is there, it
// stays, and Commit replaces its target and keeps the target's permissions. Create fails
// if path is something else than a regular file, such as a terminal: a rename would
// replace it too. Errors do not name the file.
func Create(path string) (*File, error) {
	return create(path, renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
}

func create(path string, permissions ...renameio.Option) (*File, error) {
	path, err := target(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	// renameio prefers /tmp, but users look for what a killed program leaves beside path.
	pending, err := renameio.NewPendingFile(path, append(permissions, renameio.WithTempDir(dir))...)
	if err != nil {
		return nil, unnamed(err)
	}
	return &File{pending, dir}, nil
}

// unnamed removes the temporary name from an error: it means nothing to a user.
func unnamed(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// target is the file that a rename onto path should replace.
func target(path string) (string, error) {
	if path == "" {
		return "", errors.New("no file name")
	}
	info, err := os.Lstat(path) // first, since another writer may put the file there at any time
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err != nil {
		return "", err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		path, err = filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			return "", ErrDangling
		}
		if err != nil {
			return "", err
		}
		if info, err = os.Stat(path); err != nil {
			return "", err
		}
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it exists and is not a regular file")
	}
	return path, nil
}

// MakeDirs makes a directory and its parents where they are missing. Where a link to
// nothing has its place, os.MkdirAll says "file exists", MakeDirs ErrDangling.
func MakeDirs(path string) error {
	err := os.MkdirAll(path, 0o755)
	var named *fs.PathError
	if !errors.As(err, &named) || !errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, missing := os.Stat(named.Path); errors.Is(missing, fs.ErrNotExist) {
		return fmt.Errorf("make directory %s: %w", named.Path, ErrDangling)
	}
	return err
}

// Write appends to the file.
func (f *File) Write(b []byte) (int, error) {
	n, err := f.pending.Write(b)
	return n, unnamed(err)
}

// Commit makes the content durable and then visible. After an error the caller must
// still call Abort.
func (f *File) Commit() error {
	if err := f.pending.CloseAtomicallyReplace(); err != nil {
		return unnamed(err)
	}
	return SyncDir(f.dir)
}

// SyncDir makes the names in a directory durable.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Abort removes the file unless Commit has made it visible.
func (f *File) Abort() error { return f.pending.Cleanup() }

// Write replaces the file at path by content, or leaves it unchanged.
func Write(path string, content []byte) error {
	f, err := Create(path)
	return write(f, err, path, content)
}

// WritePrivate is Write for a secret: only the user can read the file, whatever the
// permissions of the file that it replaces.
func WritePrivate(path string, content []byte) error {
	f, err := create(path, renameio.WithStaticPermissions(0o600))
	return write(f, err, path, content)
}

func write(f *File, err error, path string, content []byte) error {
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if _, err = f.Write(content); err == nil {
		err = f.Commit()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, f.Abort()))
	}
	return nil
}

// Writable reports why Create would fail at path, and leaves no file there. Programs
// that compute for long before they write call it first.
func Writable(path string) error {
	f, err := Create(path)
	if err == nil {
		err = f.Abort()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
