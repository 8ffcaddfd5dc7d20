package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ergoflow/ergoflow/internal/disk"
)

// On a full disk, whatever room it has left, adding and promoting fail with that reason, the
// registry is whole, and the champion is the one before. With room the same work succeeds.
func TestFullDisk(t *testing.T) {
	if err := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--mount", "true").Run(); err != nil {
		t.Skipf("this machine does not allow mount namespaces: %v", err)
	}
	dir := t.TempDir()
	for name, seed := range map[string]int{"first": 1, "state": 2} {
		if err := os.WriteFile(filepath.Join(dir, name), weights(t, seed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	disk := filepath.Join(dir, "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--mount",
		"sh", "-c", `mount -t tmpfs -o size=8m tmpfs "$0" && exec "$1"`, disk, os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"=full", childDir+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "refused with room for") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// fill retrains on a disk with ever more room.
func fill(dir string) error {
	ctx := context.Background()
	first, err := os.ReadFile(filepath.Join(dir, "first"))
	if err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(dir, "state"))
	if err != nil {
		return err
	}
	var refused []int64
	for room := int64(0); ; room += 4096 {
		home := filepath.Join(dir, "disk", fmt.Sprint(room))
		r, err := Open(home)
		if err != nil {
			return err
		}
		v, err := r.Add(ctx, example("vn1d", 1), first)
		if err == nil {
			err = r.Promote(ctx, Promotion{Model: "vn1d", Number: v.Number})
		}
		if err != nil {
			return err
		}
		fills := filepath.Join(dir, "disk", "fills")
		if err := occupy(fills, room); err != nil {
			return err
		}
		failed := retrain(home, content)
		if failed != nil && !errors.Is(failed, ErrSpace) && !disk.Full(failed) {
			return fmt.Errorf("room for %d bytes: %w", room, failed)
		}
		if failed == nil && len(refused) == 0 {
			return fmt.Errorf("it succeeded with room for %d bytes", room)
		}
		_, champion, err := r.Resolve(ctx, "vn1d")
		if err == nil {
			_, err = r.Verify(ctx)
		}
		if err != nil || failed != nil && champion != 1 {
			return fmt.Errorf("room for %d bytes: champion %d, %w", room, champion, err)
		}
		if err := os.Remove(fills); err != nil {
			return err
		}
		if err := retrain(home, content); err != nil {
			return err
		}
		if _, champion, err := r.Resolve(ctx, "vn1d"); err != nil || champion != 2 {
			return fmt.Errorf("room for %d bytes, then more: champion %d, %w", room, champion, err)
		}
		if err := os.RemoveAll(home); err != nil {
			return err
		}
		if failed == nil {
			fmt.Printf("refused with room for %v bytes\n", slices.Compact(refused))
			return nil
		}
		refused = append(refused, room)
	}
}

// occupy writes a file that leaves so much room on its disk.
func occupy(path string, room int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &st); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(unix.Fallocate(int(f.Fd()), 0, 0, int64(st.Bavail)*st.Bsize-room), f.Close())
}
