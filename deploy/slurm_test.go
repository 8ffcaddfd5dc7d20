package deploy

import (
	"os"
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

// fakeCluster stands for ergoflow in cluster.sbatch: it notes what begins and ends in $LOG.
const fakeCluster = `#!/bin/bash
case $1 in
status) [ -e $LOG.coordinator ] ;;
tokens) echo '{"token": "ERGO1secret"}' ;;
train)
  until [ -e $LOG.worker ]; do sleep 0.01; done
  [ -z "$TRAINED" ] || exit "$TRAINED"
  echo ready
  exec sleep 60 ;;
coordinator | worker)
  [ "$1" != "$BROKEN" ] || { echo "it is broken"; exit 1; }
  trap "echo $1 ends >> $LOG; exit 0" TERM
  touch $LOG.$1
  while :; do sleep 0.01; done ;;
esac
`

// The script of a cluster ends with the training's code. At SIGTERM it ends the coordinator, which has
// workers save, before the workers. It ends, too, where the coordinator does not start.
func TestClusterScript(t *testing.T) {
	bash := tool(t, "bash")
	for name, c := range map[string]struct {
		trained, broken string
		stop            bool
		code            int
		says            string
	}{
		"trained":                      {trained: "0", code: 0},
		"failed":                       {trained: "3", code: 3},
		"stopped":                      {stop: true, code: 1},
		"a coordinator that is broken": {broken: "coordinator", code: 1, says: "it is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			bin, home := t.TempDir(), t.TempDir()
			program(t, filepath.Join(bin, "ergoflow"), fakeCluster)
			program(t, filepath.Join(bin, "srun"), "#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\nexec \"$@\"\n")
			log := filepath.Join(bin, "log")
			cmd := exec.CommandContext(t.Context(), bash, "slurm/cluster.sbatch", "vn1d")
			cmd.Env = []string{"HOME=" + home, "PATH=" + bin + ":/usr/bin:/bin", "SLURM_NTASKS=1", "SLURM_PROCID=0",
				"LOG=" + log, "TRAINED=" + c.trained, "BROKEN=" + c.broken}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			said := make([]byte, 64)
			n, err := out.Read(said)
			if c.stop {
				if err != nil || string(said[:n]) != "ready\n" {
					t.Fatalf("%q, %v", said[:n], err)
				}
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != c.code {
				t.Errorf("code %d, want %d", got, c.code)
			}
			if !strings.Contains(string(said[:n]), c.says) {
				t.Errorf("it says %q", said[:n])
			}
			if c.broken != "" {
				return
			}
			ended, err := os.ReadFile(log)
			if err != nil || string(ended) != "coordinator ends\nworker ends\n" {
				t.Errorf("the order is %q, %v", ended, err)
			}
			token, err := os.Stat(filepath.Join(home, "ergoflow/cluster/token"))
			if err != nil || token.Size() == 0 || token.Mode().Perm() != 0o600 {
				t.Errorf("the token's file: %v, %v", token, err)
			}
		})
	}
}
