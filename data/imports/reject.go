package imports

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// rejected is the folder to which files are moved.
const rejected = "rejected"

// reasonSuffix is that of the file which says why the one of that name was rejected.
const reasonSuffix = ".reason.txt"

// reject notes why a group was not imported, and moves its files aside. Where that fails they
// stay, with a warning, and are read again the next time.
func (c *collector) reject(g group, reason error, aside bool) {
	r := Refused{File: filepath.Base(g.main), Reason: reason.Error()}
	if aside {
		var err error
		if r.Moved, err = moveAside(g, r.Reason); err != nil {
			c.result.Warnings = append(c.result.Warnings, fmt.Sprintf("%s was rejected and could not be moved aside: %v", r.File, err))
		}
	}
	c.result.Rejected = append(c.result.Rejected, r)
}

// moveAside moves the files of a group, the reason first, so that no file is there without
// one. It returns where the main file is.
func moveAside(g group, reason string) (string, error) {
	dir := filepath.Join(filepath.Dir(g.main), rejected)
	if err := atomicfile.MakeDirs(dir); err != nil {
		return "", err
	}
	to, err := free(dir, g)
	if err != nil {
		return "", err
	}
	if err := atomicfile.Write(to(g.main)+reasonSuffix, []byte(reason+"\n")); err != nil {
		return "", err
	}
	for _, path := range g.paths() {
		if err := os.Rename(path, to(path)); err != nil {
			return "", err
		}
	}
	return to(g.main), nil
}

// free returns where in the folder each file of the group can go: its name with the first
// suffix, of none, .2, .3, …, with which none of them is there, nor the reason.
func free(dir string, g group) (to func(path string) string, err error) {
	suffix := ""
	to = func(path string) string { return filepath.Join(dir, filepath.Base(path)+suffix) }
	taken := func(path string) bool {
		_, err := os.Lstat(path)
		return !errors.Is(err, fs.ErrNotExist)
	}
	for n := 2; n <= 1000; n++ {
		if !taken(to(g.main)+reasonSuffix) && !slices.ContainsFunc(g.paths(), func(path string) bool { return taken(to(path)) }) {
			return to, nil
		}
		suffix = fmt.Sprintf(".%d", n)
	}
	return nil, errors.New("1000 files of that name are there")
}
