package boltfile

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/ergoflow/ergoflow/internal/disk"
)

// reserve takes the room of the first Growth bytes, where the file system can do so. A
// coordinator's ledger never grows beyond: no full disk keeps it from being written.
func reserve(f *os.File) error {
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, Growth); disk.Full(err) {
		return err
	}
	return nil
}
