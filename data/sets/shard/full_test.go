//go:build unix

package shard

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"testing"

	"golang.org/x/sys/unix"
)

// A disk that fills up in the middle, as far as one process can have that: the
// kernel refuses to let a file grow beyond a limit, after a short write. The
// limit holds for a whole process, so the test runs itself in another.
func TestFullDisk(t *testing.T) {
	const key = "ERGOFLOW_TEST_FULL_DISK"
	dir := os.Getenv(key)
	if dir == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
		child.Env = append(os.Environ(), key+"="+t.TempDir())
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}

	signal.Ignore(unix.SIGXFSZ) // the error, please, instead of the signal
	limit := unix.Rlimit{Cur: 3 << 20, Max: 3 << 20}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	d := NewDir(dir)
	h := header
	h.Samples = 1 << 18 // 3 functions: 3 MiB and a header
	w, err := d.Create(h)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(w.Field(0, values(0, 12)), w.Field(1, values(1, 12)))
	for range h.Count {
		if err == nil {
			err = w.Samples(make([]float32, h.Samples))
		}
	}
	if err == nil {
		_, err = w.Commit()
	}
	if !errors.Is(err, unix.EFBIG) {
		t.Errorf("error %v, want EFBIG", err)
	}
	w.Abort()
	if left := files(t, d); len(left) > 0 || d.Has(dataset, 7) {
		t.Errorf("left behind: %v", left)
	}
	write(t, d, header) // there is room for a small one
}
