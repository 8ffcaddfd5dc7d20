package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

type file struct {
	name    string
	content []byte
}

// writeAll writes the files in order, each whole or not at all.
func writeAll(dir string, files []file) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := WriteFile(filepath.Join(dir, f.name), f.content); err != nil {
			return err
		}
	}
	return nil
}

// Writable reports what would keep Write from writing into dir, which it makes:
// for programs that compute for long before they write.
func Writable(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, ".report.*"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// WriteFile writes content under a temporary name and renames it to path, so
// that a full disk or a crash leaves no half-written file there.
func WriteFile(path string, content []byte) error {
	return replace(path, func(pattern string) (*os.File, error) {
		return os.CreateTemp(filepath.Dir(path), pattern)
	}, content)
}

// replace fills a file that create makes and renames it to path. If anything
// fails, path is as it was.
func replace(path string, create func(pattern string) (*os.File, error), content []byte) error {
	temp, err := create("." + filepath.Base(path) + ".*")
	if err != nil {
		return err
	}
	if err := fill(temp, content); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), temp.Close(), os.Remove(temp.Name()))
	}
	err = temp.Close()
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(temp.Name()))
	}
	return nil
}

func fill(f *os.File, content []byte) error {
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	return f.Sync()
}
