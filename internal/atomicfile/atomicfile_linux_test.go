package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// On a full disk the old file stays and nothing is left beside it.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := Write(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal("this test needs /dev/full:", err)
	}
	defer full.Close()
	if err := unix.Dup3(int(full.Fd()), int(f.pending.Fd()), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("new")); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("written to a full disk: %v", err)
	}
	if err := f.Abort(); err != nil {
		t.Error(err)
	}
	content(t, path, "old")
	entries(t, dir, 1)
}
