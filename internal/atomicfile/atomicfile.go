// Package atomicfile writes files that are there whole or not at all: under a
// temporary name beside the final one, forced to disk and renamed.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// File is a file that nobody sees before Commit. The caller ends it with Commit
// or Abort.
type File struct {
	pending *renameio.PendingFile
	dir     string
}

// Create begins what will stand at path. A symbolic link there stays, and what it
// leads to will be replaced, with its permissions. Create fails where something
// stands that is no regular file, such as a terminal: a rename would replace it too.
// Errors do not name the file.
func Create(path string) (*File, error) {
	path, err := target(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	// renameio would rather begin in /tmp, but what a killed program leaves is looked
	// for beside path.
	pending, err := renameio.NewPendingFile(path,
		renameio.WithTempDir(dir), renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return nil, unnamed(err)
	}
	return &File{pending, dir}, nil
}

// unnamed takes the temporary name out of an error, which says nothing to a user.
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
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Mode().IsRegular():
		return filepath.EvalSymlinks(path)
	case err == nil:
		return "", errors.New("it is there and is no file that could be replaced")
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", errors.New("it is a symbolic link to nothing")
	}
	return path, nil
}

// Write appends to the file.
func (f *File) Write(b []byte) (int, error) {
	n, err := f.pending.Write(b)
	return n, unnamed(err)
}

// Commit makes the content durable and then visible. On an error the caller
// still has to Abort.
func (f *File) Commit() error {
	if err := f.pending.CloseAtomicallyReplace(); err != nil {
		return unnamed(err)
	}
	dir, err := os.Open(f.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Abort removes the file unless Commit has made it visible.
func (f *File) Abort() error { return f.pending.Cleanup() }

// Write makes content the whole of the file at path, or leaves what was there.
func Write(path string, content []byte) error {
	f, err := Create(path)
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

// Writable reports what would keep Create from making path, without making it:
// for programs that compute for long before they write.
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
