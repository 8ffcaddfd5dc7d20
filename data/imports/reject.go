package imports

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// rejected is the folder to which files are moved.
const rejected = "rejected"

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
	suffix, err := free(dir, g)
	if err != nil {
		return "", err
	}
	to := func(path string) string { return filepath.Join(dir, filepath.Base(path)+suffix) }
	if err := atomicfile.Write(to(g.main)+".reason.txt", []byte(reason+"\n")); err != nil {
		return "", err
	}
	for _, path := range g.paths() {
		if err := os.Rename(path, to(path)); err != nil {
			return "", err
		}
	}
	return to(g.main), nil
}

// free is the first suffix with which nothing of the group is in the folder: none, .2, .3, …
func free(dir string, g group) (string, error) {
	for n := 1; n < 1000; n++ {
		suffix := ""
		if n > 1 {
			suffix = fmt.Sprintf(".%d", n)
		}
		taken := false
		for _, path := range append(g.paths(), g.main+".reason.txt") {
			name := filepath.Base(path)
			if path == g.main+".reason.txt" {
				name = filepath.Base(g.main) + suffix + ".reason.txt"
			} else {
				name += suffix
			}
			_, err := os.Lstat(filepath.Join(dir, name))
			taken = taken || !errors.Is(err, fs.ErrNotExist)
		}
		if !taken {
			return suffix, nil
		}
	}
	return "", errors.New("1000 files of that name are there")
}
