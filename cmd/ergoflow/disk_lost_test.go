package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/data/store/s3test"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

// TestDiskLost: the coordinator is killed and its directory removed. The same command in an empty
// directory continues from the checkpoint in the bucket, and the parameters have the same bits as
// those of an undisturbed run. The bucket's checkpoints are listed and verified.
func TestDiskLost(t *testing.T) {
	location := s3test.Location(s3test.Fake(t, nil).URL, "/lab") + "&cluster=lab"
	plain := t.TempDir()
	trainLocally(t, plain, 1, "--reproducible")
	want := final(t, plain)

	first := t.TempDir()
	c := startCluster(t, first, 2, "--reproducible", "--store", location)
	st := c.until("a checkpoint is in the bucket", func(st coordinator.Status) bool { return st.Archive != nil && st.Archive.Step >= 50 })
	c.cmd.Process.Kill()
	<-c.done
	syscall.Kill(st.PID, syscall.SIGKILL)
	for _, w := range st.Workers {
		syscall.Kill(w.PID, syscall.SIGKILL)
	}
	if err := storetest.Await(t.Context(), func() error { return os.RemoveAll(first) }); err != nil { // a process may just be ending
		t.Fatal(err)
	}

	second := t.TempDir()
	trainLocally(t, second, 2, "--reproducible", "--store", location)
	equalBits(t, "after the disk was lost", final(t, second), want)
	if p := proven(t, second); p.Generations < 2 {
		t.Errorf("the run began again: it has %d generations\n%s", p.Generations, logs(second))
	}
	ran := func(args ...string) string { t.Helper(); return onBucket(t, location, args...) }
	if out := ran("checkpoints", "list"); !strings.Contains(out, "lab") || !strings.Contains(out, "200") {
		t.Error(out)
	}
	if out := ran("checkpoints", "verify"); !strings.Contains(out, "checkpoints are whole") || strings.HasPrefix(out, "0") {
		t.Error(out)
	}
}
