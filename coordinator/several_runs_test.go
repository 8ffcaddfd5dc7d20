package coordinator

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// workersOf are the ids of the workers that a status shows for a run.
func workersOf(st Status, run string) []string {
	var ids []string
	for _, w := range st.Workers {
		if w.Run == run {
			ids = append(ids, string(w.ID))
		}
	}
	return ids
}

// Two runs train at once, each with workers of its own. A restart changes nothing of that.
// When one has ended, its worker is told to move to the other.
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeShards(t, dir, 0, 1, 2, 3, 4)
	s := start(t, dir)
	first := s.add(&wire.SubmitRequest{Plan: named("run1"), Until: wire.Stage_STAGE_TRAIN, Workers: &wire.WorkerBounds{Min: 1, Max: 1}})
	long := named("run2")
	long.Steps *= 100 // the workers make no more steps than those of the other runs
	second := s.add(&wire.SubmitRequest{Plan: long, Until: wire.Stage_STAGE_TRAIN})
	third := s.add(&wire.SubmitRequest{Plan: named("run3"), Until: wire.Stage_STAGE_TRAIN})
	s.awaitRun(first, queue.Waiting, "") // there is no worker
	a := connect(t, s, "a", -1)
	s.awaitRun(first, queue.Running, "")
	s.awaitRun(second, queue.Waiting, "")
	b := connect(t, s, "b", -1)
	s.awaitRun(second, queue.Running, "")
	c := connect(t, s, "c", -1)
	st := s.await("both train", func(st Status) bool {
		return len(st.Conducts) == 2 && st.Conducts[0].Step >= 1 && st.Conducts[1].Step >= 1 && st.Conducts[1].WorldSize == 2
	})
	if ids := workersOf(st, "run1"); !slices.Equal(ids, []string{"a"}) {
		t.Errorf("run1 has the workers %v", ids)
	}
	if g, h := st.Conducts[0].Generation, st.Conducts[1].Generation; g == h {
		t.Errorf("both are in generation %d", g)
	}
	s.awaitRun(third, queue.Waiting, "") // run2 uses all others
	for _, f := range []*fake{a, b, c} {
		f.kill()
	}
	s.close()

	s = start(t, dir)
	a, b, c = connect(t, s, "a", -1), connect(t, s, "b", -1), connect(t, s, "c", -1)
	s.awaitRun(first, queue.Ended, queue.Done)
	var moved *fake
	s.await("its worker moves", func(Status) bool {
		for _, f := range []*fake{a, b, c} {
			select {
			case <-f.done:
				moved = f
			default:
			}
		}
		return moved != nil
	})
	moved.mu.Lock()
	if moved.seen["*wire.CoordinatorMessage_Transfer"] != 1 {
		t.Errorf("%s saw %v", moved.id, moved.seen)
	}
	moved.mu.Unlock()
	back := connect(t, s, moved.id, -1)
	s.await("the other run has all workers", func(st Status) bool { return st.Run == "run2" && st.WorldSize == 3 })
	s.awaitRun(third, queue.Waiting, "")
	for _, f := range []*fake{a, b, c, back} {
		f.kill() // none saves a state of a run that is cancelled
	}
	s.change(second, wire.ChangeRunRequest_ACTION_CANCEL)
	connect(t, s, "d", -1)
	s.awaitRun(second, queue.Ended, queue.Cancelled)
	s.awaitRun(third, queue.Ended, queue.Done)
}

// A coordinator was killed after a run had failed, and before its queue heard of that. The run
// does not begin again, though another comes first and takes its slot.
func TestOutcomeIsKnownAfterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := openLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	failed, other := convert.Plan(named("run1")), convert.Plan(named("run2"))
	at, bounds := time.Now().UTC(), ergoflow.WorkerBounds{Max: 1}
	err = errors.Join(
		l.persist(0, machine.Ledger{Generation: 3, Plan: &failed, Until: machine.StageTrain, Failure: "it diverges", Entry: 1}),
		l.persistQueue(queue.Persist{Next: 3, Runs: []queue.Run{
			{ID: 1, Kind: queue.Train, State: queue.Running, Name: "e", Run: "run1", Plan: &failed, Place: 1, Submitted: at, Started: at, Attempt: 1, Workers: bounds},
			{ID: 2, Kind: queue.Train, State: queue.Running, Name: "e", Run: "run2", Plan: &other, Place: 0, Submitted: at, Started: at, Attempt: 1, Workers: bounds},
		}}), l.close())
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, dir)
	if r := s.awaitRun(1, queue.Ended, queue.Failed); r.Reason != "it diverges" {
		t.Errorf("run %+v", r)
	}
	if st := s.status(); len(st.Conducts) != 1 || st.Conducts[0].Run != "run2" {
		t.Errorf("it conducts %+v", st.Conducts)
	}
}
