package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/device"
	"github.com/ergoflow/ergoflow/worker/protocol"
)

// Config says where a worker listens, whom it asks first and what it computes
// on.
type Config struct {
	Join    []string // gossip addresses of any members, host:port
	Gossip  string   // own gossip address; port 0 picks one
	Listen  string   // address for gradients and state; port 0 picks one
	Backend string   // auto, xla:cpu, xla:cuda or go
	Engine  string   // what simulates: auto, an instruction set or "device"
	// Insecure allows addresses beyond loopback, without encryption or
	// authentication.
	Insecure bool
	Log      *slog.Logger

	// Drain is closed when the worker should finish its step, hand over and
	// leave. Cancelling the context of Run leaves at once instead.
	Drain <-chan struct{}
	// Stuck is called where the context of Run has ended and Run does not: its device
	// is at work that cannot be interrupted, and may never end. Nil: nobody is told.
	Stuck func()

	spoil func(*stepBatch) // tests: changes a batch before it is computed
}

// A worker is the process: what outlives sessions and generations.
type worker struct {
	id        ergoflow.WorkerID
	backend   *backend.Backend
	simulator simulate.Simulator
	rings     *allreduce.Server
	address   string // where peers reach rings and state
	saver     *saver
	replica   atomic.Pointer[replica] // nil before the first Prepare
	current   atomic.Pointer[session] // nil between sessions
	secret    uint64                  // by which the coordinator knows it again
	refusals  *rate.Limiter           // of those that are reported
	drain     <-chan struct{}
	whole     sync.Map // of stored: shards that were verified
	spoil     func(*stepBatch)
	log       *slog.Logger
}

// Between attempts to reach a coordinator that is away: a quarter of the time
// that it has been away for, so that looking for it prolongs no absence much.
const (
	minPause = 50 * time.Millisecond
	maxPause = 2 * time.Second
)

// Run joins the cluster and works until it is drained or ctx ends.
func Run(ctx context.Context, c Config) error {
	for _, address := range []string{c.Gossip, c.Listen} {
		if !c.Insecure && !gossip.IsLoopback(address) {
			return fmt.Errorf("%w: %s", gossip.ErrInsecure, address)
		}
	}
	compute, err := backend.Open(c.Backend)
	if err != nil {
		return err
	}
	defer compute.Close()
	simulator, err := device.Choose(compute, c.Engine)
	if err != nil {
		return err
	}

	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen for peers on %s: %w", c.Listen, err)
	}
	address := gossip.Advertise(listener.Addr().String())
	w := &worker{
		id:        identify(address),
		backend:   compute,
		simulator: simulator,
		rings:     allreduce.NewServer(),
		address:   address,
		drain:     c.Drain,
		spoil:     c.spoil,
		log:       c.Log,
		refusals:  rate.NewLimiter(1, 5),
		secret:    rand.Uint64(),
	}
	w.saver = newSaver(w.id, w.secret, w.log)
	w.rings.OnRefusal(w.refused)
	defer w.drop()

	running, ended := context.WithCancel(context.Background())
	var ending sync.WaitGroup
	told := ctx // the group below has one of its own
	ending.Go(func() { w.hurry(told, running, c.Stuck) })
	defer ending.Wait()
	defer ended()

	members, err := gossip.Join(ctx, gossip.Config{
		Name:  string(w.id),
		Bind:  c.Gossip,
		Seeds: c.Join,
		Meta:  gossip.Meta{Role: gossip.RoleWorker, DataAddress: address, Device: compute.Name, Version: ergoflow.Build()},
	})
	if err != nil {
		listener.Close()
		return err
	}
	defer members.Close()

	server := grpc.NewServer(allreduce.ServerOptions()...)
	w.rings.Register(server)
	wire.RegisterPeerServer(server, &peerServer{w: w})

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return allreduce.Serve(server, listener, address) })
	group.Go(func() error {
		defer server.Stop()
		return w.serve(ctx, members)
	})
	err = group.Wait()
	if errors.Is(err, protocol.ErrLeft) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// deviceGrace is how long the device may take to end its work once the worker is to
// end at once: one that hangs would keep the process for ever.
const deviceGrace = 3 * time.Second

// hurry calls stuck where ctx has ended, running goes on, and it is the device that
// takes so long: an upload that moves is waited for.
func (w *worker) hurry(ctx, running context.Context, stuck func()) {
	select {
	case <-ctx.Done():
	case <-running.Done():
		return
	}
	if w.saver.busy() {
		w.log.Info("the worker ends when its checkpoint has been uploaded, or nothing of it moves", "patience", saveTimeout)
	}
	if w.saver.wait(running) != nil {
		return
	}
	select {
	case <-time.After(deviceGrace):
		if stuck != nil {
			stuck()
		}
	case <-running.Done():
	}
}

// refused reports a stream to the data port that does not fit, to log and status, but
// not every one of a flood.
func (w *worker) refused(from string, err error) {
	if !w.refusals.Allow() {
		return
	}
	w.log.Warn("refused a stream", "from", from, "error", err)
	if s := w.current.Load(); s != nil {
		s.post(protocol.Refused{From: from, Reason: err.Error()})
	}
}

// serve holds one session after another. A session that breaks is not the end:
// the coordinator may be restarting.
func (w *worker) serve(ctx context.Context, members *gossip.Gossip) error {
	var lost time.Time // when the last session that held ended
	var pause time.Duration
	for {
		control, err := w.coordinator(ctx, members, pause)
		if err != nil {
			return err
		}
		begin := time.Now()
		err = w.session(ctx, control)
		switch {
		case errors.Is(err, protocol.ErrLeft), errors.Is(err, protocol.ErrRefused), ctx.Err() != nil:
			return err
		}
		if lost.IsZero() || time.Since(begin) > maxPause {
			lost = time.Now()
			w.log.Warn("session ended; looking for the coordinator again", "coordinator", control, "reason", err)
		}
		pause = min(max(time.Since(lost)/4, minPause), maxPause)
	}
}

// coordinator waits until gossip names a coordinator, unless the worker is to
// leave: without a coordinator nobody misses it.
func (w *worker) coordinator(ctx context.Context, members *gossip.Gossip, pause time.Duration) (string, error) {
	ctx, cancel := w.whileStaying(ctx)
	defer cancel()
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	address, err := members.Coordinator(ctx)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return address, err
}

// reachTimeout bounds an attempt to connect to the coordinator: a new one finds a
// way that has healed sooner than TCP's ever longer pauses do.
const reachTimeout = 3 * time.Second

// reach waits until the connection stands or is refused, unless the worker is to
// leave.
func (w *worker) reach(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := w.whileStaying(ctx)
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, reachTimeout)
	defer stop()
	conn.Connect()
	for {
		state := conn.GetState()
		if state == connectivity.Ready || state == connectivity.TransientFailure { // the session says why
			return nil
		}
		if !conn.WaitForStateChange(ctx, state) {
			return context.Cause(ctx)
		}
	}
}

// whileStaying is ctx until the worker is to leave: then it ends with ErrLeft.
func (w *worker) whileStaying(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-w.drain:
			cancel(protocol.ErrLeft)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// drop releases the replica, if there is one.
func (w *worker) drop() {
	if r := w.replica.Swap(nil); r != nil {
		r.close()
	}
}

// identify names the worker by its host and port, which no two share.
func identify(address string) ergoflow.WorkerID {
	host, err := os.Hostname()
	if err != nil {
		return ergoflow.WorkerID(address)
	}
	_, port, _ := net.SplitHostPort(address)
	return ergoflow.WorkerID(host + "-" + port)
}
