package replica

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// with is the plan of a replica's run with other settings.
func with(t *testing.T, r *Replica, change func(*experiment.Experiment)) ergoflow.Plan {
	t.Helper()
	e := r.Experiment()
	change(&e)
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// A replica with a state takes new settings and keeps the state.
func TestAdopt(t *testing.T) {
	compute := goBackend(t)
	r := trainableOn(t, compute, dataReplica(t)) // batches of 16 functions from 4 shards
	mark, hash, err := r.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	first := r.Plan()
	sizes := func() int { return r.maxMicroBatch() * r.batchPlan.FunctionsPerStep() }
	var logged bytes.Buffer
	adopt := func(ctx context.Context, plan ergoflow.Plan) error {
		return r.Adopt(ctx, Config{Plan: plan, Backend: compute, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	}

	changed := with(t, r, func(e *experiment.Experiment) {
		e.Training.CheckpointEvery, e.Training.MicroBatch, e.Evaluation.Solver = 7, 8, "euler-4"
	})
	if !r.Serves(changed) || !r.Serves(first) {
		t.Error("a replica with a state does not serve its run with other settings")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := adopt(ended, changed); !errors.Is(err, context.Canceled) || !r.Plan().EqualSettings(first) || sizes() != 16 {
		t.Errorf("without time: error %v, plan %+v, micro-batches of %d", err, r.Plan(), sizes())
	}
	if err := adopt(t.Context(), changed); err != nil || !r.Plan().EqualSettings(changed) || sizes() != 8 {
		t.Errorf("error %v, plan %+v, micro-batches of %d", err, r.Plan(), sizes())
	}
	if logged.Len() > 0 {
		t.Errorf("logs %s", &logged)
	}
	if m, h, err := r.Fingerprint(); err != nil || m != mark || h != hash {
		t.Errorf("the state was %v (%s) and is %v (%s), error %v", mark, hash, m, h, err)
	}
	if other := with(t, r, func(e *experiment.Experiment) { e.Seed++ }); r.Serves(other) || adopt(t.Context(), other) == nil {
		t.Error("the replica serves another run")
	}
	r.Close()
	if r.Serves(first) || !r.Serves(changed) {
		t.Error("a replica without a state serves other settings, or not its own")
	}
}

// A replica whose new micro-batches need too much memory takes the other settings.
func TestAdoptWithoutMemory(t *testing.T) {
	compute := goBackend(t)
	r := trainableOn(t, compute, dataReplica(t))
	small := with(t, r, func(e *experiment.Experiment) { e.Training.MicroBatch = 4 })
	r.settings.Store(&settings{small, 4})
	large := with(t, r, func(e *experiment.Experiment) { e.Training.MicroBatch = 0 })
	r.plan.Shards = 1 << 30 // of which a machine cannot take half in one micro-batch
	var logged bytes.Buffer
	err := r.Adopt(t.Context(), Config{Plan: large, Backend: compute, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil || r.settings.Load().microBatch != 4 || !r.Plan().EqualSettings(large) || !strings.Contains(logged.String(), "keeps the size") {
		t.Errorf("error %v, micro-batches of %d, logs %s", err, r.settings.Load().microBatch, &logged)
	}
}
