package flight

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/disk"
)

// Suffixes of the files of a store.
const (
	Suffix      = ".flight.gz"
	TraceSuffix = ".trace"
)

// Bounds of a store. The oldest files go first.
const (
	maxFiles = 512
	maxBytes = 256 << 20
)

// A Store is a directory of dumps.
type Store string

// nameOf is the name of a dump's file: its time, the process, its pid and when it began. The
// same dump has the same name wherever it is stored.
func nameOf(h Header) string {
	who := h.Process.Role
	if h.Process.ID != "" {
		who = string(h.Process.ID)
	}
	who = notName.ReplaceAllString(who, "_")
	return fmt.Sprintf("%s-%s-%d-%d%s", h.At.UTC().Format("20060102T150405.000Z"), who, h.Process.PID, h.Process.Began.UnixMilli(), Suffix)
}

var notName = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// Write stores an encoded dump with that header, and removes the oldest files beyond the bounds.
// It returns the path of the file.
func (s Store) Write(h Header, encoded []byte) (string, error) {
	if err := os.MkdirAll(string(s), 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(string(s), nameOf(h))
	err := atomicfile.WritePrivate(path, encoded)
	if disk.Full(err) && os.Remove(filepath.Join(string(s), reserve)) == nil {
		err = atomicfile.WritePrivate(path, encoded)
	}
	if err != nil {
		return "", err
	}
	return path, s.prune()
}

// reserve is a file that takes room on the disk, so that there is some for a dump when the disk
// is full.
const (
	reserve      = "reserve"
	reserveBytes = 1 << 20
)

// Reserve takes room for a dump, for when the disk is full.
func (s Store) Reserve() error {
	path := filepath.Join(string(s), reserve)
	if info, err := os.Stat(path); err == nil && info.Size() == reserveBytes {
		return nil
	}
	if err := os.MkdirAll(string(s), 0o700); err != nil {
		return err
	}
	return atomicfile.WritePrivate(path, make([]byte, reserveBytes))
}

// prune removes the oldest files beyond the bounds.
func (s Store) prune() error {
	entries, err := os.ReadDir(string(s))
	if err != nil {
		return err
	}
	type file struct {
		name  string
		bytes int64
		at    time.Time
	}
	var files []file
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), Suffix) && !strings.HasSuffix(e.Name(), TraceSuffix) {
			continue
		}
		if info, err := e.Info(); err == nil { // else another process has removed it
			files = append(files, file{e.Name(), info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(b.name, a.name)) })
	bytes, errs := int64(0), []error(nil)
	for i, f := range files {
		if bytes += f.bytes; i < maxFiles && bytes <= maxBytes {
			continue
		}
		if err := os.Remove(filepath.Join(string(s), f.name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Files are the paths of the newest dumps, at most n, the oldest first.
func (s Store) Files(n int) ([]string, error) {
	entries, err := os.ReadDir(string(s))
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries { // by name, and so by time
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), Suffix) {
			paths = append(paths, filepath.Join(string(s), e.Name()))
		}
	}
	return paths[max(0, len(paths)-n):], nil
}
