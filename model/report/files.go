package report

import (
	"fmt"
	"path/filepath"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

type file struct {
	name    string
	content []byte
}

// writeAll writes the files in order, each whole or not at all.
func writeAll(dir string, files []file) error {
	if err := atomicfile.MakeDirs(dir); err != nil {
		return err
	}
	for _, f := range files {
		if err := atomicfile.Write(filepath.Join(dir, f.name), f.content); err != nil {
			return err
		}
	}
	return nil
}

// Writable reports why Write could not write into dir, which it creates. Call it before
// a long computation.
func Writable(dir string) error {
	err := atomicfile.MakeDirs(dir)
	if err == nil {
		err = atomicfile.Writable(filepath.Join(dir, "report.html"))
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
