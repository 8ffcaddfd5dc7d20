package conduct

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/progress"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/internal/disk"
	"github.com/ergoflow/ergoflow/model/report"
)

const (
	// statusEvery is the time between two requests for the status.
	statusEvery = 200 * time.Millisecond
	// joinPatience is how long a run may be without workers before a line says so: some
	// may be about to join.
	joinPatience = 3 * time.Second
	// restartPatience is how long a coordinator may be away. It may be restarting, and
	// training continues when it is back.
	restartPatience = time.Minute
)

var (
	// ErrFailed means that the coordinator gave a run up.
	ErrFailed = errors.New("the run failed")
	// ErrReplaced means that another run took the place of the one that was followed.
	ErrReplaced = errors.New("the run was replaced")
	// ErrNoStart means that the state is missing from which the run begins.
	ErrNoStart = errors.New("the state from which the run begins is missing")
	// ErrCancelled means that somebody cancelled the run.
	ErrCancelled = errors.New("the run was cancelled")
	// ErrForgotten means that the coordinator has no run: it was started again in
	// another directory.
	ErrForgotten = errors.New("the run is unknown")
)

// follow shows the run's progress until the stage is reached. local is nil for a cluster
// that was there, which may have no workers yet.
func (c *Client) follow(ctx context.Context, id queue.ID, o Options, local *cluster) (Result, error) {
	f := follower{id: id, plan: o.Plan, bars: progress.Stages{Out: o.Out}, begin: time.Now(), manned: local != nil}
	defer f.bars.End()
	var st coordinator.Status
	var away time.Time // since when the coordinator does not answer; zero: it does
	for {
		now, err := f.look(ctx, c)
		f.tell(local)
		switch {
		case err == nil:
			st, away = now, time.Time{}
			if reached, err := f.show(st, o.Until); reached || err != nil {
				return Result{Stages: f.stages, Status: st}, err
			}
		case !restarting(err):
			return Result{}, err
		case away.IsZero(): // not since the last answer: this process may have been stopped since then, by Ctrl-Z
			away = time.Now()
		case time.Since(away) > restartPatience:
			return Result{}, err
		}
		if local != nil {
			if err := local.err(st); err != nil {
				return Result{}, err
			}
		}
		select {
		case <-ctx.Done():
			return Result{}, ctx.Err()
		case <-time.After(statusEvery):
		}
	}
}

// A follower turns one status after another into progress.
type follower struct {
	id         queue.ID // of the run in the queue; 0: unknown
	plan       ergoflow.Plan
	queued     string // what a line has said of its place in the queue
	bars       progress.Stages
	begin      time.Time // of the present stage
	stages     []report.StageTime
	generation ergoflow.Generation
	short      []string // lines about full disks that were printed
	manned     bool     // there were workers, or a line has said that there are none
}

// look asks for the status. It adds the run where the status leaves it out: it waits far
// behind in the queue, or ended long ago.
func (f *follower) look(ctx context.Context, c *Client) (coordinator.Status, error) {
	st, err := c.Status(ctx, f.plan.Run)
	if err != nil || f.id == 0 || st.Run == f.plan.Run || f.entry(st) != nil {
		return st, err
	}
	r, err := c.Run(ctx, f.id)
	switch {
	case errors.Is(err, ErrUnknown):
		return st, nil
	case err == nil:
		st.Runs = append(st.Runs, r)
	}
	return st, err
}

// tell prints what has happened to the processes of a local cluster.
func (f *follower) tell(local *cluster) {
	if local == nil {
		return
	}
	for _, line := range local.news() {
		f.bars.End()
		fmt.Fprintln(f.bars.Out, line)
	}
}

// show shows one status and says whether the stage is reached.
func (f *follower) show(st coordinator.Status, until wire.Stage) (bool, error) {
	if st.Run != f.plan.Run {
		return f.elsewhere(st)
	}
	f.missWorkers(st)
	f.missRoom(st)
	switch st.State {
	case machine.StateGenerating:
		f.bars.Show("generate", "shards", st.Shards.Done, st.Shards.Total, "")
	case machine.StateGenerated:
		f.leave("generate", "", fmt.Sprintf("%d shards", st.Shards.Total))
		return until == wire.Stage_STAGE_GENERATE, nil
	case machine.StateWaiting, machine.StateForming:
		f.generated(st) // compiling belongs to training
		return until == wire.Stage_STAGE_GENERATE, nil
	case machine.StateTraining:
		f.generated(st)
		if until == wire.Stage_STAGE_GENERATE { // another command submitted it to be trained
			return true, nil
		}
		if f.generation != 0 && st.Generation != f.generation {
			f.bars.End()
			fmt.Fprintf(f.bars.Out, "generation %d, world size %d: %s\n", st.Generation, st.WorldSize, whyEnded(st, f.generation))
		}
		f.generation = st.Generation
		f.bars.Show("train", "steps", int(st.Step), int(st.Steps), trainDetail(st))
	case machine.StateDone:
		if f.bars.Shown() { // generating, when last seen
			f.generated(st)
		}
		note := fmt.Sprintf("%d steps", st.Steps)
		if len(f.stages) == 0 { // an earlier command trained: how long that took is unknown here
			f.past("train", note)
			return true, nil
		}
		f.leave("train", trainDetail(st), note)
		return true, nil
	case machine.StateFailed:
		return false, f.failed(st.Failure)
	}
	return false, nil
}

// failed is the error of a run that the coordinator gave up. Where a worker's error is
// the reason it comes as text, and its kind is found by the text of the kind.
func (f *follower) failed(failure string) error {
	err := ofKind{fmt.Errorf("run %.12s failed: %s", f.plan.Run, failure), ErrFailed}
	if strings.HasPrefix(failure, machine.NoStart) {
		return ofKind{err, ErrNoStart}
	}
	for _, kind := range []error{syscall.ENOSPC, family.ErrNoEquation, probe.ErrDiverged, simulate.ErrDiverged, shard.ErrCorrupt, shard.ErrLink} {
		if strings.Contains(failure, kind.Error()) {
			return ofKind{err, kind}
		}
	}
	return err
}

// entry is the run in the queue, as far as a status shows it; nil: it does not.
func (f *follower) entry(st coordinator.Status) *queue.Run {
	for i, r := range st.Runs {
		if r.ID == f.id {
			return &st.Runs[i]
		}
	}
	return nil
}

// elsewhere says what has become of the run where the coordinator conducts another one, or
// none.
func (f *follower) elsewhere(st coordinator.Status) (reached bool, err error) {
	r := f.entry(st)
	switch {
	case r == nil:
		return false, f.replaced(st)
	case r.State != queue.Ended:
		f.waits(st)
		return false, nil
	case r.Outcome == queue.Done:
		f.generated(st)
		if r.Kind == queue.Train {
			f.leave("train", "", fmt.Sprintf("%d steps", f.plan.Steps))
		}
		return true, nil
	case r.Outcome == queue.Failed:
		return false, f.failed(r.Reason)
	case r.Outcome == queue.Cancelled:
		return false, ofKind{fmt.Errorf("run %d (%.12s) was cancelled: %s", r.ID, f.plan.Run, r.Reason), ErrCancelled}
	}
	return false, f.replaced(st)
}

// waits says how many runs are before this one, or how many workers it waits for, when that
// changes.
func (f *follower) waits(st coordinator.Status) {
	before, listed := 0, 0
	for before < len(st.Runs) && st.Runs[before].ID != f.id {
		before++
	}
	for _, r := range st.Runs {
		if r.State == queue.Waiting {
			listed++
		}
	}
	least := ""
	if st.Waiting > listed {
		least = "at least "
	}
	line := fmt.Sprintf("run %d waits in the queue, %s%d before it", f.id, least, before)
	if r := f.entry(st); before == 0 && r.State == queue.Waiting {
		line = fmt.Sprintf("run %d waits for %d workers, and there are %d", f.id, r.Workers.Least(f.plan), len(st.Workers))
	} else if before == 0 {
		return
	}
	if line != f.queued {
		f.bars.End()
		fmt.Fprintln(f.bars.Out, line)
		f.queued = line
	}
}

// replaced says what has taken the run's place. The coordinator had stored the run as its
// own before it was followed.
func (f *follower) replaced(st coordinator.Status) error {
	if st.Run == "" {
		return ofKind{fmt.Errorf("the coordinator no longer knows run %.12s", f.plan.Run), ErrForgotten}
	}
	return ofKind{fmt.Errorf("run %.12s was replaced by run %.12s (%s)", f.plan.Run, st.Run, st.Experiment), ErrReplaced}
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
	f.bars.End()
	fmt.Fprintf(f.bars.Out, "no workers have joined: ergoflow worker --join %s\n", st.Gossip)
}

// missRoom says once what waits for room on a disk, and what it needs.
func (f *follower) missRoom(st coordinator.Status) {
	var waiting []string
	if s := st.Short; s != nil {
		waiting = append(waiting, fmt.Sprintf("the disk is full: %s is not stored, it needs %s in %s", s.What, disk.Size(s.Bytes), s.Path))
	}
	for _, w := range st.Workers {
		if w.Run == f.plan.Run && strings.Contains(w.Doing, disk.Waits) {
			waiting = append(waiting, fmt.Sprintf("worker %s is %s", w.ID, w.Doing))
		}
	}
	for _, line := range waiting {
		if !slices.Contains(f.short, line) {
			f.bars.End()
			fmt.Fprintf(f.bars.Out, "%s; the run goes on by itself when there is room\n", line)
			f.short = append(f.short, line)
		}
	}
}

// generated ends the generation of data when it is first seen to be over.
func (f *follower) generated(st coordinator.Status) {
	if len(f.stages) == 0 {
		f.leave("generate", "", fmt.Sprintf("%d shards", st.Shards.Total))
	}
}

// leave ends the present stage.
func (f *follower) leave(stage, detail, note string) {
	if !f.bars.Shown() {
		f.past(stage, note)
	}
	f.bars.Finish(detail)
	now := time.Now()
	f.stages = append(f.stages, report.StageTime{Name: stage, Took: now.Sub(f.begin), Note: note})
	f.begin = now
}

// past prints a line about a stage that was over before it was seen.
func (f *follower) past(stage, note string) { fmt.Fprintf(f.bars.Out, "%s: %s\n", stage, note) }

// whyEnded finds the reason for the end of a generation among the decisions.
func whyEnded(st coordinator.Status, generation ergoflow.Generation) string {
	for _, d := range slices.Backward(st.Decisions) {
		if reason, found := machine.EndReason(d.Reason, generation); found {
			return reason
		}
	}
	if len(st.Decisions) < coordinator.KeptDecisions && st.Term > 0 { // all that it has made
		return "another coordinator leads"
	}
	if len(st.Decisions) < coordinator.KeptDecisions {
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
