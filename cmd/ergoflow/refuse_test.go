package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator"
)

// refused runs the program and checks the exit code, one error line with all the words,
// and a hint.
func refused(t *testing.T, cmd *exec.Cmd, out interface{ String() string }, code int, words ...string) {
	t.Helper()
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != code {
		t.Errorf("ended with %v, not code %d\n%s", err, code, out)
	}
	var line string
	hint := false
	for _, l := range strings.Split(out.String(), "\n") {
		if text, ok := strings.CutPrefix(l, "ergoflow: "); ok {
			line = text
		}
		hint = hint || strings.HasPrefix(l, "hint: ")
	}
	for _, w := range words {
		if !strings.Contains(line, w) {
			t.Errorf("the error does not name %q:\n%s", w, out)
		}
	}
	if !hint {
		t.Errorf("there is no hint:\n%s", out)
	}
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	address := l.Addr().String()
	for _, flag := range []string{"--listen", "--gossip"} {
		dir := t.TempDir()
		cmd, out := program(t.Context(), t, "coordinator", "--dir", dir, flag, address)
		refused(t, cmd, out, exitFailure, address, "in use")
		if a, err := coordinator.ReadAddresses(dir); !errors.Is(err, coordinator.ErrNotRunning) {
			t.Errorf("%s: the directory names a coordinator: %+v (%v)", flag, a, err)
		}
	}
	cmd, out := program(t.Context(), t, "worker", "--join", "127.0.0.1:1", "--listen", address, "--backend", "go")
	refused(t, cmd, out, exitFailure, address, "in use")
}

// TestSilentSeed: the worker gives up a seed that takes connections and never answers.
func TestSilentSeed(t *testing.T) {
	t.Parallel() // nearly all of it is waiting for an answer
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd, out := program(ctx, t, "worker", "--join", l.Addr().String(), "--backend", "go")
	refused(t, cmd, out, exitFailure, l.Addr().String())
}

func TestOneCoordinatorPerDirectory(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	first, firstOut := program(ctx, t, "coordinator", "--dir", dir)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	addresses(t, dir, firstOut)
	second, out := program(t.Context(), t, "coordinator", "--dir", dir)
	refused(t, second, out, exitFailure, dir)
	third, out := program(t.Context(), t, "run", "vn1d", "--preset", "smoke", "--dir", dir)
	refused(t, third, out, exitFailure, "coordinator")
	cancel()
	if err := first.Wait(); err != nil && first.ProcessState.ExitCode() > 0 {
		t.Errorf("the first coordinator: %v\n%s", err, firstOut)
	}
}

// TestDamagedPlugin: a plugin that does not load is an error, not a crash.
func TestDamagedPlugin(t *testing.T) {
	home := os.Getenv("ERGOFLOW_CACHE")
	if home == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		home = filepath.Join(cache, "ergoflow")
	}
	copied := t.TempDir()
	damaged := false
	err := filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		to := filepath.Join(copied, strings.TrimPrefix(path, home))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		b := []byte("not a shared object")
		if filepath.Ext(path) == ".json" {
			if b, err = os.ReadFile(path); err != nil {
				return err
			}
		} else {
			damaged = true
		}
		return os.WriteFile(to, b, 0o644)
	})
	if err != nil || !damaged {
		t.Fatalf("no plugin to damage in %s (make setup installs it): %v", home, err)
	}
	cmd, out := program(t.Context(), t, "bench", "step", "--preset", "smoke", "--backend", "xla:cpu")
	cmd.Env = append(os.Environ(), "ERGOFLOW_CACHE="+copied)
	refused(t, cmd, out, exitFailure, "xla:cpu")

	cmd, out = program(t.Context(), t, "bench", "step", "--preset", "smoke", "--backend", "xla:cuda")
	refused(t, cmd, out, exitFailure, "GPU")

	cmd, out = program(t.Context(), t, "bench", "step", "--preset", "smoke", "--backend", "abacus")
	refused(t, cmd, out, exitUsage, "abacus")
}

// TestFullDisk fills a small file system in the middle of a run: with data, or with the
// final checkpoint. The run says so, waits, and goes on when the file system has become
// larger. One that is full from the start has no room for the log of the error.
func TestFullDisk(t *testing.T) {
	t.Parallel() // nearly all of it is waiting between attempts
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := `mount -t tmpfs -o size=$1 tmpfs "$0" && head -c $4 /dev/zero >"$0/before"
		(exec -a ergoflow "$2" train vn1d --preset smoke --backend go --local --dir "$0/run" --set data.training.burn_in=1 --set training.steps=16 --set "$3") >"$5" 2>&1 & run=$!
		until grep -q "goes on by itself" "$5" || ! kill -0 $run; do sleep 0.1; done
		mount -o remount,size=64m "$0"; wait $run; code=$?; cat "$5"; grep -h "msg=\"generation . ends" "$0/run/logs/coordinator.log"; exit $code`
	if err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "true").Run(); err != nil {
		t.Skipf("this machine does not allow mount namespaces: %v", err)
	}
	for name, test := range map[string]struct {
		size, set, before string
		code              int
		says              []string
	}{
		"data":       {"5m", "data.samples=4096", "0", 0, []string{"is generating: waits for room on the disk: shard ", " it needs 1.03 MiB in ", "run/shards", "train: 16"}},
		"checkpoint": {"2560k", "model.deeponet.trunk_width=512", "0", 0, []string{"the disk is full: the checkpoint at step 16 is not stored, it needs ", "/run; the run", "train: 16"}},
		"start":      {"16k", "seed=1", "16384", exitFailure, []string{"ergoflow: coordinator ended: ", "no space left", "hint: free space"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			said := filepath.Join(t.TempDir(), "said")
			cmd := exec.CommandContext(ctx, "unshare", "--user", "--map-root-user", "--mount", "bash", "-c", script, t.TempDir(), test.size, self, test.set, test.before, said)
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != test.code {
				t.Errorf("ended with code %d (%v), not %d\n%s", code, err, test.code, out)
			}
			for _, words := range test.says {
				if !strings.Contains(string(out), words) {
					t.Errorf("%q is not in\n%s", words, out)
				}
			}
			if ends := strings.Count(string(out), "ends: the checkpoint"); ends > 1 {
				t.Errorf("%d generations ended for one checkpoint\n%s", ends, out)
			}
		})
	}
}

// TestExportThroughLink: an export to a symbolic link leaves the link.
func TestExportThroughLink(t *testing.T) {
	dir := t.TempDir()
	saveAccount(t, dir, 0)
	far, link := filepath.Join(dir, "far"), filepath.Join(dir, "final.safetensors")
	if err := os.WriteFile(far, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("far", link); err != nil {
		t.Fatal(err)
	}
	cmd, out := program(t.Context(), t, "checkpoints", "export", "latest", "--dir", dir, "-o", link)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if to, err := os.Readlink(link); err != nil || to != "far" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if info, err := os.Stat(far); err != nil || info.Size() == 0 {
		t.Errorf("nothing was written behind the link: %v", err)
	}
}

// TestExportIsWhole: where one of an export's two files cannot be written, the other
// is left as it was.
func TestExportIsWhole(t *testing.T) {
	for _, obstacle := range []string{"final.safetensors", "final.json"} {
		dir := t.TempDir()
		saveAccount(t, dir, 0)
		if err := os.Mkdir(filepath.Join(dir, obstacle), 0o755); err != nil {
			t.Fatal(err)
		}
		state, config := filepath.Join(dir, "final.safetensors"), filepath.Join(dir, "final.json")
		cmd, out := program(t.Context(), t, "checkpoints", "export", "latest", "--dir", dir, "-o", state)
		refused(t, cmd, out, exitFailure, "write", obstacle)
		if err := writeBoth(state, nil, config, nil); err == nil {
			t.Errorf("%s was overwritten", obstacle)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*final*")); err != nil || len(left) != 1 {
			t.Errorf("left beside %s: %q, %v", obstacle, left, err)
		}
	}
}

// TestFunctionWithoutEquation: a function without an equation, after those that are tried
// first, fails the run once, not on one worker after another. The hint names the definition.
func TestFunctionWithoutEquation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	definition := filepath.Join(dir, "edge.yaml")
	err := os.WriteFile(definition, []byte(`
name: edge
dim: 1
grid: {lo: -4, hi: 4, nodes: 64}
parameters: {a: "uniform(0, 2)"}
drift: -x
diffusion: "a > 1.99 ? 0 : 1"
`), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run")
	cmd, out := program(t.Context(), t, "generate", "vn1d", "--preset", "smoke", "--local", "--backend", "go", "--workers", "1", "--dir", run, "--set", "data.family="+definition)
	refused(t, cmd, out, exitFailure, "shard 1", "function 123 with a = 1.99742", "not positive", "attempt 1")
	if !strings.Contains(out.String(), "hint: change the definition's formulas") {
		t.Errorf("the hint is another:\n%s", out)
	}
}

// A store that cannot be is refused before anything starts, also where only a directory will do.
func TestRefusedStores(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		code  int
		words []string
		args  []string
	}{
		{exitFailure, []string{"s4://x", "want a directory"}, []string{"coordinator", "--dir", dir, "--store", "s4://x"}},
		{exitUsage, []string{"s4://x"}, []string{"run", "vn1d", "--preset", "smoke", "--dir", dir, "--store", "s4://x"}},
		{exitUsage, []string{"s3://b"}, []string{"shards", "import", dir, "--name", "lab", "--experiment", "vn1d", "--store", "s3://b"}},
	} {
		cmd, out := program(t.Context(), t, c.args...)
		refused(t, cmd, out, c.code, c.words...)
	}
}
