package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// untrained is the state before the first step of the smoke preset with overridden fields.
func untrained(t *testing.T, sets ...string) (experiment.Experiment, ergoflow.Plan, *state.State) {
	t.Helper()
	e, err := experiment.Load("vn1d", "smoke", "", sets)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	st := state.Fresh(e.Velocity().Layout(), e.Seed)
	st.Run, st.Config = plan.Run, plan.Config
	return e, plan, st
}

// saveAccount stores a state of the smoke preset whose steps took the batches of
// these steps.
func saveAccount(t *testing.T, dir string, taken ...int) experiment.Experiment {
	t.Helper()
	e, plan, st := untrained(t)
	st.Step = ergoflow.Step(len(taken))
	st.Losses = make([]float64, len(taken))
	st.Normalisation = shard.Normalisation{"drift": {Mean: 0, Std: 1}, "diffusion": {Mean: 0, Std: 1}}
	var h ledger.Hasher
	batches := e.BatchPlan()
	indices := make([]int32, batches.BatchSamples)
	for step, from := range taken {
		used := ledger.NewRecord(plan.Shards)
		for k := range plan.Shards {
			first, _ := e.Data.ShardRange(k)
			for _, pick := range batches.Picks(from, k) {
				batches.Block(pick, indices)
				used.Add(0, []ledger.Use{{Shard: k, Word: h.Word(first+pick.Function, indices)}})
			}
		}
		st.Ledger.Append(ergoflow.Step(step), 1, []ergoflow.WorkerID{"vm-1"}, used)
	}
	encoded, err := st.Encode()
	if err != nil {
		t.Fatal(err)
	}
	store, err := checkpoint.Open(coordinator.CheckpointPath(dir), false)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	info := checkpoint.Info{Run: plan.Run, Experiment: plan.Experiment, Step: st.Step, Size: int64(len(encoded))}
	if _, err := store.Save(info, encoded); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestVerifyRun(t *testing.T) {
	dir := t.TempDir()
	saveAccount(t, dir, 0, 1, 2)
	cmd, out := program(t.Context(), t, "verify", "run", "--dir", dir)
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "each of 48 (epoch, function, block) was used exactly once") {
		t.Errorf("%v\n%s", err, out)
	}

	e := saveAccount(t, dir, 0, 1, 2, 2)
	pick := e.BatchPlan().Picks(3, 0)[0]
	fault := ledger.Fault{Step: 3, Function: pick.Global, Block: pick.Pass}
	cmd, out = program(t.Context(), t, "verify", "run", "--dir", dir)
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != exitFailure {
		t.Errorf("a repeated step: %v", err)
	}
	for _, text := range []string{"ergoflow: verify run ", fault.String() + "not used by vm-1, which took the batch of step 2 ", "(and 15 more)\nhint: "} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("%q is not in:\n%s", text, out)
		}
	}

	cmd, _ = program(t.Context(), t, "verify", "run", "--dir", dir, "--json")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	var results []verified
	if err := cmd.Run(); err == nil || json.Unmarshal(stdout.Bytes(), &results) != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	if len(results) != 1 || results[0].Proven || results[0].Proof != nil || len(results[0].Violation.Faults) != 16 {
		t.Errorf("%s", &stdout)
	}

	cmd, out = program(t.Context(), t, "verify", "run", "--dir", t.TempDir())
	if err := cmd.Run(); err == nil || !strings.Contains(out.String(), "no checkpoints in ") {
		t.Errorf("an empty directory: %v\n%s", err, out)
	}
}
