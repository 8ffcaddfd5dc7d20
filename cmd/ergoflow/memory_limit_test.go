package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A cluster that needs more memory than its cgroup may use says so before it starts, and doctor
// shows the limit.
func TestMemoryLimit(t *testing.T) {
	g := newCgroup(t, "memory", "memory.limit_in_bytes")
	g.write(t, g.limit, "100M")
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
