package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/model/reproduce"
)

// TestReproduceKilled: a reproduction that is killed in the middle of a training
// goes on there when the same command is given again.
func TestReproduceKilled(t *testing.T) {
	dir := t.TempDir()
	args := []string{"reproduce", "vn1d", "--preset", "smoke", "--backend", "go", "--dir", dir}
	c := start(t, dir, args)
	st := c.until("a step", func(s coordinator.Status) bool { return s.Step > 0 })
	syscall.Kill(c.cmd.Process.Pid, syscall.SIGKILL)
	<-c.done
	pids := []int{st.PID}
	for _, w := range st.Workers {
		pids = append(pids, w.PID)
	}
	gone(t, pids) // they notice, save and leave
	if _, err := os.Stat(reproduce.Directory(dir).Page()); err == nil {
		t.Error("a report of nothing is there")
	}

	again := start(t, dir, args)
	again.end()
	encoded, err := os.ReadFile(filepath.Join(dir, "report", "reproduce.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc reproduce.Document
	if err := json.Unmarshal(encoded, &doc); err != nil {
		t.Fatal(err)
	}
	fact := doc.Studies[0].Runs[0]
	if doc.Missing != 0 || fact.Attempts != 2 || len(fact.Judged) != 2 {
		t.Errorf("%d runs missing, %d attempts, %d evaluations\n%s", doc.Missing, fact.Attempts, len(fact.Judged), again.out)
	}
	if got := final(t, dir); int(got.Step) != fact.Updates {
		t.Errorf("the last checkpoint is at step %d of %d", got.Step, fact.Updates)
	}
	if log := logs(dir); !strings.Contains(log, "goes on, until train") && !strings.Contains(log, "continues") {
		t.Errorf("the log does not say that the run went on\n%s", log)
	}
}
