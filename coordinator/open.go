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

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/gossip/keys"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/webserver"
)

// makeDirectories makes those of the coordinator and of a shard store that is one where they
// are missing, and checks that the store can be read.
func makeDirectories(c Config) error {
	if err := atomicfile.MakeDirs(c.Dir); err != nil {
		return fmt.Errorf("coordinator's directory: %w", err)
	}
	if c.location.Scheme != store.File {
		return nil
	}
	err := atomicfile.MakeDirs(c.location.Dir)
	if err == nil {
		_, err = os.ReadDir(c.location.Dir)
	}
	if err != nil {
		return fmt.Errorf("shard store: %w", err)
	}
	return nil
}

// state is what a coordinator finds in its directory.
type state struct {
	ledger      *ledger
	known       map[int]machine.Ledger // of the fleet's slots, as the ledger has them
	runs        *queue.Machine         // as the ledger has it
	addresses   Addresses              // of the last process; zero: this is the first
	checkpoints *checkpoint.Store
	killed      *Addresses // of the last process, which did not end in order; nil: it did
}

// openState locks the directory and opens what is in it.
func openState(c Config, closing *closer) (*state, error) {
	dir := c.Dir
	ledger, err := openLedger(dir)
	if err != nil {
		return nil, err
	}
	closing.add(ledger.close)
	s := &state{ledger: ledger}
	if a, err := ReadAddresses(dir); err == nil {
		s.killed = &a
	}
	if err := removeAddresses(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err // of a coordinator that was killed
	}
	if s.known, err = ledger.loadSlots(); err != nil {
		return nil, err
	}
	if err := ledger.load(keyAddresses, &s.addresses); err != nil {
		return nil, err
	}
	queued, err := ledger.loadQueue()
	if err != nil {
		return nil, err
	}
	if s.runs, err = queue.New(queue.Config{Workers: c.Workers}, queued); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLedger, ledger.db.Path(), err)
	}
	if s.checkpoints, err = checkpoint.Open(CheckpointPath(dir), false); err != nil {
		return nil, err
	}
	closing.add(s.checkpoints.Close)
	return s, nil
}

// services are how others reach the coordinator.
type services struct {
	listener net.Listener // of the control service
	queue    *jobs.Queue
	natsURL  string
	store    shards
	objects  store.Store  // behind store; nil: that is a directory
	location string       // of the store, for workers
	nats     *jobs.Server // nil if it is another's
	members  *gossip.Gossip
	joins    net.Listener   // nil in plain text
	http     net.Listener   // nil: none
	plain    *gossip.Gossip // of workers without a certificate, beside members; nil: they are not accepted
}

// openServices opens them, where port 0 is asked for at the ports of the last process.
func openServices(ctx context.Context, c Config, last Addresses, security *security, closing *closer) (*services, error) {
	var s services
	var err error
	if s.listener, err = reopen(last.Control, c.Listen, listen); err != nil {
		return nil, err
	}
	closing.add(func() error { s.listener.Close(); return nil }) // the gRPC server closes it, too
	if security != nil {
		if s.joins, err = reopen(last.Join, c.Join, listen); err != nil {
			return nil, err
		}
		closing.add(func() error { s.joins.Close(); return nil })
	}
	if c.HTTP != "" {
		if s.http, err = reopen(last.HTTP, c.HTTP, listen); err != nil {
			return nil, err
		}
		s.http = webserver.Protect(s.http, security.credentials())
		closing.add(func() error { s.http.Close(); return nil })
	}
	if err := s.openJobs(ctx, c, last, security, closing); err != nil {
		return nil, err
	}
	closing.add(func() error { s.queue.Close(); return nil })
	s.store, s.objects, s.location, err = openStore(ctx, c, s.natsURL, jobs.Access{Credentials: security.credentials(), Files: c.NATSFiles}, closing)
	if err != nil {
		return nil, err
	}
	control := gossip.Advertise(s.listener.Addr().String())
	gossiping := func(encrypting ...keys.Key) func(bind string) (*gossip.Gossip, error) {
		return func(bind string) (*gossip.Gossip, error) {
			return gossip.Join(ctx, gossip.Config{
				Keys: encrypting,
				Name: gossip.CoordinatorName(control, os.Getpid()), Bind: bind,
				Meta: gossip.Meta{Role: gossip.RoleCoordinator, ControlAddress: control, Version: ergoflow.Build()},
			})
		}
	}
	if security.acceptsPlaintext() {
		if s.plain, err = reopen(last.Plaintext, c.AcceptPlaintext, gossiping()); err != nil {
			return nil, err
		}
		closing.add(s.plain.Close)
	}
	var encrypting []keys.Key // none: plain text
	if security != nil {
		encrypting = security.keys.now().Keys
	}
	if s.members, err = reopen(last.Gossip, c.Gossip, gossiping(encrypting...)); err != nil {
		return nil, err
	}
	closing.add(s.members.Close)
	if security != nil {
		security.keys.serve(s.members.SetKeys)
	}
	return &s, nil
}

func (s *services) addresses() Addresses {
	a := Addresses{
		PID: os.Getpid(), Version: ergoflow.Build(),
		Control: gossip.Advertise(s.listener.Addr().String()), Gossip: s.members.Address(), NATS: jobs.Public(s.natsURL),
	}
	if s.plain != nil {
		a.Plaintext = s.plain.Address()
	}
	if s.joins != nil {
		a.Join = gossip.Advertise(s.joins.Addr().String())
	}
	if s.http != nil {
		a.HTTP = gossip.Advertise(s.http.Addr().String())
	}
	return a
}

func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return l, nil
}

// openJobs opens the job queue. Without Config.NATS it serves one, which workers can reach.
func (s *services) openJobs(ctx context.Context, c Config, last Addresses, security *security, closing *closer) (err error) {
	own, serve := security.credentials(), jobs.Serve
	if security.acceptsPlaintext() {
		serve = jobs.ServeBoth
	}
	if c.NATS != "" {
		s.natsURL = c.NATS
		s.queue, err = jobs.Open(ctx, c.NATS, jobs.Access{Credentials: own, Files: c.NATSFiles})
		return err
	}
	dir := filepath.Join(c.Dir, "nats")
	if err := os.RemoveAll(dir); err != nil { // nothing in it is needed again
		return err
	}
	var objects []string // subjects
	if c.keepsObjects() {
		dir, objects = filepath.Join(c.Dir, "objects"), store.WorkerSubjects(c.location.Bucket)
	}
	s.nats, err = reopen(hostOf(last.NATS), c.Jobs,
		func(address string) (*jobs.Server, error) { return serve(dir, address, own, objects...) })
	if err != nil {
		return err
	}
	closing.add(func() error { s.nats.Close(); return nil })
	s.natsURL = "nats://" + gossip.Advertise(hostOf(s.nats.URL()))
	s.queue, err = jobs.OpenInMemory(ctx, s.natsURL, jobs.Access{Credentials: own})
	return err
}

// hostOf is the host:port of a URL.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// reopen opens the wanted address. Where that has port 0 it tries the port of the last
// address first, so that a restarted coordinator is found where it was.
func reopen[T any](last, wanted string, open func(address string) (T, error)) (T, error) {
	host, port, err := net.SplitHostPort(wanted)
	if err == nil && port == "0" {
		if _, old, err := net.SplitHostPort(last); err == nil && old != "0" {
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
