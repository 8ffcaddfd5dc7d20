package atomicfile

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/ergoflow/ergoflow/internal/disk"
)

// Reserve takes the room for a file of that many bytes, where the file system can do so.
// It fails with a *disk.FullError where there is less, before anything is written.
func (f *File) Reserve(bytes int64) error { return Reserve(f.pending.File, f.dir, bytes) }

// Reserve is as File.Reserve, for an open file in a directory.
func Reserve(f *os.File, dir string, bytes int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, bytes)
	if disk.Full(err) {
		dir, _ := filepath.Abs(dir) // fails where the working directory is gone
		return &disk.FullError{Dir: dir, Bytes: bytes, Err: err}
	}
	return nil
}
