package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// stopTimeout bounds the farewell: the drain time-out and a little more.
const stopTimeout = 12 * time.Second

// Run is a coordinator, until ctx ends: then the workers' state is saved, they
// are told to leave, and everything is closed. It fails with ErrRunning where
// another coordinator has the directory, gossip.ErrInsecure for addresses that need
// protection, and naming the address where one is in use.
func Run(ctx context.Context, c Config) (err error) {
	c, err = c.validated()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return fmt.Errorf("coordinator's directory: %w", err)
	}
	if err := usable(c.Store); err != nil {
		return fmt.Errorf("shard store: %w", err)
	}
	closing := &closer{}
	defer func() { err = errors.Join(err, closing.close()) }()

	ledger, err := openLedger(c.Dir)
	if err != nil {
		return err
	}
	closing.add(ledger.close)
	if err := removeAddresses(c.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // of one that was killed
	}
	var before Addresses
	var known machine.Ledger
	if err := errors.Join(ledger.load(keyAddresses, &before), ledger.load(keyLedger, &known)); err != nil {
		return err
	}
	saved, err := checkpoint.Open(CheckpointPath(c.Dir), false)
	if err != nil {
		return err
	}
	closing.add(saved.Close)

	listener, err := again(before.Control, c.Listen, listen)
	if err != nil {
		return err
	}
	closing.add(func() error { listener.Close(); return nil }) // the server closes it too
	queue, natsURL, err := openJobs(ctx, c, before, closing)
	if err != nil {
		return err
	}
	closing.add(func() error { queue.Close(); return nil })

	control := gossip.Advertise(listener.Addr().String())
	members, err := again(before.Gossip, c.Gossip, func(bind string) (*gossip.Gossip, error) {
		return gossip.Join(ctx, gossip.Config{
			Name: fmt.Sprintf("coordinator-%s-%d", control, os.Getpid()), Bind: bind,
			Meta: gossip.Meta{Role: gossip.RoleCoordinator, ControlAddress: control, Version: ergoflow.Build()},
		})
	})
	if err != nil {
		return err
	}
	closing.add(members.Close)

	addresses := Addresses{PID: os.Getpid(), Version: ergoflow.Build(), Control: control, Gossip: members.Address(), NATS: jobs.Public(natsURL)}
	if err := ledger.store(keyAddresses, addresses); err != nil {
		return err
	}
	timing := c.timing
	timing.Version = ergoflow.Build()
	l := &loop{
		machine: machine.New(timing, known), messages: &convert.Messages{NATS: natsURL, Store: c.Store}, ledger: ledger, saved: saved,
		store: shard.NewDir(c.Store), queue: queue, log: c.Log, gossip: addresses.Gossip, refused: refusals{log: c.Log}, work: make(chan func()), ended: make(chan struct{}),
		stopped: make(chan struct{}), sessions: make(map[machine.Session]*session),
	}
	return conduct(ctx, c, l, listener, addresses)
}

// usable makes a directory where there is none, and reports one that cannot be read.
func usable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	_, err := os.ReadDir(dir)
	return err
}

// conduct serves until ctx ends or the loop does.
func conduct(ctx context.Context, c Config, l *loop, listener net.Listener, addresses Addresses) error {
	// A client that was stopped, and reads no more of a snapshot, would keep the store
	// from using its free pages again: gRPC would wait for it for two hours.
	asked := grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second})
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage), grpc.WaitForHandlers(true), asked)
	wire.RegisterControlServer(server, &service{loop: l, planOf: c.PlanOf})
	looping, endLoop := context.WithCancel(context.Background())
	defer endLoop()
	group, failed := errgroup.WithContext(context.Background())
	group.Go(func() error { return l.run(looping) })
	group.Go(func() error { return server.Serve(listener) })
	group.Go(func() error {
		if err := addresses.write(c.Dir); err != nil {
			return fmt.Errorf("write %s: %w", addressesFile, err)
		}
		if c.Ready != nil {
			c.Ready(addresses)
		}
		return nil
	})
	group.Go(func() error {
		defer stopServing(server)
		defer endLoop()
		select {
		case <-ctx.Done():
			l.farewell()
		case <-failed.Done():
		}
		return nil
	})
	err := group.Wait()
	if removed := removeAddresses(c.Dir); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// farewell has the machine let everyone go, in bounded time unless a checkpoint
// comes: the machine bounds that.
func (l *loop) farewell() {
	if !l.post(machine.Stop{}) {
		return
	}
	for {
		select {
		case <-l.stopped:
			return
		case <-l.ended:
			return
		case <-time.After(stopTimeout):
			if l.uploading.Load() == 0 {
				l.log.Warn("the workers were not let go in time", "waited", stopTimeout)
				return
			}
		}
	}
}

// stopServing lets handlers say their last words, and then ends Serve.
func stopServing(server *grpc.Server) {
	hurry := time.AfterFunc(2*flushTimeout, server.Stop)
	defer hurry.Stop()
	server.GracefulStop()
}

func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("control service cannot listen on %s: %w", address, err)
	}
	return l, nil
}

// openJobs opens the job queue and says its URL. Where none is given one is
// served, on the host of the control service, which workers reach.
func openJobs(ctx context.Context, c Config, before Addresses, closing *closer) (*jobs.Queue, string, error) {
	if c.NATS != "" {
		queue, err := jobs.Open(ctx, c.NATS)
		return queue, c.NATS, err
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return nil, "", fmt.Errorf("control address: %w", err)
	}
	dir := filepath.Join(c.Dir, "nats")
	if err := os.RemoveAll(dir); err != nil { // nothing in it is needed again
		return nil, "", err
	}
	server, err := again(hostOf(before.NATS), net.JoinHostPort(host, "0"),
		func(address string) (*jobs.Server, error) { return jobs.Serve(dir, address) })
	if err != nil {
		return nil, "", err
	}
	closing.add(func() error { server.Close(); return nil })
	address := "nats://" + gossip.Advertise(hostOf(server.URL()))
	queue, err := jobs.OpenInMemory(ctx, address)
	return queue, address, err
}

// hostOf is the host:port of a URL.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// again opens what was open before at the same port, where any port will do, so
// that a coordinator that restarts is found where it was.
func again[T any](before, wanted string, open func(address string) (T, error)) (T, error) {
	host, port, err := net.SplitHostPort(wanted)
	if err == nil && port == "0" {
		if _, old, err := net.SplitHostPort(before); err == nil && old != "0" {
			if opened, err := open(net.JoinHostPort(host, old)); err == nil {
				return opened, nil
			}
		}
	}
	return open(wanted)
}

// closer closes things in the reverse order of their opening.
type closer struct{ closers []func() error }

func (c *closer) add(f func() error) { c.closers = append(c.closers, f) }

func (c *closer) close() error {
	var errs []error
	for i := len(c.closers) - 1; i >= 0; i-- {
		errs = append(errs, c.closers[i]())
	}
	return errors.Join(errs...)
}
