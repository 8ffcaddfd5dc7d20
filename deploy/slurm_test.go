package deploy

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The script ends with the code of the retraining, and hands SIGTERM on to it.
func TestSlurmScript(t *testing.T) {
	bash := tool(t, "bash")
	text := read(t, "slurm/retrain.sbatch")
	for line := range strings.Lines(text) {
		if command, found := strings.CutPrefix(line, "ergoflow "); found {
			checkRetrain(t, strings.Fields(strings.TrimSuffix(strings.TrimSpace(command), " &")))
		}
	}
	if !strings.Contains(text, "\n#SBATCH --signal=B:TERM@") {
		t.Error("Slurm does not signal the script before the limit")
	}
	bin := t.TempDir()
	for name, c := range map[string]struct {
		does string
		stop bool
		code int
	}{
		"promoted": {"exit 0", false, 0},
		"kept":     {"exit 10", false, 10},
		// The retraining needs a moment to end in order.
		"stopped": {"trap 'sleep 0.1; exit 1' TERM; echo ready; while :; do sleep 0.01; done", true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			program(t, filepath.Join(bin, "ergoflow"), "#!/bin/bash\n"+c.does+"\n")
			cmd := exec.CommandContext(t.Context(), bash, "slurm/retrain.sbatch")
			cmd.Env = []string{"HOME=" + bin, "PATH=" + bin + ":/usr/bin:/bin"}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if c.stop {
				if _, err := out.Read(make([]byte, 16)); err != nil { // it is ready
					t.Fatal(err)
				}
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != c.code {
				t.Errorf("code %d, want %d", got, c.code)
			}
		})
	}
}
