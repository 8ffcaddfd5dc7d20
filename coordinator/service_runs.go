package coordinator

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/schedule"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/finitejson"
)

// Bounds of what a client may ask for.
const (
	maxListed = 100_000 // ended runs
	maxNext   = 100     // times of a schedule
)

func unavailable(fatal error) error {
	return status.Error(codes.Unavailable, "the coordinator ends: "+fatal.Error())
}

// change hands a request to the queue. A refusal is an error.
func (v *service) change(e queue.Event) (queue.Answer, error) {
	a, err := v.loop.request(e)
	switch {
	case err != nil || a.Refusal == "":
		return a, err
	case a.Unknown:
		return a, status.Error(codes.NotFound, a.Refusal)
	case a.Busy:
		return a, status.Error(codes.Aborted, a.Refusal)
	}
	return a, status.Error(codes.FailedPrecondition, a.Refusal)
}

// Runs implements wire.ControlServer.
func (v *service) Runs(_ context.Context, r *wire.RunsRequest) (*wire.RunsReply, error) {
	list := []queue.Run{}
	ok := v.loop.do(func() {
		if id := queue.ID(r.GetId()); id == 0 {
			list = v.loop.runs.Runs(int(min(r.GetEnded(), maxListed)))
		} else if one, known := v.loop.runs.Run(id); known {
			list = append(list, one)
		}
	})
	if !ok {
		return nil, errEnding
	}
	if r.GetId() != 0 && len(list) == 0 {
		return nil, status.Errorf(codes.NotFound, "there is no run %d", r.GetId())
	}
	b, _, err := finitejson.Marshal(shownRuns(list, len(list)), "")
	if err != nil {
		return nil, fmt.Errorf("encode runs: %w", err)
	}
	return &wire.RunsReply{Json: b}, nil
}

// ChangeRun implements wire.ControlServer.
func (v *service) ChangeRun(_ context.Context, r *wire.ChangeRunRequest) (*wire.ChangeRunReply, error) {
	id := queue.ID(r.GetId())
	var e queue.Event
	switch r.GetAction() {
	case wire.ChangeRunRequest_ACTION_CANCEL:
		e = queue.Cancel{ID: id}
	case wire.ChangeRunRequest_ACTION_FIRST:
		e = queue.Move{ID: id, First: true}
	case wire.ChangeRunRequest_ACTION_LAST:
		e = queue.Move{ID: id, Last: true}
	case wire.ChangeRunRequest_ACTION_PRIORITY:
		e = queue.Move{ID: id, Priority: int(r.GetPriority())}
	default:
		return nil, status.Errorf(codes.InvalidArgument, "unknown action %d", r.GetAction())
	}
	_, err := v.change(e)
	return &wire.ChangeRunReply{}, err
}

// AddSchedule implements wire.ControlServer.
func (v *service) AddSchedule(_ context.Context, r *wire.AddScheduleRequest) (*wire.AddScheduleReply, error) {
	_, err := v.change(queue.AddSchedule{Schedule: queue.Schedule{
		Name: r.GetName(), Spec: r.GetSpec(), Zone: r.GetZone(), Config: r.GetConfig(),
		Policy: schedule.Policy{
			Missed: schedule.Missed(r.GetMissed()), CatchUp: int(r.GetCatchUp()), Overlap: schedule.Overlap(r.GetOverlap()),
			DeadlineSeconds: r.GetDeadlineSeconds(), JitterSeconds: r.GetJitterSeconds(),
		},
		Priority: int(r.GetPriority()), PauseAfter: int(r.GetPauseAfter()),
	}})
	return &wire.AddScheduleReply{}, err
}

// Schedules implements wire.ControlServer.
func (v *service) Schedules(_ context.Context, r *wire.SchedulesRequest) (*wire.SchedulesReply, error) {
	next := int(min(r.GetNext(), maxNext))
	list := []queue.ScheduleStatus{}
	ok := v.loop.do(func() {
		if name := r.GetName(); name == "" {
			list = v.loop.runs.Schedules(next)
		} else if one, known := v.loop.runs.Schedule(name, next); known {
			list = append(list, one)
		}
	})
	if !ok {
		return nil, errEnding
	}
	if r.GetName() != "" && len(list) == 0 {
		return nil, status.Errorf(codes.NotFound, "there is no schedule %.64q", r.GetName())
	}
	b, _, err := finitejson.Marshal(list, "")
	if err != nil {
		return nil, fmt.Errorf("encode schedules: %w", err)
	}
	return &wire.SchedulesReply{Json: b}, nil
}

// ChangeSchedule implements wire.ControlServer.
func (v *service) ChangeSchedule(_ context.Context, r *wire.ChangeScheduleRequest) (*wire.ChangeScheduleReply, error) {
	var e queue.Event
	switch name := r.GetName(); r.GetAction() {
	case wire.ChangeScheduleRequest_ACTION_PAUSE:
		e = queue.PauseSchedule{Name: name}
	case wire.ChangeScheduleRequest_ACTION_RESUME:
		e = queue.ResumeSchedule{Name: name}
	case wire.ChangeScheduleRequest_ACTION_RUN:
		e = queue.RunSchedule{Name: name, Request: r.GetRequest()}
	case wire.ChangeScheduleRequest_ACTION_REMOVE:
		e = queue.RemoveSchedule{Name: name}
	default:
		return nil, status.Errorf(codes.InvalidArgument, "unknown action %d", r.GetAction())
	}
	a, err := v.change(e)
	return &wire.ChangeScheduleReply{Id: uint64(a.ID)}, err
}
