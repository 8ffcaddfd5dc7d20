package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// A tale is a coordinator that tells one status after another, then the last
// again and again.
type tale struct {
	wire.ControlClient
	told []coordinator.Status
	next int
}

func (c *tale) Status(ctx context.Context, _ *wire.StatusRequest, _ ...grpc.CallOption) (*wire.StatusReply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(c.told[min(c.next, len(c.told)-1)])
	c.next++
	return &wire.StatusReply{Json: b}, err
}

func running(run, state string) coordinator.Status {
	return coordinator.Status{Status: machine.Status{Run: run, Experiment: "vn1d/" + run, State: state, Steps: 64,
		Shards: machine.ShardStatus{Done: 5, Total: 5}}}
}

// TestFollowDisplaced: whoever watches a run hears that another took its place.
func TestFollowDisplaced(t *testing.T) {
	ours := running("ours", machine.StateTraining)
	for _, test := range []struct {
		next       coordinator.Status
		want, hint string
	}{
		{running("theirs", machine.StateTraining), "run ours was put aside by run theirs (vn1d/theirs)", "--replace"},
		{running("", machine.StateIdle), "the coordinator no longer knows run ours", "another --dir"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), restartPatience)
			defer cancel()
			control := &tale{told: []coordinator.Status{ours, ours, test.next}}
			_, err := follow(ctx, control, ergoflow.Plan{Run: "ours"}, wire.Stage_STAGE_TRAIN, func() error { return nil })
			if err == nil || err.Error() != test.want || !strings.Contains(hintFor(err), test.hint) {
				t.Errorf("ended with %v, not %q", err, test.want)
			}
		})
	}
}
