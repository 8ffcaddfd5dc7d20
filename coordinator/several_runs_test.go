package coordinator

import (
	"slices"
	"testing"

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
	second := s.add(&wire.SubmitRequest{Plan: named("run2"), Until: wire.Stage_STAGE_TRAIN})
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
	moved := false
	for _, f := range []*fake{a, b, c} {
		select {
		case <-f.done:
			moved = true
			f.mu.Lock()
			if f.seen["*wire.CoordinatorMessage_Transfer"] != 1 {
				t.Errorf("%s saw %v", f.id, f.seen)
			}
			f.mu.Unlock()
			connect(t, s, f.id, -1)
		default:
		}
	}
	if !moved {
		t.Log("the other run ended first")
	}
	s.awaitRun(second, queue.Ended, queue.Done)
	s.awaitRun(third, queue.Ended, queue.Done)
}
