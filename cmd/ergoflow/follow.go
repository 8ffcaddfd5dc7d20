package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/report"
)

// statusEvery is how often a run is asked how far it is.
const statusEvery = 200 * time.Millisecond

// joinPatience is how long a run may be without workers before that is said:
// some may be about to join.
const joinPatience = 3 * time.Second

// restartPatience is how long a coordinator may be away: it may be restarting,
// and training goes on when it is back.
const restartPatience = time.Minute

// submit hands the plan to the coordinator.
func submit(ctx context.Context, control wire.ControlClient, plan ergoflow.Plan, until wire.Stage, replace bool) error {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	_, err := control.Submit(ctx, &wire.SubmitRequest{Plan: convert.PlanToWire(plan), Until: until, Replace: replace, Version: ergoflow.Build()})
	if err != nil {
		return rpcError("submit "+plan.Experiment, err)
	}
	return nil
}

// follow shows the run's progress until the stage is reached and returns how
// long its parts took. alive says why the cluster has ended, if it has, from the
// last status that it answered with; it is nil for a cluster of others, which may
// have no workers yet.
func follow(ctx context.Context, control wire.ControlClient, plan ergoflow.Plan, until wire.Stage, alive func(coordinator.Status) error) ([]report.StageTime, error) {
	f := follower{plan: plan, bars: stageBars{out: os.Stderr}, begin: time.Now(), manned: alive != nil}
	defer f.bars.end()
	answered := time.Now()
	var st coordinator.Status
	for {
		now, err := status(ctx, control)
		switch {
		case err == nil:
			st, answered = now, time.Now()
		case !errors.Is(err, errUnreachable) || time.Since(answered) > restartPatience:
			return nil, err
		}
		if err == nil {
			if reached, err := f.show(st, until); reached || err != nil {
				return f.stages, err
			}
		}
		if alive != nil {
			if err := alive(st); err != nil {
				return nil, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(statusEvery):
		}
	}
}

// A follower turns one status after another into progress.
type follower struct {
	plan       ergoflow.Plan
	bars       stageBars
	begin      time.Time // of the present stage
	stages     []report.StageTime
	generation ergoflow.Generation
	manned     bool // there were workers, or nobody needs to be told that there are none
}

// show shows one status and says whether the stage is reached.
func (f *follower) show(st coordinator.Status, until wire.Stage) (bool, error) {
	if err := f.displaced(st); err != nil {
		return false, err
	}
	f.missWorkers(st)
	switch st.State {
	case machine.StateGenerating:
		f.bars.show("generate", "shards", st.Shards.Done, st.Shards.Total, "")
	case machine.StateGenerated:
		f.leave("generate", "", fmt.Sprintf("%d shards", st.Shards.Total))
		return until == wire.Stage_STAGE_GENERATE, nil
	case machine.StateWaiting, machine.StateForming:
		f.generated(st) // compiling belongs to training
		return until == wire.Stage_STAGE_GENERATE, nil
	case machine.StateTraining:
		f.generated(st)
		if until == wire.Stage_STAGE_GENERATE { // somebody wanted more
			return true, nil
		}
		if f.generation != 0 && st.Generation != f.generation {
			f.bars.end()
			fmt.Fprintf(os.Stderr, "generation %d, world size %d: %s\n", st.Generation, st.WorldSize, whyEnded(st, f.generation))
		}
		f.generation = st.Generation
		f.bars.show("train", "steps", int(st.Step), int(st.Steps), trainDetail(st))
	case machine.StateDone:
		f.leave("train", trainDetail(st), fmt.Sprintf("%d steps", st.Steps))
		return true, nil
	case machine.StateFailed:
		hint := "the workers' logs say more"
		for _, known := range []error{shard.ErrCorrupt, simulate.ErrDiverged, probe.ErrDiverged, family.ErrNoEquation, syscall.ENOSPC} {
			if strings.Contains(st.Failure, known.Error()) { // a worker's error, which comes as text
				hint = hintFor(known)
			}
		}
		return false, withHint(fmt.Errorf("run %.12s failed: %s", f.plan.Run, st.Failure), "%s", hint)
	}
	return false, nil
}

// displaced says what has taken the run's place: it was the coordinator's own,
// durably, before it was followed.
func (f *follower) displaced(st coordinator.Status) error {
	switch st.Run {
	case f.plan.Run:
		return nil
	case "":
		return withHint(fmt.Errorf("the coordinator no longer knows run %.12s", f.plan.Run),
			"it was started again in another --dir; the same command submits the run there")
	}
	return withHint(fmt.Errorf("run %.12s was put aside by run %.12s (%s)", f.plan.Run, st.Run, st.Experiment),
		"the same command with --replace continues it, and puts the other aside")
}

// missWorkers says once that a run waits for workers to join it.
func (f *follower) missWorkers(st coordinator.Status) {
	switch st.State {
	case machine.StateGenerated, machine.StateDone, machine.StateFailed:
		return
	}
	f.manned = f.manned || len(st.Workers) > 0
	if f.manned || time.Since(f.begin) < joinPatience {
		return
	}
	f.manned = true
	f.bars.end()
	fmt.Fprintf(f.bars.out, "no workers have joined: ergoflow worker --join %s\n", st.Gossip)
}

// generated ends the generation of data when it is first seen to be over.
func (f *follower) generated(st coordinator.Status) {
	if len(f.stages) == 0 {
		f.leave("generate", "", fmt.Sprintf("%d shards", st.Shards.Total))
	}
}

// leave ends the present stage.
func (f *follower) leave(stage, detail, note string) {
	if f.bars.bar == nil { // over before it was seen
		fmt.Fprintf(f.bars.out, "%s: %s\n", stage, note)
	}
	f.bars.finish(detail)
	now := time.Now()
	f.stages = append(f.stages, report.StageTime{Name: stage, Took: now.Sub(f.begin), Note: note})
	f.begin = now
}

// whyEnded finds the reason for the end of a generation among the decisions.
func whyEnded(st coordinator.Status, generation ergoflow.Generation) string {
	for _, d := range slices.Backward(st.Decisions) {
		if reason, found := machine.EndReason(d.Reason, generation); found {
			return reason
		}
	}
	if len(st.Decisions) < coordinator.KeptDecisions { // all that it has made
		return "the coordinator was started again"
	}
	return st.Reason
}

func trainDetail(st coordinator.Status) string {
	if st.Loss == nil {
		return ""
	}
	return fmt.Sprintf("loss %.3f", *st.Loss)
}
