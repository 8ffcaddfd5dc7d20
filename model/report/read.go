package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Written is a report that Write has written.
type Written struct {
	Table   string // as text
	Results []byte // evaluate.Results as JSON
	Page    string // path of the HTML page
}

// ErrNone means that a directory has no report.
var ErrNone = errors.New("no report")

// Read reads the report of a run from its directory, or from the directory of the report.
func Read(dir string) (w Written, err error) {
	for _, in := range []string{filepath.Join(dir, "report"), dir} {
		if w.Page = filepath.Join(in, "report.html"); !isFile(w.Page) {
			continue
		}
		table, err := os.ReadFile(filepath.Join(in, "table.txt"))
		if err != nil {
			return w, fmt.Errorf("read the report: %w", err)
		}
		w.Table = string(table)
		if w.Results, err = os.ReadFile(filepath.Join(in, "results.json")); err != nil {
			return w, fmt.Errorf("read the report: %w", err)
		}
		return w, nil
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return w, fmt.Errorf("%w: %s does not exist", ErrNone, dir)
	}
	return w, fmt.Errorf("%w in %s", ErrNone, dir)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
