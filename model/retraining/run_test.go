package retraining

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/registry"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// world stands for cluster and device: training gives a state whose first parameter is its
// quality, and its distances are proportional to that.
type world struct {
	quality   float32
	trained   int // calls of Train
	evaluated int
	slow      bool // trains until ctx ends
	fail      error
}

func (w *world) train(ctx context.Context, j Job) ([]byte, error) {
	w.trained++
	if w.fail != nil {
		return nil, w.fail
	}
	e := j.Experiment
	st := state.Fresh(e.Velocity().Layout(), e.Seed)
	st.Parameters[0] = w.quality
	if j.Start != nil {
		_, from, err := experiment.DecodeState(j.Start)
		if err != nil {
			return nil, err
		}
		st.Parameters[0] = from.Parameters[0] * w.quality
	}
	config, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	st.Run, st.Config, st.Normalisation = e.Hash(), config, shard.Normalisation{"drift": {Std: 1}, "diffusion": {Std: 1}}
	encoded, err := st.Encode()
	if w.slow && err == nil {
		<-ctx.Done()
		return encoded, ctx.Err()
	}
	return encoded, err
}

func (w *world) evaluate(_ context.Context, e Evaluation) (*evaluate.Results, error) {
	w.evaluated++
	x := e.Experiment
	r := &evaluate.Results{Experiment: x, Run: x.Hash(), Dim: 1, Functions: x.Evaluation.Functions, Samples: x.Evaluation.Samples}
	first, _ := x.Data.ShardRange(x.Data.HeldOutShard())
	for _, kind := range e.Kinds {
		scale := map[evaluate.Kind]float64{evaluate.Model: float64(e.State.Parameters[0]), evaluate.Untrained: 10, evaluate.Moments: 3}[kind]
		rng := rand.New(rand.NewPCG(1, 2))
		row := evaluate.Row{Kind: kind, Name: string(kind)}
		for i := range r.Functions {
			d := scale * math.Exp(0.1*rng.NormFloat64())
			row.Functions = append(row.Functions, evaluate.FunctionResult{
				Index: first + i, W2: d, KS: d / 20, KSP: 0.5, KSPEffective: 0.5, Sinkhorn: d, SinkhornConverged: d, W2Exact: d, VarianceRatio: 1 + d/100,
			})
		}
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

// options retrain vn1d at its smallest size in a directory.
func (w *world) options(t testing.TB, dir string, lines ...string) Options {
	t.Helper()
	path := filepath.Join(dir, "retrain.yaml")
	document := "name: vn1d\nexperiment: {name: vn1d, preset: smoke}\n" + strings.Join(lines, "\n")
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	c, e, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Config: c, Experiment: e, By: "test", Train: w.train, Evaluate: w.evaluate, Log: slog.New(slog.DiscardHandler)}
}

// champion is the model's champion and its quality.
func champion(t *testing.T, o Options) (number int, quality float32) {
	t.Helper()
	r, err := registry.Open(o.Config.Registry)
	if err != nil {
		t.Fatal(err)
	}
	v, err := r.Get(t.Context(), "vn1d")
	if errors.Is(err, registry.ErrNotFound) || errors.Is(err, registry.ErrNoRegistry) {
		return 0, 0
	}
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := r.Load(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	_, st, err := experiment.DecodeState(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return v.Number, st.Parameters[0]
}

// The first candidate is promoted. Then there is nothing to do until something changes. An
// equal candidate does not replace the champion, a better one does, a bad one is refused.
func TestDecisions(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name     string
		quality  float32
		force    bool
		lines    []string
		want     Decision
		champion int
	}{
		{"first", 1, false, nil, Promoted, 1},
		{"nothing new", 1, false, nil, Nothing, 1},
		{"forced and equal", 1, true, nil, Kept, 1},
		{"still nothing new", 1, false, nil, Nothing, 1},
		{"other settings", 0.5, false, []string{"  # changed", "gate: {tolerance: 0.5}", "start: {steps: 0.5}"}, Promoted, 3},
		{"worse than a normal", 5, true, nil, Refused, 3},
		{"new data and better", 0.3, false, []string{"data: {grow: 64}"}, Promoted, 5},
		{"more new data and worse", 0.4, false, []string{"data: {grow: 64}"}, Kept, 5},
	} {
		w := &world{quality: c.quality}
		o := w.options(t, dir, c.lines...)
		o.Force = c.force
		out, err := Run(t.Context(), o)
		if err != nil || out.Decision != c.want || len(out.Reasons) == 0 {
			t.Fatalf("%s: %s, %q, error %v", c.name, out.Decision, out.Reasons, err)
		}
		if n, _ := champion(t, o); n != c.champion {
			t.Errorf("%s: champion %d, want %d", c.name, n, c.champion)
		}
		if trains := c.want != Nothing; (w.trained > 0) != trains {
			t.Errorf("%s: trained %d times", c.name, w.trained)
		}
		if left, err := os.ReadDir(filepath.Join(o.Config.Dir, "runs")); err == nil && len(left) > 0 {
			t.Errorf("%s: %v is left", c.name, left)
		}
	}
}

// A warm start is from the champion, and of both starts the better one is the candidate.
func TestStarts(t *testing.T) {
	dir := t.TempDir()
	w := &world{quality: 1}
	if out, err := Run(t.Context(), w.options(t, dir)); err != nil || out.Decision != Promoted {
		t.Fatal(out, err)
	}
	w = &world{quality: 0.5}
	out, err := Run(t.Context(), w.options(t, dir, "start: {from: both, steps: 0.5}"))
	if err != nil || out.Decision != Promoted || len(out.Trainings) != 2 || w.trained != 2 {
		t.Fatalf("%+v, %v", out, err)
	}
	if cold, warm := out.Trainings[0], out.Trainings[1]; warm.From != Warm || warm.Planned*2 != cold.Planned || warm.Run == cold.Run {
		t.Errorf("trainings %+v", out.Trainings)
	}
}

// A budget ends training; its newest checkpoint goes through the gate, and the outcome says so.
func TestBudgetEndsTraining(t *testing.T) {
	for _, c := range []struct {
		quality float32
		want    Decision
	}{{0.5, Promoted}, {2, OutOfBudget}} {
		dir := t.TempDir()
		w := &world{quality: 1}
		if out, err := Run(t.Context(), w.options(t, dir)); err != nil || out.Decision != Promoted {
			t.Fatal(out, err)
		}
		synctest.Test(t, func(t *testing.T) {
			w := &world{quality: c.quality, slow: true}
			o := w.options(t, dir, "budget: {wall: 2h, reserve: 10m}")
			o.Force = true
			out, err := Run(t.Context(), o)
			late := out.Seconds - 110*60 // a file that is locked for a moment is tried again, in the bubble's time
			if err != nil || out.Decision != c.want || !strings.Contains(out.StoppedBy, "wall time of 2h") || late < 0 || late > 1 {
				t.Errorf("%+v, %v s late, stopped by %q, error %v", out, late, out.StoppedBy, err)
			}
		})
	}
}

// The decision is the same wherever the process is killed, and nothing is trained or promoted
// twice.
func TestKilled(t *testing.T) {
	if stage := os.Getenv("RETRAIN_KILL"); stage != "" {
		w := &world{quality: 0.5}
		o := w.options(t, os.Getenv("RETRAIN_DIR"), "data: {grow: 64}")
		o.at = func(reached string) {
			if reached == stage {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
		out, err := Run(t.Context(), o)
		t.Fatalf("%s was not reached: %+v, %v", stage, out, err)
	}
	for _, stage := range []string{"begun", "trained", "judged", "added", "promoted", "ended"} {
		dir := t.TempDir()
		w := &world{quality: 1}
		if out, err := Run(t.Context(), w.options(t, dir)); err != nil || out.Decision != Promoted {
			t.Fatal(out, err)
		}
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilled$")
		child.Env = append(os.Environ(), "RETRAIN_KILL="+stage, "RETRAIN_DIR="+dir)
		output, err := child.CombinedOutput()
		if killed := new(exec.ExitError); !errors.As(err, &killed) || killed.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%s: %v\n%s", stage, err, output)
		}
		w = &world{quality: 0.5}
		o := w.options(t, dir, "data: {grow: 64}")
		if n, quality := champion(t, o); n != 1 && (n != 2 || quality != 0.5) {
			t.Errorf("%s: champion %d of quality %v after the kill", stage, n, quality)
		}
		want, trains := Promoted, 0
		if stage == "begun" {
			trains = 1
		}
		if stage == "ended" { // the next retraining: the data grow again
			want, trains = Kept, 1
		}
		out, err := Run(t.Context(), o)
		if err != nil || out.Decision != want || w.trained != trains {
			t.Errorf("%s: %s %q after %d trainings, error %v", stage, out.Decision, out.Reasons, w.trained, err)
		}
		r, err := registry.Open(o.Config.Registry)
		if err != nil {
			t.Fatal(err)
		}
		versions, err := r.List(t.Context(), "vn1d")
		wanted := 2
		if stage == "ended" {
			wanted = 3
		}
		if n, quality := champion(t, o); err != nil || len(versions) != wanted || n != 2 || quality != 0.5 {
			t.Errorf("%s: %d versions, champion %d of quality %v, error %v", stage, len(versions), n, quality, err)
		}
	}
}

// What goes wrong leaves the champion, and does not block the next run.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	w := &world{quality: 1}
	if out, err := Run(t.Context(), w.options(t, dir)); err != nil || out.Decision != Promoted {
		t.Fatal(out, err)
	}
	broken := errors.New("diverged")
	w = &world{quality: 0.5, fail: broken}
	o := w.options(t, dir, "data: {grow: 64}")
	if out, err := Run(t.Context(), o); !errors.Is(err, broken) || out.Decision != Failed || out.Decision.Code() != 1 || !slices.Contains(out.Reasons, err.Error()) {
		t.Errorf("a training that fails: %+v, %v", out, err)
	}
	w.fail = nil
	ctx, cancel := context.WithCancel(t.Context())
	o.at = func(string) { cancel() }
	if out, err := Run(ctx, o); !errors.Is(err, context.Canceled) || out.Decision == Failed {
		t.Errorf("an interruption: %+v, %v", out, err)
	}
	o.at = nil
	if out, err := Run(t.Context(), o); err != nil || out.Decision != Promoted {
		t.Errorf("afterwards: %+v, %v", out, err)
	}
	other := w.options(t, dir, "data: {grow: 64}")
	other.Experiment.Data.HeldOut *= 2
	if _, err := Run(t.Context(), other); !errors.Is(err, ErrHeldOut) {
		t.Errorf("other held-out functions: %v", err)
	}
	r, err := registry.Open(o.Config.Registry)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := r.Lock(t.Context(), "vn1d", registry.Self("test"), registry.Wait)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := Run(t.Context(), w.options(t, dir, "overlap: skip")); err != nil || out.Decision != Skipped {
		t.Errorf("beside another retraining: %+v, %v", out, err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	weights, err := filepath.Glob(filepath.Join(o.Config.Registry, "weights", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range weights {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := Run(t.Context(), w.options(t, dir, "data: {grow: 64}")); err == nil || out.Decision != Failed || !strings.Contains(err.Error(), "champion") {
		t.Errorf("without the champion's weights: %+v, %v", out, err)
	}
}

// A retraining that a schedule starts twice for one time is done once.
func TestScheduledOnce(t *testing.T) {
	dir := t.TempDir()
	w := &world{quality: 1}
	o := w.options(t, dir, "data: {grow: 64}")
	o.Schedule, o.Scheduled = "nightly", "2026-03-01T02:00:00Z"
	first, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Run(t.Context(), o)
	if err != nil || again.ID != first.ID || again.Decision != first.Decision || w.trained != 1 {
		t.Errorf("%+v after %d trainings, %v", again, w.trained, err)
	}
	o.Scheduled = "2026-03-02T02:00:00Z"
	if out, err := Run(t.Context(), o); err != nil || out.ID == first.ID || w.trained != 2 {
		t.Errorf("the next time: %+v after %d trainings, %v", out, w.trained, err)
	}
}

// The forecast is what then happens.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	w := &world{quality: 1}
	o := w.options(t, dir)
	f, err := Check(t.Context(), o)
	if err != nil || f.Would != "train" || f.Champion != 0 || len(f.Trainings) != 1 || len(f.Missing) != f.Shards || f.Seconds != nil || w.trained != 0 {
		t.Fatalf("%+v, %v", f, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("check left %v", entries)
	}
	out, err := Run(t.Context(), o)
	if err != nil || out.Candidate.Run != f.Trainings[0].Run {
		t.Fatalf("%+v, %v", out, err)
	}
	if f, err = Check(t.Context(), o); err != nil || f.Would != "nothing" || f.Champion != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

// A notice that fails is in the outcome, and changes nothing else.
func TestNotices(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	var told []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, q.URL.Path+" "+q.Header.Get("webhook-id"))
	}))
	defer server.Close()
	t.Setenv("RETRAIN_SECRET", "whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 32)))
	w := &world{quality: 1}
	o := w.options(t, dir, "notify:", "  textfile: none/vn1d.prom", "  ping: "+server.URL+"/ping",
		"  webhooks: [{url: \""+server.URL+"/hook\", secret_env: RETRAIN_SECRET}]")
	out, err := Run(t.Context(), o)
	if err != nil || out.Decision != Promoted {
		t.Fatal(out, err)
	}
	slices.Sort(told)
	if len(told) != 3 || !strings.HasPrefix(told[0], "/hook msg_") || told[1] != "/ping " || told[2] != "/ping/start " {
		t.Errorf("told %q", told)
	}
	failed := 0
	for _, d := range out.Notices {
		if d.Error != "" {
			failed++
		}
	}
	if failed != 2 || len(out.Notices) != 5 {
		t.Errorf("%d of %d notices failed: %+v", failed, len(out.Notices), out.Notices)
	}
	kept, err := os.ReadFile(filepath.Join(o.Config.Dir, "reports", out.ID, "outcome.json"))
	if err != nil || !strings.Contains(string(kept), "vn1d.prom") {
		t.Errorf("outcome.json: %v\n%s", err, kept)
	}
}

// The budget of the disk refuses a retraining before it begins.
func TestDiskBudget(t *testing.T) {
	dir := t.TempDir()
	w := &world{quality: 1}
	if _, err := Run(t.Context(), w.options(t, dir, "budget: {disk: 1 kB}")); !errors.Is(err, ErrDisk) || w.trained != 0 {
		t.Errorf("1 kB: %v after %d trainings", err, w.trained)
	}
	if out, err := Run(t.Context(), w.options(t, dir, "budget: {disk: 1 GB}")); err != nil || out.Decision != Promoted {
		t.Errorf("1 GB: %+v, %v", out, err)
	}
}

// Data that would be wrong are refused before they are made, also where no person looks.
func TestPilotRun(t *testing.T) {
	dir := t.TempDir()
	for family, want := range map[string]error{"-300*a*x": data.ErrTimeStep, "-0.01*a*x": nil} {
		definition := "name: tried\ndim: 1\ngrid: {lo: -4, hi: 4, nodes: 64}\nparameters: {a: \"uniform(1, 1.1)\"}\ndrift: " + family + "\ndiffusion: 0.3\n"
		if err := os.WriteFile(filepath.Join(dir, "tried.yaml"), []byte(definition), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir)
		w := &world{quality: 1}
		o := w.options(t, t.TempDir())
		var err error
		if o.Experiment, err = experiment.Load("vn1d", "smoke", "", []string{"data.family=tried.yaml"}); err != nil {
			t.Fatal(err)
		}
		out, err := Run(t.Context(), o)
		if !errors.Is(err, want) || (w.trained == 0) != (want != nil) {
			t.Errorf("%s: %v after %d trainings", family, err, w.trained)
		}
		if want == nil && !slices.ContainsFunc(out.Warnings, func(s string) bool { return strings.Contains(s, "remember their start") }) {
			t.Errorf("%s: warnings %q", family, out.Warnings)
		}
	}
}
