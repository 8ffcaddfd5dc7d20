package machine

import (
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// The machine takes checkpoints of workers and of those that were, of the run in
// progress, and of states that can be. What it refuses it names.
func TestCheckUpload(t *testing.T) {
	plan := ergoflow.Plan{Run: "r", Dataset: "d", Shards: 2, Steps: 10, CheckpointEvery: 5}
	m := New(Config{}, Ledger{Generation: 3, Plan: &plan, Until: StageTrain})
	m.Step(time.Unix(0, 0), Start{})
	for s, id := range []ergoflow.WorkerID{"a", "lost"} {
		m.Step(time.Unix(1, 0), Opened{Session: Session(s), Hello: message.Hello{
			Worker: message.Worker{ID: id, DataAddress: string(id) + ":1", Secret: 7},
		}})
	}
	m.Step(time.Unix(2, 0), Closed{Session: 1, Reason: "the stream broke"})
	for name, c := range map[string]struct {
		change  func(*Upload)
		refusal string // part of it; empty: accepted
	}{
		"a state":                  {func(*Upload) {}, ""},
		"of an earlier generation": {func(u *Upload) { u.State.Generation = 1 }, ""},
		"the first state":          {func(u *Upload) { u.State = ergoflow.Mark{} }, ""},
		"the last step":            {func(u *Upload) { u.State.Step = plan.Steps }, ""},
		"of a lost worker":         {func(u *Upload) { u.Worker = "lost" }, ""},
		"of a stranger":            {func(u *Upload) { u.Worker = "b" }, `"b" is not a worker`},
		"in another's name":        {func(u *Upload) { u.Secret++ }, `"a" is not a worker`},
		"without a secret":         {func(u *Upload) { u.Secret = 0 }, `"a" is not a worker`},
		"of another run":           {func(u *Upload) { u.Run = "s" }, `run "s" is not the one in progress, "r"`},
		"of a future generation":   {func(u *Upload) { u.State.Generation = 4 }, "generation 4 has not begun"},
		"after the end":            {func(u *Upload) { u.State.Step = plan.Steps + 1 }, "step 11 is not one of 0 to 10"},
		"before the beginning":     {func(u *Upload) { u.State.Step = -1 }, "step -1 is not"},
	} {
		u := Upload{Worker: "a", Secret: 7, Run: "r", State: ergoflow.Mark{Generation: 3, Step: 5}}
		c.change(&u)
		err := m.CheckUpload(u)
		if (err == nil) != (c.refusal == "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s: %v, want %q", name, err, c.refusal)
		}
	}
	if err := New(Config{}, Ledger{}).CheckUpload(Upload{}); err == nil {
		t.Error("a machine that knows nobody accepts a checkpoint")
	}
}
