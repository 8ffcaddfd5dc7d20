package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/gossip/keys"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/upkeep"
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
	checkpoints *checkpoint.Store
	last        Addresses  // of the last process; zero: this is the first
	killed      *Addresses // of the last process, which did not end in order; nil: it did
}

// openState locks the directory and opens what is in it.
func openState(dir string, closing *closer) (*state, error) {
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
	if err := ledger.load(keyAddresses, &s.last); err != nil {
		return nil, err
	}
	if s.checkpoints, err = checkpoint.Open(CheckpointPath(dir), false); err != nil {
		return nil, err
	}
	closing.add(s.checkpoints.Close)
	return s, nil
}

// decided is what the ledger says of the runs.
type decided struct {
	known map[int]machine.Ledger // of the fleet's slots
	runs  *queue.Machine
}

// read reads the ledger, which other coordinators may have written.
func (l *ledger) read(bounds ergoflow.WorkerBounds) (d decided, err error) {
	if d.known, err = l.loadSlots(); err != nil {
		return d, err
	}
	queued, err := l.loadQueue()
	if err != nil {
		return d, err
	}
	if d.runs, err = queue.New(queue.Config{Workers: bounds}, queued); err != nil {
		return d, fmt.Errorf("%w: %s: %w", ErrLedger, l.db.Path(), err)
	}
	return d, nil
}

// endpoints are where others reach the process, whether it leads or not.
type endpoints struct {
	listener net.Listener // of the control service
	members  *gossip.Gossip
	joins    net.Listener   // nil in plain text
	http     net.Listener   // nil: none
	plain    *gossip.Gossip // of workers without a certificate, beside members; nil: they are not accepted
}

// openEndpoints opens them, where port 0 is asked for at the ports of the last process.
func openEndpoints(ctx context.Context, c Config, last Addresses, security *security, closing *closer) (*endpoints, error) {
	var e endpoints
	var err error
	if e.listener, err = reopen(last.Control, c.Listen, listen); err != nil {
		return nil, err
	}
	closing.add(func() error { e.listener.Close(); return nil }) // the gRPC server closes it, too
	if security != nil {
		if e.joins, err = reopen(last.Join, c.Join, listen); err != nil {
			return nil, err
		}
		closing.add(func() error { e.joins.Close(); return nil })
	}
	if c.HTTP != "" {
		if e.http, err = reopen(last.HTTP, c.HTTP, listen); err != nil {
			return nil, err
		}
		e.http = webserver.Protect(e.http, security.credentials())
		closing.add(func() error { e.http.Close(); return nil })
	}
	control := gossip.Advertise(e.listener.Addr().String())
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
		if e.plain, err = reopen(last.Plaintext, c.AcceptPlaintext, gossiping()); err != nil {
			return nil, err
		}
		closing.add(e.plain.Close)
	}
	var encrypting []keys.Key // none: plain text
	if security != nil {
		encrypting = security.keys.now().Keys
	}
	if e.members, err = reopen(last.Gossip, c.Gossip, gossiping(encrypting...)); err != nil {
		return nil, err
	}
	closing.add(e.members.Close)
	if security != nil {
		security.keys.serve(e.members.SetKeys)
	}
	return &e, nil
}

func (e *endpoints) addresses() Addresses {
	a := Addresses{
		PID: os.Getpid(), Version: ergoflow.Build(),
		Control: gossip.Advertise(e.listener.Addr().String()), Gossip: e.members.Address(),
	}
	if e.plain != nil {
		a.Plaintext = e.plain.Address()
	}
	if e.joins != nil {
		a.Join = gossip.Advertise(e.joins.Addr().String())
	}
	if e.http != nil {
		a.HTTP = gossip.Advertise(e.http.Addr().String())
	}
	return a
}

// services are what the coordinator that leads conducts runs with.
type services struct {
	queue    *jobs.Queue
	natsURL  string
	nats     *jobs.Server // that ends with them; nil: there is none
	store    shards
	objects  store.Store // behind store; nil: that is a directory
	location string      // of the store, for workers
}

// natsPause is before another try to open the jobs and shards at a NATS server.
const natsPause = 2 * time.Second

// natsPatience is how long a coordinator that starts waits for a NATS server that is away. Servers
// of a cluster that lost one elect another leader in about ten seconds.
const natsPatience = 30 * time.Second

// openServices opens them. It waits for a NATS server that is away: without end where there are
// several coordinators, since the next one that leads would find it away, too. It does not wait
// for what somebody has to set up.
func openServices(ctx context.Context, c Config, last Addresses, own *bucket, security *security, closing *closer) (s *services, err error) {
	if c.NATS == "" {
		return openServicesOnce(ctx, c, last, own, security, closing)
	}
	late := time.Now().Add(cmp.Or(c.patience, natsPatience))
	err = upkeep.Until(ctx, natsPause, func() (final bool, err error) {
		attempt := &closer{}
		if s, err = openServicesOnce(ctx, c, last, own, security, attempt); err != nil {
			final := neverPasses(err) || len(c.Peers) == 0 && (errors.Is(err, jobs.ErrNoJetStream) || time.Now().After(late))
			return final, errors.Join(err, attempt.close())
		}
		closing.add(attempt.close)
		return true, nil
	}, func(err error) { c.Log.Warn("cannot open the jobs and shards; trying again", "error", err) })
	return s, err
}

// neverPasses reports that an error of NATS stays until somebody changes the setup.
func neverPasses(err error) bool {
	return slices.ContainsFunc([]error{jobs.ErrPlain, jobs.ErrFiles, jobs.ErrDenied, jobs.ErrLimit, jobs.ErrReplicas, store.ErrUnsafe},
		func(kind error) bool { return errors.Is(err, kind) })
}

func openServicesOnce(ctx context.Context, c Config, last Addresses, own *bucket, security *security, closing *closer) (*services, error) {
	var s services
	if err := s.openJobs(ctx, c, last, own, security, closing); err != nil {
		return nil, err
	}
	closing.add(func() error { s.queue.Close(); return nil })
	var err error
	s.store, s.objects, s.location, err = openStore(ctx, c, s.natsURL, jobs.Access{Credentials: security.credentials(), Files: c.NATSFiles}, closing)
	if err != nil {
		return nil, err
	}
	return &s, nil
}

func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return l, nil
}

// openJobs opens the job queue. Without Config.NATS it is in the server of the coordinator's
// bucket, or else in one that it serves, which workers can reach.
func (s *services) openJobs(ctx context.Context, c Config, last Addresses, own *bucket, security *security, closing *closer) (err error) {
	access := jobs.Access{Credentials: security.credentials(), Files: c.NATSFiles, Domain: c.NATSDomain}
	switch {
	case c.NATS != "":
		s.natsURL = c.NATS
		s.queue, err = jobs.Open(ctx, c.NATS, access, c.NATSReplicas)
		return err
	case own != nil:
		s.natsURL = own.url
	default:
		if s.nats, s.natsURL, err = serveJobs(c, last, security); err != nil {
			return err
		}
		closing.add(func() error { s.nats.Close(); return nil })
	}
	s.queue, err = jobs.OpenInMemory(ctx, s.natsURL, access)
	return err
}

// serveJobs serves a job queue at the port of the last process, and the bucket of shards if there
// is to be one.
func serveJobs(c Config, last Addresses, security *security) (s *jobs.Server, url string, err error) {
	serve := jobs.Serve
	if security.acceptsPlaintext() {
		serve = jobs.ServeBoth
	}
	dir := filepath.Join(c.Dir, "nats")
	if err := os.RemoveAll(dir); err != nil { // nothing in it is needed again
		return nil, "", err
	}
	var objects []string // subjects
	if c.keepsObjects() {
		dir, objects = filepath.Join(c.Dir, "objects"), store.WorkerSubjects(c.location.Bucket)
	}
	s, err = reopen(hostOf(last.NATS), c.Jobs,
		func(address string) (*jobs.Server, error) {
			return serve(dir, address, security.credentials(), objects...)
		})
	if err != nil {
		return nil, "", err
	}
	return s, "nats://" + gossip.Advertise(hostOf(s.URL())), nil
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
