package conduct

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/leader"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/finitejson"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

var (
	// ErrAddress means that an address is none.
	ErrAddress = errors.New("address")
	// ErrUnreachable means that nothing answers at a coordinator's address.
	ErrUnreachable = errors.New("the coordinator does not answer")
	// ErrBusy means that the coordinator refused a run because another is not finished.
	ErrBusy = errors.New("the coordinator has another run")
)

// answerWait is how long a coordinator may take to answer. It may be stopped, or its
// host may be gone, which the connection does not notice.
const answerWait = 10 * time.Second

// redial is the longest pause between two attempts to connect: a coordinator that is started
// again is back within seconds.
const redial = time.Second

// A Client talks to the control service of the coordinator that leads. It may begin at any.
type Client struct {
	Control      wire.ControlClient
	Coordinators wire.CoordinatorsClient
	conn         *leader.Conn
}

// Dial prepares a client of a coordinator. The connection is made by the first call.
func Dial(at Endpoint) (*Client, error) {
	pauses := backoff.DefaultConfig
	pauses.BaseDelay, pauses.MaxDelay = redial/10, redial
	conn, err := leader.Dial(at.Addr, secure.Dial(at.Credentials, trust.Coordinator),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: pauses, MinConnectTimeout: answerWait}))
	if err != nil {
		return nil, fmt.Errorf("%w %q: %w", ErrAddress, at.Addr, err)
	}
	return &Client{Control: wire.NewControlClient(conn), Coordinators: wire.NewCoordinatorsClient(conn), conn: conn}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Status asks the coordinator for its status, with that of the run that has the hash if the
// coordinator conducts it, and otherwise of the first that it conducts.
func (c *Client) Status(ctx context.Context, run string) (st coordinator.Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	reply, err := c.Control.Status(ctx, &wire.StatusRequest{Run: run})
	if err != nil {
		return st, rpcError("ask the coordinator for its status", err)
	}
	if err := finitejson.Unmarshal(reply.Json, &st); err != nil {
		return st, fmt.Errorf("read the coordinator's status: %w", err)
	}
	return st, nil
}

// Submission says what becomes of a plan where the coordinator has another run that is not
// finished. The zero value has it refused, with ErrBusy.
type Submission struct {
	Replace  bool // it takes that run's place
	Queue    bool // it waits in the queue,
	Priority int  // at the place of this priority
	// Workers bounds the workers that it uses. Nil: as it has, or else the coordinator's default.
	Workers *ergoflow.WorkerBounds
}

// Submit hands a plan to the coordinator, and returns the number of the run.
func (c *Client) Submit(ctx context.Context, plan ergoflow.Plan, until wire.Stage, s Submission) (queue.ID, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	own := ergoflow.ThisRelease()
	r := &wire.SubmitRequest{Plan: convert.PlanToWire(plan), Until: until, Version: own.Version, Protocol: own.Protocol, OldestProtocol: own.OldestProtocol,
		Replace: s.Replace, Queue: s.Queue, Priority: int32(s.Priority), Parent: parent(), Request: rand.Text()}
	if b := s.Workers; b != nil {
		r.Workers = &wire.WorkerBounds{Min: uint32(b.Min), Max: uint32(b.Max)}
	}
	reply, err := c.Control.Submit(ctx, r)
	if err == nil {
		return queue.ID(reply.Id), nil
	}
	refused := rpcError("submit "+plan.Experiment, err)
	if grpcstatus.Code(err) == codes.Aborted {
		return 0, ofKind{refused, ErrBusy}
	}
	return 0, refused
}

// SubmitRetraining adds a retraining to the coordinator's queue, and returns the number of the
// run. The configuration is a file on the coordinator's machine.
func (c *Client) SubmitRetraining(ctx context.Context, config string, priority int) (queue.ID, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	reply, err := c.Control.Submit(ctx, &wire.SubmitRequest{Config: config, Queue: true, Priority: int32(priority), Request: rand.Text()})
	return queue.ID(reply.GetId()), queueError("submit the retraining "+config, err)
}

// checkpoint fetches the latest checkpoint of a run.
func (c *Client) checkpoint(ctx context.Context, run string) ([]byte, error) {
	encoded, err := c.load(ctx, run)
	if err != nil {
		return nil, rpcError("load checkpoint", err)
	}
	return encoded, nil
}

func (c *Client) load(ctx context.Context, run string) ([]byte, error) {
	stream, err := c.Control.LoadCheckpoint(ctx, &wire.LoadRequest{Run: run})
	if err != nil {
		return nil, err
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	return wire.ReadCheckpoint(first.GetHeader(), stream.Recv)
}

// restarting says whether the error of a call may be that of a coordinator that has ended, and is
// started again. One that is killed while a connection is made to it ends that connection.
func restarting(err error) bool {
	return errors.Is(err, ErrUnreachable) || errors.Is(err, secure.ErrEnded)
}

// rpcError says what failed and why, without gRPC's wrapping.
func rpcError(what string, err error) error {
	st, ok := grpcstatus.FromError(err)
	switch {
	case !ok:
		return fmt.Errorf("%s: %w", what, err)
	case st.Code() == codes.Canceled:
		return fmt.Errorf("%s: %w", what, context.Canceled)
	case secure.Failure(err) != nil:
		return fmt.Errorf("%s: %w", what, secure.Failure(err))
	case st.Code() == codes.Unavailable:
		return fmt.Errorf("%s: %w (%s)", what, ErrUnreachable, st.Message())
	case st.Code() == codes.DeadlineExceeded:
		return fmt.Errorf("%s: %w (within %v)", what, ErrUnreachable, answerWait)
	}
	return fmt.Errorf("%s: %s", what, st.Message())
}

// ofKind is an error of a kind that callers branch on and that its text does not name.
type ofKind struct {
	error
	kind error
}

func (e ofKind) Unwrap() []error { return []error{e.error, e.kind} }
