package conduct

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/finitejson"
)

// ErrUnknown means that there is no such run or schedule.
var ErrUnknown = errors.New("unknown")

// maxList bounds a list of runs or schedules, in bytes.
const maxList = 64 << 20

// Runs returns the runs that have not ended, and at most ended of those that have.
func (c *Client) Runs(ctx context.Context, ended int) ([]queue.Run, error) {
	return c.runs(ctx, &wire.RunsRequest{Ended: uint32(ended)})
}

// Run returns one run; ErrUnknown: there is none.
func (c *Client) Run(ctx context.Context, id queue.ID) (queue.Run, error) {
	list, err := c.runs(ctx, &wire.RunsRequest{Id: uint64(id)})
	if err != nil || len(list) == 0 {
		return queue.Run{}, err
	}
	return list[0], nil
}

func (c *Client) runs(ctx context.Context, r *wire.RunsRequest) (list []queue.Run, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	reply, err := c.Control.Runs(ctx, r, grpc.MaxCallRecvMsgSize(maxList))
	if err != nil {
		return nil, queueError("list runs", err)
	}
	if err := finitejson.Unmarshal(reply.Json, &list); err != nil {
		return nil, fmt.Errorf("read the coordinator's runs: %w", err)
	}
	return list, nil
}

// ChangeRun cancels or moves a run.
func (c *Client) ChangeRun(ctx context.Context, r *wire.ChangeRunRequest) error {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	_, err := c.Control.ChangeRun(ctx, r)
	return queueError(fmt.Sprintf("run %d", r.Id), err)
}

// AddSchedule adds a schedule.
func (c *Client) AddSchedule(ctx context.Context, r *wire.AddScheduleRequest) error {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	_, err := c.Control.AddSchedule(ctx, r)
	return queueError("schedule "+r.Name, err)
}

// Schedules returns the schedule of a name, or all, each with its next times.
func (c *Client) Schedules(ctx context.Context, name string, next int) (list []queue.ScheduleStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	reply, err := c.Control.Schedules(ctx, &wire.SchedulesRequest{Name: name, Next: uint32(next)}, grpc.MaxCallRecvMsgSize(maxList))
	if err != nil {
		return nil, queueError("list schedules", err)
	}
	if err := finitejson.Unmarshal(reply.Json, &list); err != nil {
		return nil, fmt.Errorf("read the coordinator's schedules: %w", err)
	}
	return list, nil
}

// ChangeSchedule pauses, resumes, runs or removes a schedule. It returns the run that
// begins.
func (c *Client) ChangeSchedule(ctx context.Context, name string, action wire.ChangeScheduleRequest_Action) (queue.ID, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	reply, err := c.Control.ChangeSchedule(ctx, &wire.ChangeScheduleRequest{Name: name, Action: action, Request: rand.Text()})
	return queue.ID(reply.GetId()), queueError("schedule "+name, err)
}

func queueError(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case grpcstatus.Code(err) == codes.NotFound:
		return ofKind{rpcError(what, err), ErrUnknown}
	}
	return rpcError(what, err)
}

// parent is the retraining that this process is, as the coordinator that started it says;
// 0: none.
func parent() uint64 {
	id, err := strconv.ParseUint(os.Getenv(coordinator.EnvRun), 10, 64)
	if err != nil {
		return 0
	}
	return id
}
