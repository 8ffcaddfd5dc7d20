package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/ergoflow/ergoflow/internal/killtest"
)

// Some tests need a process to kill: the test binary starts itself.
const (
	childMode = "REGISTRY_TEST_CHILD"
	childDir  = "REGISTRY_TEST_DIR"
)

func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	switch mode := os.Getenv(childMode); mode {
	case "":
		os.Exit(m.Run())
	case "lock":
		r, err := Open(dir)
		if err == nil {
			_, err = r.Lock(context.Background(), "vn1d", Self("the child"), Skip)
		}
		if err != nil {
			panic(err)
		}
		fmt.Print("l")
		select {}
	case "full":
		if err := fill(dir); err != nil {
			panic(err)
		}
	case "promote":
		runtime.LockOSThread() // strace counts the calls of each thread
		content, err := os.ReadFile(filepath.Join(dir, "state"))
		if err == nil {
			err = retrain(filepath.Join(dir, "registry"), content)
		}
		if err != nil {
			panic(err)
		}
	}
}

// The lock of a process that was killed is taken over at once, also before its parent has
// noticed.
func TestLockOfKilledProcess(t *testing.T) {
	if _, boot, space := machine(); boot == "" || space == "" {
		t.Skip("this system does not tell whether a process has ended")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"=lock", childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	if _, err := out.Read(make([]byte, 1)); err != nil { // it has the lock
		t.Fatal(err)
	}
	r := open(t, dir)
	if _, err := r.Lock(t.Context(), "vn1d", Self(""), Skip); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "(the child)") {
		t.Errorf("while it lives: %v", err)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Not waited for: it is a zombie. The pipe ends when it has ended.
	if n, err := out.Read(make([]byte, 1)); err == nil {
		t.Fatalf("%d more bytes", n)
	}
	lease, err := r.Lock(t.Context(), "vn1d", Self(""), Wait)
	if err != nil || !strings.Contains(lease.Took, "has ended") {
		t.Fatalf("%v, %+v", err, lease)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// retrain does what a retraining does to the registry. Its model is the second of its kind.
func retrain(dir string, content []byte) error {
	r, err := Open(dir)
	if err != nil {
		return err
	}
	v, err := r.Add(context.Background(), example("vn1d", 2), content)
	if err != nil {
		return err
	}
	return r.Promote(context.Background(), Promotion{Model: "vn1d", Number: v.Number, Key: v.Key})
}

// disturbed are the system calls that change files. Not all systems have all of them.
var disturbed = []string{
	"write", "pwrite64", "fsync", "fdatasync", "rename", "renameat", "renameat2", "link", "linkat",
	"unlink", "unlinkat", "ftruncate", "fallocate", "fchmod", "mkdir", "mkdirat",
}

// A process that adds and promotes a version is killed before each of its system calls that
// change files. Each time the registry is whole, the champion is the old version or the new
// one with its weights, and the same work, done again, ends as if undisturbed.
func TestKilledWhilePromoting(t *testing.T) {
	killtest.Need(t)
	for name, seeds := range map[string][]int{"new registry": nil, "champion": {1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pristine := t.TempDir()
			before := 0
			for _, seed := range seeds {
				before = add(t, open(t, pristine), "vn1d", seed).Number
				if err := open(t, pristine).Promote(t.Context(), Promotion{Model: "vn1d", Number: before}); err != nil {
					t.Fatal(err)
				}
			}
			kills, outcomes := make(map[string]int), make(map[int]int)
			for _, call := range disturbed {
				for n := 1; killedAt(t, call, n, pristine, before, outcomes); n++ {
					kills[call]++
				}
			}
			t.Logf("killed at %v; champions afterwards: %v", kills, outcomes)
			// An undisturbed end of each kind of call is among the outcomes.
			if kills["pwrite64"] < 4 || kills["fdatasync"] < 4 || kills["fsync"] < 2 || kills["renameat"]+kills["rename"]+kills["renameat2"] < 1 || outcomes[before] < 12 {
				t.Error("the kills did not meet every step")
			}
		})
	}
}

// killedAt kills a child before its n-th call, and checks what it leaves. It reports whether
// there was such a call.
func killedAt(t *testing.T, call string, n int, pristine string, before int, outcomes map[int]int) bool {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "state"), weights(t, 2), 0o644); err != nil {
		t.Fatal(err)
	}
	r := open(t, filepath.Join(dir, "registry"))
	if err := os.CopyFS(r.Dir(), os.DirFS(pristine)); err != nil {
		t.Fatal(err)
	}
	killed := killtest.Before(t, call, n, childMode+"=promote", childDir+"="+dir)
	at := champion(t, r, "vn1d")
	outcomes[at]++
	if at != before && at != before+1 {
		t.Errorf("%s %d: the champion is %d", call, n, at)
	}
	if at > 0 {
		v, err := r.Get(t.Context(), "vn1d")
		if err == nil {
			_, err = r.Load(t.Context(), v)
		}
		if err != nil {
			t.Errorf("%s %d: champion %d: %v", call, n, at, err)
		}
	}
	if _, err := r.List(t.Context(), ""); !errors.Is(err, ErrNoRegistry) {
		verified(t, r)
	}
	if err := retrain(r.Dir(), weights(t, 2)); err != nil {
		t.Errorf("%s %d: again: %v", call, n, err)
	}
	history, err := r.History(t.Context(), "vn1d", Champion)
	if found := verified(t, r); err != nil || found.Versions != before+1 || champion(t, r, "vn1d") != before+1 || len(history) != before+1 {
		t.Errorf("%s %d: in the end %+v, champion %d, history %+v, %v", call, n, found, champion(t, r, "vn1d"), history, err)
	}
	return killed
}
