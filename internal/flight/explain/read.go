package explain

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow/internal/flight"
)

// ErrNoDumps: a directory has no dumps.
var ErrNoDumps = errors.New("no dumps of flight recorders")

// Bounds of what is read of a directory: the last dumps of each of the last processes.
const (
	maxFiles     = 256
	maxOfProcess = 3
)

// A Source is an encoded dump and its name for people.
type Source struct {
	Name    string
	Encoded []byte
}

// Files finds the dumps in a directory, or in its directory flight, or that one file.
func Files(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var all []string
	for _, dir := range []string{path, filepath.Join(path, "flight")} {
		files, err := flight.Store(dir).Files(4 * maxFiles)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		all = append(all, files...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w in %s", ErrNoDumps, path)
	}
	ofProcess := make(map[string]int)
	var chosen []string
	for _, path := range slices.Backward(all) { // the newest first
		_, process, _ := strings.Cut(filepath.Base(path), "-")
		if ofProcess[process]++; ofProcess[process] <= maxOfProcess && len(chosen) < maxFiles {
			chosen = append(chosen, path)
		}
	}
	return chosen, nil
}

// Read reads dumps. What cannot be read is in the notes, and fails nothing.
func Read(files []string, sources []Source) (dumps []*flight.Dump, notes []string) {
	read := make([]*flight.Dump, len(files)+len(sources))
	problems := make([]error, len(read))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range read {
		group.Go(func() error {
			if i >= len(files) {
				read[i], problems[i] = flight.Read(bytes.NewReader(sources[i-len(files)].Encoded))
				return nil
			}
			f, err := os.Open(files[i])
			if err != nil {
				problems[i] = err
				return nil
			}
			defer f.Close()
			read[i], problems[i] = flight.Read(f)
			return nil
		})
	}
	_ = group.Wait() // problems has the errors
	for i, d := range read {
		if problems[i] != nil {
			var name string
			if i < len(files) {
				name = filepath.Base(files[i])
			} else {
				name = sources[i-len(files)].Name
			}
			notes = append(notes, fmt.Sprintf("%s: %v", name, problems[i]))
		}
		if d != nil {
			dumps = append(dumps, d)
		}
	}
	return dumps, notes
}
