package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/model/retraining"
)

var retrainE2E = flag.Bool("retrain.e2e", false, "run TestRetrainE2E, which takes five minutes")

// TestRetrainE2E has a schedule of every minute on a cluster of three processes. The first
// retraining is promoted. The second has nothing to do. The third learns from a file that was
// dropped into the watched directory; its process is killed while it trains, and again when it
// judges its candidate. Its outcome is that of an undisturbed one, bit for bit.
func TestRetrainE2E(t *testing.T) {
	if !*retrainE2E {
		t.Skip("a schedule of every minute takes minutes: `make retrain-e2e` runs it")
	}
	dir := t.TempDir()
	e := &endToEnd{t: t, dir: dir, cluster: filepath.Join(dir, "cluster"), inbox: filepath.Join(dir, "inbox")}
	if err := os.MkdirAll(e.inbox, 0o755); err != nil {
		t.Fatal(err)
	}
	config := e.config("retrain", "models")
	e.serve()
	e.ergoflow("schedules", "add", "minutely", "* * * * *", "--config", config, "--dir", e.cluster)

	first := e.await("the first retraining", 1)
	e.outcome(first, retraining.Promoted)
	second := e.await("the second retraining", 2)
	if log := e.log(second); !strings.Contains(log, "nothing to do") {
		t.Fatalf("the second retraining found something to do:\n%s", log)
	}

	e.ergoflow("schedules", "pause", "minutely", "--dir", e.cluster)
	e.ergoflow("simulate", "--drift", "-2*(x - 0.5)", "--diffusion", "0.8", "--chains", "64", "--burn-in", "500", "--steps", "640", "--thin", "10",
		"-o", filepath.Join(e.inbox, "ou.npy"))
	e.write(filepath.Join(e.inbox, "ou.json"), `{"equations": [{"drift": "-2*(x - 0.5)", "diffusion": "0.8"}]}`)
	for _, name := range []string{"ou.npy", "ou.json"} { // old enough not to be taken for half-written
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(e.inbox, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	twin := e.twin()
	before := e.ended()
	e.ergoflow("schedules", "resume", "minutely", "--dir", e.cluster)
	e.kill("it trains", func() bool {
		j := e.journal()
		return j.Outcome == nil && len(j.Trained) > 0 && !j.Trained[0].Done && e.step() > 20
	})
	e.kill("it judges", func() bool {
		j := e.journal()
		return j.Outcome == nil && len(j.Trained) > 0 && j.Trained[0].Done
	})
	third := e.await("the third retraining", before+1)
	got := e.outcome(third, "")
	if got.Imports == nil {
		t.Errorf("the third retraining has no imports: %+v", got)
	}
	if got.Decision != twin.Decision || fmt.Sprint(got.Candidate.Metrics) != fmt.Sprint(twin.Candidate.Metrics) || got.Candidate.Run != twin.Candidate.Run {
		t.Errorf("disturbed: %s, %+v\nundisturbed: %s, %+v", got.Decision, got.Candidate, twin.Decision, twin.Candidate)
	}
	if n := len(e.versions("models")); n != 2 {
		t.Errorf("%d versions after two candidates", n)
	}
	e.ergoflow("models", "verify", "--registry", filepath.Join(dir, "models"))
}

// endToEnd is a cluster with a schedule.
type endToEnd struct {
	t                   *testing.T
	dir, cluster, inbox string
	coordinator         int // its process
}

// config writes a configuration with directories of its own, and returns its path.
func (e *endToEnd) config(name, registry string) string {
	path := filepath.Join(e.dir, name+".yaml")
	e.write(path, fmt.Sprintf(`name: vn1d
registry: %s
dir: %s
experiment:
  name: vn1d
  preset: smoke
  set: [training.steps=300, training.checkpoint_every=30, training.reproducible=true]
data: {watch: [{name: lab, dir: inbox}]}
gate: {normal: 0, untrained: 0}
cluster: {workers: 2, backend: go}
`, registry, name))
	return path
}

func (e *endToEnd) write(path, content string) {
	e.t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		e.t.Fatal(err)
	}
}

// serve starts a coordinator and two workers, which end with the test.
func (e *endToEnd) serve() {
	e.t.Helper()
	coordinator, out := e.start("coordinator", "--dir", e.cluster)
	e.coordinator = coordinator.Pid
	gossip := addresses(e.t, e.cluster, out).Gossip
	for range 2 {
		e.start("worker", "--join", gossip, "--backend", "go", "--threads", "1")
	}
}

// start starts a process that ends with the test, and returns it and its output.
func (e *endToEnd) start(args ...string) (*os.Process, *bytes.Buffer) {
	e.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd, out := program(ctx, e.t, args...)
	if err := cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	return cmd.Process, out
}

// ergoflow runs a command to its end, and returns its output.
func (e *endToEnd) ergoflow(args ...string) string {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), patience)
	defer cancel()
	cmd, out := program(ctx, e.t, args...)
	if err := cmd.Run(); err != nil {
		e.t.Fatalf("ergoflow %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out.String()
}

// poll waits for a condition of other processes.
func (e *endToEnd) poll(what string, reached func() bool) {
	e.t.Helper()
	for begin := time.Now(); !reached(); time.Sleep(20 * time.Millisecond) { // other processes are polled
		if time.Since(begin) > patience {
			e.t.Fatalf("waited too long until %s\n%s", what, e.ergoflow("runs", "list", "--dir", e.cluster))
		}
	}
}

// runs are the retrainings of the queue that have ended well, the oldest first.
func (e *endToEnd) runs() (done []queue.Run) {
	e.t.Helper()
	var all []queue.Run
	if err := json.Unmarshal([]byte(e.ergoflow("runs", "list", "--dir", e.cluster, "--json")), &all); err != nil {
		e.t.Fatal(err)
	}
	for i := range all {
		if r := all[len(all)-1-i]; r.Kind == queue.Retrain && r.State == queue.Ended && r.Outcome == queue.Done {
			done = append(done, r)
		}
	}
	return done
}

func (e *endToEnd) ended() int { return len(e.runs()) }

// await waits for the n-th retraining to end.
func (e *endToEnd) await(what string, n int) queue.Run {
	e.t.Helper()
	e.poll(what+" ends", func() bool { return e.ended() >= n })
	return e.runs()[n-1]
}

func (e *endToEnd) log(r queue.Run) string {
	content, err := os.ReadFile(filepath.Join(e.cluster, "logs", fmt.Sprintf("run-%d.log", r.ID)))
	if err != nil {
		e.t.Fatal(err)
	}
	return string(content)
}

// outcome is that of the retraining which the journal has, of that run.
func (e *endToEnd) outcome(r queue.Run, want retraining.Decision) retraining.Outcome {
	e.t.Helper()
	j := e.journal()
	if j.Outcome == nil || want != "" && j.Outcome.Decision != want {
		e.t.Fatalf("run %d: %+v, want %s\n%s", r.ID, j.Outcome, want, e.log(r))
	}
	return *j.Outcome
}

// outcomeFile is what the test reads of journal.json.
type outcomeFile struct {
	Trained []struct {
		Done bool `json:"done"`
	} `json:"trained"`
	Outcome *retraining.Outcome `json:"outcome"`
}

func (e *endToEnd) journal() (j outcomeFile) {
	content, err := os.ReadFile(filepath.Join(e.dir, "retrain", "journal.json"))
	if err != nil {
		return j // not yet
	}
	if err := json.Unmarshal(content, &j); err != nil {
		e.t.Fatal(err)
	}
	return j
}

// step is the last step of the training on the cluster.
func (e *endToEnd) step() int64 {
	var st struct {
		Step  int64  `json:"step"`
		State string `json:"state"`
	}
	if err := json.Unmarshal([]byte(e.ergoflow("status", "--dir", e.cluster, "--json")), &st); err != nil || st.State != "training" {
		return 0
	}
	return st.Step
}

// twin retrains the same undisturbed, on a cluster of its own, from the same champion.
func (e *endToEnd) twin() retraining.Outcome {
	e.t.Helper()
	if err := os.CopyFS(filepath.Join(e.dir, "twin-models"), os.DirFS(filepath.Join(e.dir, "models"))); err != nil {
		e.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(e.t.Context(), patience)
	defer cancel()
	cmd, out := program(ctx, e.t, "retrain", "--config", e.config("twin", "twin-models"), "--json")
	var document bytes.Buffer
	cmd.Stdout = &document
	_ = cmd.Run() // the code is that of the decision
	var o retraining.Outcome
	if err := json.Unmarshal(document.Bytes(), &o); err != nil || o.Candidate == nil {
		e.t.Fatalf("undisturbed: %v\n%s\n%s", err, document.Bytes(), out)
	}
	return o
}

// versions are those of a registry.
func (e *endToEnd) versions(registry string) (all []json.RawMessage) {
	e.t.Helper()
	if err := json.Unmarshal([]byte(e.ergoflow("models", "list", "--registry", filepath.Join(e.dir, registry), "--json")), &all); err != nil {
		e.t.Fatal(err)
	}
	return all
}

// kill kills the process that retrains once a condition holds.
func (e *endToEnd) kill(when string, reached func() bool) {
	e.t.Helper()
	retraining := func() []int { return childrenOf(e.coordinator)["retrain"] }
	var pid int
	e.poll(when, func() bool {
		pids := retraining()
		if len(pids) == 0 || !reached() {
			return false
		}
		pid = pids[0]
		return true
	})
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		e.t.Fatalf("kill %d while %s: %v", pid, when, err)
	}
	e.t.Logf("killed %d while %s", pid, when)
	e.poll("the killed process is gone", func() bool { return !slices.Contains(retraining(), pid) })
}
