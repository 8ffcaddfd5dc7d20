package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A cluster, and a worker, that need more memory than their cgroup may use say so before they
// start.
func TestMemoryLimit(t *testing.T) {
	const file = "memory.limit_in_bytes" // of version 1
	g := newCgroup(t, "memory", file)
	limit := file
	if g.v2 {
		limit = "memory.max"
	}
	g.write(t, limit, "100M")
	for name, c := range map[string]struct {
		command string
		want    string
	}{
		"a cluster": {"run vn1d --preset demo --backend go --workers 2 --dir " + t.TempDir(), "vn1d with 2 workers on go needs about"},
		"doctor":    {"doctor", "no  memory            100 MiB, the limit of the cgroup"},
	} {
		t.Run(name, func(t *testing.T) {
			script := "echo $$ > " + filepath.Join(g.dir, "cgroup.procs") + " && exec ergoflow " + c.command
			cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
			cmd.Env = os.Environ()
			said, err := cmd.CombinedOutput()
			if !strings.Contains(string(said), c.want) || (err == nil) != (name == "doctor") {
				t.Errorf("%v\n%s", err, said)
			}
			if !strings.Contains(string(said), "100 MiB, the limit of the cgroup") {
				t.Errorf("it does not name the limit\n%s", said)
			}
		})
	}
}
