//go:build unix

package shard

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A writer killed in the middle leaves a temporary file, but no shard; the next
// writer succeeds.
func TestKilledWriter(t *testing.T) {
	const key = "ERGOFLOW_TEST_KILLED_WRITER"
	if dir := os.Getenv(key); dir != "" {
		h := header
		h.Samples = 1 << 20
		w, err := NewDir(dir).Create(h)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Field(0, values(0, 12)); err != nil {
			t.Fatal(err)
		}
		if err := w.Field(1, values(1, 12)); err != nil {
			t.Fatal(err)
		}
		if err := w.Samples(make([]float32, h.Samples)); err != nil {
			t.Fatal(err)
		}
		fmt.Println("written")
		select {} // until it is killed
	}

	d := NewDir(t.TempDir())
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWriter$")
	child.Env = append(os.Environ(), key+"="+d.Root())
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "written\n" {
		t.Errorf("the writer says %q, %v", line, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Fatal("the writer was not killed")
	}

	left := files(t, d)
	if len(left) != 1 || !strings.HasPrefix(left[0], ".") {
		t.Errorf("files %v, want a temporary one", left)
	}
	if d.Has(dataset, header.Shard) {
		t.Error("the store has half a shard")
	}
	if all, err := d.List(); err != nil || len(all) > 0 {
		t.Errorf("List: %v, %v", all, err)
	}
	write(t, d, header)
	if err := d.Verify(t.Context(), dataset, header.Shard); err != nil {
		t.Error(err)
	}
}
