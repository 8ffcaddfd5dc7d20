package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// errRefused ends the worker: the coordinator does not want it, and says why.
var errRefused = errors.New("the coordinator refused this worker")

// helloTimeout bounds the wait for the coordinator's first answer.
const helloTimeout = 5 * time.Second

// A session is one connection to the coordinator. Its loop is the only place
// that starts and ends work, so that at most one thing at a time uses the
// device: making shards, preparing a replica, or being a rank.
type session struct {
	w       *worker
	control wire.ControlClient
	out     chan *wire.WorkerMessage
	ctx     context.Context // ends with the session

	work *task // generating, preparing or stepping; nil when idle
	rank *rank // while work is stepping
}

// A task is a goroutine that its owner can end and wait for.
type task struct {
	what   string
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// session talks with the coordinator at address until the stream breaks, the
// coordinator dismisses the worker, or ctx ends.
func (w *worker) session(ctx context.Context, address string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("dial coordinator %s: %w", address, err)
	}
	defer conn.Close()
	control := wire.NewControlClient(conn)
	stream, err := control.Session(ctx)
	if err != nil {
		return fmt.Errorf("open session with coordinator %s: %w", address, err)
	}

	s := &session{w: w, control: control, ctx: ctx, out: make(chan *wire.WorkerMessage, 64)}
	defer s.stop(errors.New("the session with the coordinator ended"))

	in := make(chan *wire.CoordinatorMessage)
	broken := make(chan error, 2)
	go func() { broken <- receive(ctx, stream, in) }()
	go func() { broken <- transmit(ctx, stream, s.out) }()

	s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Hello{Hello: &wire.Hello{
		Id:          string(w.id),
		Version:     ergoflow.Version,
		DataAddress: w.address,
		Device:      w.backend.Name,
		Pid:         int32(os.Getpid()),
	}}})

	silence := time.NewTimer(helloTimeout)
	defer silence.Stop()
	timeout := helloTimeout
	drain := w.drain
	for {
		select {
		case m := <-in:
			if welcome := m.GetWelcome(); welcome != nil {
				timeout = time.Duration(welcome.PingTimeout * float64(time.Second))
				w.log.Info("joined", "coordinator", address)
			}
			silence.Reset(timeout)
			if err := s.handle(m); err != nil {
				return err
			}
		case <-drain:
			drain = nil
			s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Drain{Drain: &wire.Drain{}}})
		case err := <-broken:
			return fmt.Errorf("session with coordinator %s: %w", address, err)
		case <-silence.C:
			return fmt.Errorf("coordinator %s was silent for %v", address, timeout)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func receive(ctx context.Context, stream wire.Control_SessionClient, in chan<- *wire.CoordinatorMessage) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		select {
		case in <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func transmit(ctx context.Context, stream wire.Control_SessionClient, out <-chan *wire.WorkerMessage) error {
	for {
		select {
		case m := <-out:
			if err := stream.Send(m); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// send queues a message; it is dropped when the session has ended, as it would
// have been on the wire.
func (s *session) send(m *wire.WorkerMessage) {
	select {
	case s.out <- m:
	case <-s.ctx.Done():
	}
}

// handle carries out one order of the coordinator.
func (s *session) handle(m *wire.CoordinatorMessage) error {
	switch body := m.Body.(type) {
	case *wire.CoordinatorMessage_Ping:
		s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Heartbeat{Heartbeat: &wire.Heartbeat{Doing: s.doing()}}})

	case *wire.CoordinatorMessage_Generate:
		s.start("generating", func(ctx context.Context) {
			if err := s.w.generate(ctx, body.Generate); err != nil && ctx.Err() == nil {
				s.failed(body.Generate.Plan.GetRun(), err)
			}
		})

	case *wire.CoordinatorMessage_Prepare:
		s.start("preparing", func(ctx context.Context) { s.prepare(ctx, body.Prepare) })

	case *wire.CoordinatorMessage_Form:
		s.stop(fmt.Errorf("generation %d forms: %s", body.Form.Generation, body.Form.Reason))
		report, err := s.w.report(body.Form.Generation)
		if err != nil {
			return err
		}
		s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Report{Report: report}})

	case *wire.CoordinatorMessage_Assign:
		replica := s.w.replica.Load()
		if replica == nil {
			return errors.New("assigned to a generation before being prepared")
		}
		rank := &rank{session: s, replica: replica, assign: body.Assign, start: make(chan struct{})}
		s.start("stepping", rank.run)
		s.rank = rank

	case *wire.CoordinatorMessage_Go:
		if s.rank != nil && s.rank.assign.Generation == body.Go.Generation {
			s.rank.begin()
		}

	case *wire.CoordinatorMessage_Abort:
		if s.rank != nil && s.rank.assign.Generation == body.Abort.Generation {
			s.stop(fmt.Errorf("generation %d aborted: %s", body.Abort.Generation, body.Abort.Reason))
		}

	case *wire.CoordinatorMessage_Save:
		if s.rank != nil {
			s.rank.saveAsked.Store(true)
		} else {
			s.w.save(s.control, body.Save.Generation)
		}

	case *wire.CoordinatorMessage_Finish:
		s.stop(errors.New("the run is finished"))
		s.w.drop()

	case *wire.CoordinatorMessage_Leave:
		s.leave()
		s.w.log.Info("leaving", "reason", body.Leave.Reason)
		return errLeft

	case *wire.CoordinatorMessage_Refuse:
		return fmt.Errorf("%w: %s", errRefused, body.Refuse.Reason)
	}
	return nil
}

// leave ends the work and waits for an upload that is under way.
func (s *session) leave() {
	s.stop(errors.New("leaving"))
	if r := s.w.replica.Load(); r != nil {
		r.saver.wait()
	}
}

// prepare builds the replica of a run, or keeps the one that is there.
func (s *session) prepare(ctx context.Context, order *wire.Prepare) {
	run := order.Plan.GetRun()
	if have := s.w.replica.Load(); have == nil || have.plan.Run != run {
		s.w.drop()
		fresh, err := newReplica(ctx, s.w, order)
		if err != nil {
			if ctx.Err() == nil {
				s.failed(run, err)
			}
			return
		}
		s.w.replica.Store(fresh)
	}
	s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Prepared{Prepared: &wire.Prepared{Run: run}}})
}

// failed tells the coordinator that this worker cannot go on with the run.
func (s *session) failed(run string, err error) {
	s.w.log.Error("cannot go on with the run", "run", run, "error", err)
	s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Failed{Failed: &wire.Failed{Run: run, Reason: err.Error()}}})
}

// start ends the present work and begins another.
func (s *session) start(what string, work func(ctx context.Context)) {
	s.stop(fmt.Errorf("the coordinator ordered %s", what))
	ctx, cancel := context.WithCancelCause(s.ctx)
	t := &task{what: what, cancel: cancel, done: make(chan struct{})}
	s.work = t
	go func() {
		defer close(t.done)
		work(ctx)
	}()
}

// stop ends the present work and waits for its goroutine.
func (s *session) stop(reason error) {
	if s.work != nil {
		s.work.cancel(reason)
		<-s.work.done
	}
	if s.rank != nil && s.rank.saveAsked.Load() { // asked, but no boundary came
		s.w.save(s.control, s.rank.assign.Generation)
	}
	s.work, s.rank = nil, nil
}

// doing says in a word what the worker is at, for `status`.
func (s *session) doing() string {
	if s.work == nil {
		return "idle"
	}
	select {
	case <-s.work.done:
		return "idle"
	default:
		return s.work.what
	}
}
