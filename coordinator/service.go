package coordinator

import (
	"context"
	"fmt"
	"reflect"

	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/finitejson"
)

const maxMessage = 4 << 20 // bytes of one gRPC message

// service implements wire.ControlServer.
type service struct {
	wire.UnimplementedControlServer
	loop *loop
	// reads are checkpoints that are being read. All members of a generation that
	// continues from a checkpoint ask for it at once: they share one copy.
	reads  singleflight.Group
	planOf func(config []byte) (ergoflow.Plan, error) // nil: any plan is accepted
	// planOfStart is Config.PlanOfStart; nil: no start is accepted.
	planOfStart func(encoded []byte) (ergoflow.Plan, error)
	security    *security // nil: plain text
	join        string    // address of the Join service; empty in plain text
}

var errEnding = status.Error(codes.Unavailable, "the coordinator ends")

// Submit implements wire.ControlServer. The plan is durable when it returns.
func (v *service) Submit(ctx context.Context, r *wire.SubmitRequest) (*wire.SubmitReply, error) {
	e := queue.Submit{Queue: r.GetQueue(), Replace: r.GetReplace(), Priority: int(r.GetPriority()), Parent: queue.ID(r.GetParent()), Request: r.GetRequest()}
	if r.GetConfig() != "" {
		e.Kind, e.Config = queue.Retrain, r.GetConfig()
		a, err := v.change(e)
		return &wire.SubmitReply{Id: uint64(a.ID)}, err
	}
	if err := v.checkPlan(r); err != nil {
		v.loop.do(func() { v.loop.refused.add(caller(ctx), "a run: "+err.Error()) })
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	plan := convert.Plan(r.GetPlan())
	if err := validateJobs(plan); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	e.Kind, e.Plan = kindOf(r.GetUntil()), &plan
	if w := r.GetWorkers(); w != nil {
		e.Workers = &ergoflow.WorkerBounds{Min: int(w.GetMin()), Max: int(w.GetMax())}
	}
	a, err := v.change(e)
	if err != nil {
		return nil, err
	}
	return &wire.SubmitReply{Id: uint64(a.ID)}, nil
}

// kindOf is the kind of a run until a stage; empty: there is no such stage.
func kindOf(until wire.Stage) queue.Kind {
	switch until {
	case wire.Stage_STAGE_GENERATE:
		return queue.Generate
	case wire.Stage_STAGE_TRAIN:
		return queue.Train
	}
	return ""
}

// checkPlan returns why a plan is not the one that this program makes of its configuration.
// The run's name is a hash of that: with another plan it would stand for two trainings.
func (v *service) checkPlan(r *wire.SubmitRequest) error {
	client := ergoflow.Release{Version: r.GetVersion(), Protocol: r.GetProtocol(), OldestProtocol: r.GetOldestProtocol()}
	if _, err := client.Agree("the command", ergoflow.ThisRelease(), "the coordinator"); err != nil {
		return err
	}
	if v.planOf == nil {
		return nil
	}
	have := convert.Plan(r.GetPlan())
	want, err := v.planOf(have.Config)
	if err != nil {
		return fmt.Errorf("its configuration: %w", err)
	}
	if want.Run != have.Run {
		return fmt.Errorf("its configuration belongs to run %.12s, not to %.12s", want.Run, convert.Clip(have.Run))
	}
	want.Config = have.Config // equal up to formatting
	if !reflect.DeepEqual(want, have) {
		return fmt.Errorf("run %.12s: the plan differs from the one of its configuration", have.Run)
	}
	return nil
}

// Status implements wire.ControlServer.
func (v *service) Status(_ context.Context, r *wire.StatusRequest) (*wire.StatusReply, error) {
	var s Status
	if !v.loop.do(func() { s = v.loop.status(r.GetRun()) }) {
		return nil, errEnding
	}
	b, _, err := finitejson.Marshal(s, "") // with its warnings
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	return &wire.StatusReply{Json: b}, nil
}
