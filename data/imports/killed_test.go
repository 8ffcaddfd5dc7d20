//go:build unix

package imports

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// Killed at any point of storing, an import is there completely or not at all, and the next
// collection ends as an undisturbed one.
func TestKilled(t *testing.T) {
	const key = "ERGOFLOW_TEST_KILLED_IMPORT"
	if dir := os.Getenv(key); dir != "" {
		failpoint = func(at string) {
			if at == os.Getenv(key+"_AT") {
				fmt.Println("here")
				select {} // until it is killed
			}
		}
		_, err := Collect(t.Context(), shard.NewDir(filepath.Join(dir, "store")), "mine", filepath.Join(dir, "in"), specOf(t, "vn1d", 32))
		t.Fatal("not killed: ", err)
	}
	for _, at := range []string{"begin", "written", "in place", "published"} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
			t.Fatal(err)
		}
		ou(1, 4, 32).write(t, filepath.Join(dir, "in", "a.safetensors"))
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilled$")
		child.Env = append(os.Environ(), key+"="+dir, key+"_AT="+at)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "here\n" {
			t.Errorf("%s: the child says %q, %v", at, line, err)
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := child.Wait(); err == nil {
			t.Fatal("the child was not killed")
		}

		store := shard.NewDir(filepath.Join(dir, "store"))
		list, err := List(store, "mine")
		if err != nil || len(list) != 0 && at != "published" {
			t.Errorf("%s: %v, %v", at, list, err)
		}
		r := collect(t, store, filepath.Join(dir, "in"), specOf(t, "vn1d", 32))
		if len(r.Accepted)+len(r.Known) != 1 || (len(r.Known) == 1) != (at == "published") {
			t.Errorf("%s: %+v", at, r)
		}
		if list, err = List(store, "mine"); err != nil || len(list) != 1 {
			t.Fatalf("%s: %v, %v", at, list, err)
		}
		opened(t, store, list[0].Hash)
		if _, err := Open(store, list[0].Hash+"0"); err == nil || errors.Is(err, ErrMissing) {
			t.Error("opened what cannot be a hash")
		}
	}
}
