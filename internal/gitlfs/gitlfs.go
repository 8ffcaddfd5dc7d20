// Package gitlfs recognises the text that Git leaves in place of a file whose content
// Git LFS keeps (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md). Every reader
// of binary files asks it, since the text is never the file's format.
package gitlfs

import (
	"errors"
	"strings"
)

// ErrPointer means that a file's content has not been fetched: git lfs pull does.
var ErrPointer = errors.New("this is a Git LFS pointer, not the file")

const begin = "version https://git-lfs.github.com/spec/"

// Head is the number of bytes at the beginning of a file by which Check decides.
const Head = len(begin)

// Check is ErrPointer if the bytes, at least the first Head of a file if it has as many, are
// those of a pointer.
func Check(head []byte) error {
	if strings.HasPrefix(string(head[:min(len(head), Head)]), begin) {
		return ErrPointer
	}
	return nil
}
