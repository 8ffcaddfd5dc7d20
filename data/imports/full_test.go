//go:build unix

package imports

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// A disk that fills up while an import is stored is an error of the store: the file stays
// where it is, and nothing is left. The limit on the size of files holds for a whole process,
// so the test runs itself in another.
func TestFullDisk(t *testing.T) {
	const key = "ERGOFLOW_TEST_FULL_DISK"
	dir := os.Getenv(key)
	path := filepath.Join(dir, "in", "a.safetensors")
	if dir == "" {
		dir = t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
			t.Fatal(err)
		}
		ou(1, 4, 1<<16).write(t, filepath.Join(dir, "in", "a.safetensors"))
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
		child.Env = append(os.Environ(), key+"="+dir)
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(unix.SIGXFSZ) // the error, please, instead of the signal
	limit := unix.Rlimit{Cur: 1 << 19, Max: 1 << 19}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	store := shard.NewDir(filepath.Join(dir, "store"))
	r, err := Collect(t.Context(), store, "mine", filepath.Join(dir, "in"), specOf(t, "vn1d", 32))
	if !errors.Is(err, unix.EFBIG) || len(r.Rejected)+len(r.Accepted) > 0 {
		t.Errorf("%+v, error %v, want EFBIG", r, err)
	}
	left, err := filepath.Glob(filepath.Join(directory(store, "mine"), "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != ".lock" {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
