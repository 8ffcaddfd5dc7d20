package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/model/report/reproduce"
)

// TestReproduceKilled: a reproduction that is killed in the middle of a training
// continues there when the same command is given again.
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
	gone(t, pids) // they save and leave
	if _, err := os.Stat(reproduce.Directory(dir).Page()); err == nil {
		t.Error("there is a report before the end")
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
	if doc.Missing != 0 || fact.Attempts != 2 || len(fact.Evaluations) != 2 {
		t.Errorf("%d runs missing, %d attempts, %d evaluations\n%s", doc.Missing, fact.Attempts, len(fact.Evaluations), again.out)
	}
	if got := final(t, dir); int(got.Step) != fact.Updates {
		t.Errorf("the last checkpoint is at step %d of %d", got.Step, fact.Updates)
	}
	if log := logs(dir); !strings.Contains(log, "continues") {
		t.Errorf("the log does not say that the run continued\n%s", log)
	}
}

// TestReproduceOnCluster: --addr trains on a running cluster and leaves it running. The
// report does not describe its machines as this one.
func TestReproduceOnCluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cluster, dir := t.TempDir(), t.TempDir()
	coordinating, said := program(ctx, t, "coordinator", "--dir", cluster)
	if err := coordinating.Start(); err != nil {
		t.Fatal(err)
	}
	at := addresses(t, cluster, said)
	working, worked := program(ctx, t, "worker", "--join", at.Gossip, "--backend", "go")
	if err := working.Start(); err != nil {
		t.Fatal(err)
	}
	making, made := program(ctx, t, "reproduce", "vn1d", "--preset", "smoke", "--backend", "go", "--addr", at.Control, "--dir", dir)
	if err := making.Run(); err != nil {
		t.Fatalf("reproduce: %v\n%s%s%s", err, made, said, worked)
	}
	if _, err := coordinator.ReadAddresses(cluster); err != nil {
		t.Errorf("the cluster has gone: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "coordinator.db")); err == nil {
		t.Error("a cluster of its own was started")
	}
	page, err := os.ReadFile(reproduce.Directory(dir).Page())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "a cluster of other machines") {
		t.Error("the page does not say that a cluster of other machines trained")
	}
	for _, cmd := range []*exec.Cmd{working, coordinating} {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", cmd.Args[:2], err)
		}
	}
}
