package trust

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ergoflow/ergoflow/internal/killtest"
)

// Some tests need a process to kill: the test binary starts itself.
const (
	childMode = "TRUST_TEST_CHILD"
	childDir  = "TRUST_TEST_DIR"
)

// child does one piece of work in a directory. Done again it ends as if undisturbed.
func child(mode, dir string) error {
	runtime.LockOSThread() // strace counts the calls of each thread
	ctx := context.Background()
	ca := filepath.Join(dir, "ca")
	if mode == "create" {
		_, err := CreateAuthority(ctx, ca, "lab", today)
		if errors.Is(err, ErrExists) {
			return nil
		}
		return err
	}
	a, err := OpenAuthority(ctx, ca)
	if err != nil {
		return err
	}
	switch mode {
	case "renew", "issue":
		pair, err := a.Issue(ctx, Request{Role: Worker, Name: "w1"}, today)
		if err != nil || mode == "issue" {
			return err
		}
		all, err := a.Bundle(ctx)
		if err != nil {
			return err
		}
		return SaveCredentials(filepath.Join(dir, "w1"), pair, all)
	case "begin":
		return a.BeginRotation(ctx, today)
	case "use":
		return a.UseNext(ctx, today, true)
	case "finish":
		return a.FinishRotation(ctx, today, false)
	case "revoke":
		return a.RevokeIdentity(ctx, Identity{"lab", Worker, "w1"}, today)
	}
	return fmt.Errorf("no work %q", mode)
}

// disturbed are the system calls by which Go changes files here.
var disturbed = []string{"write", "fsync", "renameat", "unlinkat", "fchmod", "mkdirat"}

// A process is killed before each of its system calls that change files. Each time the
// directory has the state before or after, and the same work, done again, ends as if
// undisturbed.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it starts more than a hundred processes, more than a minute under the race detector")
	}
	killtest.Need(t)
	// The last renewal is of a process that was away: the CA of its certificate is gone, and
	// it has never heard of the new one.
	dir := t.TempDir()
	for _, mode := range []string{"create", "renew", "renew", "begin", "use", "issue", "finish", "renew", "revoke"} {
		before := t.TempDir()
		copyTree(t, dir, before)
		kills := 0
		for _, call := range disturbed {
			for n := 1; killedAt(t, mode, call, n, before); n++ {
				kills++
			}
		}
		t.Logf("%s: killed %d times", mode, kills)
		if kills < 4 {
			t.Errorf("%s: the kills did not meet every step", mode)
		}
		if err := child(mode, dir); err != nil {
			t.Fatal(err)
		}
	}
}

// killedAt kills a child before its n-th call, and checks what it leaves. It reports whether
// there was such a call.
func killedAt(t *testing.T, mode, call string, n int, before string) bool {
	t.Helper()
	dir := t.TempDir()
	copyTree(t, before, dir)
	killed := killtest.Before(t, call, n, childMode+"="+mode, childDir+"="+dir)
	whole(t, fmt.Sprintf("%s, %s %d", mode, call, n), mode, before, dir, false)
	if err := child(mode, dir); err != nil {
		t.Errorf("%s, %s %d: again: %v", mode, call, n, err)
	}
	whole(t, fmt.Sprintf("%s, %s %d, again", mode, call, n), mode, before, dir, true)
	left, err := filepath.Glob(filepath.Join(dir, "ca", ".ca*key*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%s, %s %d: keys are left: %v", mode, call, n, left)
	}
	return killed
}

// copyTree copies with modes, unlike os.CopyFS.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// whole checks that a directory has an authority that signs, and credentials that belong
// together if it had them before. Once the work is done they are new.
func whole(t *testing.T, at, mode, before, dir string, done bool) {
	t.Helper()
	a, err := OpenAuthority(t.Context(), filepath.Join(dir, "ca"))
	if mode == "create" && errors.Is(err, ErrNoAuthority) {
		return
	}
	if err != nil {
		t.Errorf("%s: %v", at, err)
		return
	}
	all := bundle(t, a)
	if _, err := a.Issue(t.Context(), Request{Role: Worker, Name: "w2"}, today); err != nil {
		t.Errorf("%s: it does not sign: %v", at, err)
	}
	if err := a.RevokeSerial(t.Context(), "00", today); err != nil {
		t.Errorf("%s: %v", at, err)
	}
	if info, err := os.Stat(a.path(keyFile)); err != nil || info.Mode() != 0o600 {
		t.Errorf("%s: the key has mode %v, %v", at, info.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(before, "w1")); err != nil {
		return
	}
	c, err := OpenCredentials(filepath.Join(dir, "w1"))
	if err != nil {
		t.Errorf("%s: %v", at, err)
		return
	}
	if mode == "renew" && done {
		if err := checkChain(c.Certificate(), all, c.Certificate().ExtKeyUsage[0], today); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		issued, err := a.Issued(t.Context())
		if _, _, chosen := Choose(issued, "lab", string(SerialOf(c.Certificate()))); err != nil || chosen != nil {
			t.Errorf("%s: the certificate has no record: %v", at, err)
		}
	}
}
