package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"unicode"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/internal/hostport"
	"github.com/ergoflow/ergoflow/internal/memory"
	"github.com/ergoflow/ergoflow/internal/tracing"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/upkeep"
	"github.com/ergoflow/ergoflow/internal/webserver"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/simulator"
	"github.com/ergoflow/ergoflow/model/training/trainer"
	"github.com/ergoflow/ergoflow/worker/peer"
	"github.com/ergoflow/ergoflow/worker/protocol"
	"github.com/ergoflow/ergoflow/worker/replica"
)

// Config says where a worker listens, which members it joins and what it computes
// on.
type Config struct {
	// Join are gossip addresses of any members, host:port; with Credentials they are
	// addresses at which the coordinator lets processes join.
	Join    []string
	Gossip  string // own gossip address; port 0 picks one
	Listen  string // address for gradients and state; port 0 picks one
	HTTP    string // address of the metrics; empty: none
	Backend string // auto, xla:cpu, xla:cuda or go
	Engine  string // what simulates: auto, an instruction set or "device"
	// Credentials are what the worker shows, and by which it judges others; nil: plain text.
	// CredentialsDir is where they are kept.
	Credentials    *trust.Credentials
	CredentialsDir string
	// NATSFiles is a directory with what a NATS server asks for that is not the coordinator's,
	// as jobs.Access; empty: it asks for nothing.
	NATSFiles string
	// Cache is a directory for copies of shards that come from a store, and CacheBytes the most
	// that they may take.
	Cache      string
	CacheBytes int64
	// Insecure allows addresses beyond loopback without credentials, and so without
	// encryption and authentication.
	Insecure bool
	Log      *slog.Logger
	Tracer   *tracing.Tracer // nil: no traces

	// Drain is closed when the worker should finish its step, hand over and
	// leave. Cancelling the context of Run leaves at once instead.
	Drain <-chan struct{}
	// Joined is called once, when the worker has joined the gossip and serves others, and Beat
	// every second from then on. Both may be nil.
	Joined, Beat func()
	// Stuck is called if the context of Run has ended and Run does not return, with what
	// the worker is doing: a device that is busy cannot be interrupted, and may stay so for
	// ever. It may be nil.
	Stuck func(doing string)
	// Flight keeps what the process did in the last minutes; nil: Run makes one. Asked has it
	// make a dump; nil: nobody asks.
	Flight *flight.Keeper
	Asked  <-chan os.Signal

	changeBatch func(*replica.Batch) // for tests: called with every batch before it is computed
}

// A worker is the process: what outlives sessions and generations.
type worker struct {
	id         ergoflow.WorkerID
	trust      *trust.Credentials // nil: plain text
	trustDir   string             // where they are kept
	natsFiles  string             // Config.NATSFiles
	cacheDir   string             // Config.Cache
	cacheBytes int64              // Config.CacheBytes
	secret     uint64             // by which the coordinator recognises it after a lost session
	address    string             // where peers reach rings and state
	backend    *backend.Backend
	simulator  simulate.Simulator
	rings      *allreduce.Server
	uploads    *uploader
	drain      <-chan struct{}
	log        *slog.Logger
	refusals   *rate.Limiter // bounds how many refused streams are reported
	meter      *meter
	tracer     *tracing.Tracer
	current    atomic.Pointer[session] // nil between sessions
	term       uint64                  // the latest in which a coordinator has led; only the session's receiver uses it
	flight     *flight.Keeper
	dumps      chan dumpOrder

	replica   atomic.Pointer[replica.Replica] // nil before the first Prepare
	verified  replica.Verified
	shards    *shards                       // of the last order; used by the session's work alone
	copies    atomic.Pointer[shard.Dir]     // of shards; nil: none
	gossip    atomic.Pointer[gossip.Gossip] // once it has joined
	rates     rates
	following *peer.Following // of the replica; used by the session's work alone

	changeBatch func(*replica.Batch)
}

// Run joins the cluster and works until it is drained or ctx ends.
func Run(ctx context.Context, c Config) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Credentials == nil && c.beyondLoopback() != "" {
		c.Log.Warn(gossip.Insecurity)
	}
	if c.Credentials != nil {
		if err := trust.NoCoreDumps(); err != nil {
			return err
		}
	}
	compute, err := backend.Open(c.Backend)
	if err != nil {
		return err
	}
	defer compute.Close()
	if err := memory.Check("a worker on "+compute.Name, trainer.LeastMemory(compute.Name)); err != nil {
		return err
	}
	engine, err := simulator.Choose(compute, c.Engine)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen for peers on %s: %w", c.Listen, err)
	}
	w := newWorker(c, compute, engine, gossip.Advertise(listener.Addr().String()))
	var watchers net.Listener // nil: nobody asks
	if c.HTTP != "" {
		if watchers, err = net.Listen("tcp", c.HTTP); err != nil {
			listener.Close()
			return fmt.Errorf("listen for metrics on %s: %w", c.HTTP, err)
		}
		defer watchers.Close()
		watchers = webserver.Protect(watchers, c.Credentials)
		w.log.Info("metrics", "address", watchers.Addr())
	}
	defer w.flight.Close()
	defer w.closeShards()
	defer w.drop()
	defer w.watchDevice(ctx, c.Stuck)()
	err = w.join(ctx, c, listener, watchers)
	w.flight.Add(flight.Record{Kind: flight.Ends, Text: fmt.Sprint(cmp.Or(err, context.Cause(ctx)))})
	if errors.Is(err, protocol.ErrLeft) || ctx.Err() != nil { // gRPC's errors are not context.Canceled
		return nil
	}
	if err != nil {
		w.flight.Save(err.Error())
	}
	return err
}

// check fails where an address needs credentials or Insecure.
func (c *Config) check() error {
	if beyond := c.beyondLoopback(); beyond != "" && c.Credentials == nil && !c.Insecure {
		return fmt.Errorf("%w: %s", gossip.ErrInsecure, beyond)
	}
	return nil
}

// beyondLoopback is an address that other hosts can reach; empty: there is none.
func (c *Config) beyondLoopback() string {
	for _, address := range []string{c.Gossip, c.Listen, c.HTTP} {
		if address != "" && !hostport.IsLoopback(address) {
			return address
		}
	}
	return ""
}

func newWorker(c Config, compute *backend.Backend, simulator simulate.Simulator, address string) *worker {
	w := &worker{
		id:          identify(address),
		trust:       c.Credentials,
		trustDir:    c.CredentialsDir,
		natsFiles:   c.NATSFiles,
		cacheDir:    c.Cache,
		cacheBytes:  c.CacheBytes,
		secret:      rand.Uint64(),
		address:     address,
		backend:     compute,
		simulator:   simulator,
		rings:       allreduce.NewServer(c.Credentials),
		drain:       c.Drain,
		log:         c.Log,
		refusals:    rate.NewLimiter(1, 5),
		meter:       newMeter(),
		tracer:      c.Tracer,
		changeBatch: c.changeBatch,
		flight:      c.Flight,
		dumps:       make(chan dumpOrder, 8),
	}
	if w.flight == nil {
		w.flight = flight.NewKeeper(flight.Worker, "", w.log)
	}
	w.flight.Name(w.id)
	w.uploads = newUploader(w.id, w.secret, w.trust, w.log, w.meter)
	w.rings.OnRefusal(w.refused)
	return w
}

// join joins the gossip, serves peers and holds sessions with the coordinator,
// until the worker leaves or ctx ends. It closes the listener. watchers may be nil.
func (w *worker) join(ctx context.Context, c Config, listener, watchers net.Listener) error {
	joining, joined := w.untilDrain(ctx)
	defer joined()
	seeds, set, err := w.introduction(joining, c.Join)
	if err != nil {
		listener.Close()
		return err
	}
	members, err := gossip.Join(joining, gossip.Config{
		Name:  string(w.id),
		Bind:  c.Gossip,
		Seeds: seeds,
		Seek:  w.seek(c.Join),
		Keys:  set.Keys,
		Meta:  gossip.Meta{Role: gossip.RoleWorker, DataAddress: w.address, Device: w.backend.Name, Version: ergoflow.Build()},
	})
	if err != nil {
		listener.Close()
		return err
	}
	defer members.Close()
	w.gossip.Store(members)

	options := w.rings.Options()
	if w.trust != nil {
		options = append(options, wire.Roles.Interceptors(w.refused)...)
	}
	server := grpc.NewServer(options...)
	w.rings.Register(server)
	wire.RegisterPeerServer(server, &peer.Server{Replica: w.replica.Load, Rings: w.rings, Shards: w.copies.Load})

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { w.keepFlight(ctx, c.Asked); return nil })
	group.Go(func() error { return w.rings.Serve(server, listener, w.address) })
	watching, unwatched := context.WithCancel(ctx)
	defer unwatched()
	if watchers != nil {
		group.Go(func() error { return w.serveHTTP(watching, watchers) })
	}
	if w.trust != nil {
		group.Go(func() error {
			upkeep.Every(ctx, upkeepInterval, w.renewCertificate, upkeep.Log(w.log, "renewal of the certificate"))
			return nil
		})
		group.Go(func() error {
			has := set.Version
			refresh := func(ctx context.Context) error { return w.refreshKeys(ctx, members, &has) }
			upkeep.Every(ctx, upkeepInterval, refresh, upkeep.Log(w.log, "refresh of the gossip's keys"))
			return nil
		})
	}
	group.Go(func() error {
		upkeep.Every(ctx, upkeepInterval, w.measureLinks, upkeep.Log(w.log, "measuring links"))
		return nil
	})
	if c.Joined != nil {
		c.Joined()
	}
	if c.Beat != nil {
		group.Go(func() error {
			beat := func(context.Context) error { c.Beat(); return nil }
			upkeep.Every(ctx, upkeepInterval, beat, upkeep.Log(w.log, "signs of life"))
			return nil
		})
	}
	group.Go(func() error {
		defer unwatched()
		defer server.Stop()
		return w.holdSessions(ctx, members)
	})
	return group.Wait()
}

// refused reports a stream to the data port that was refused, to the log and to
// the coordinator's status. It drops most reports of a flood.
func (w *worker) refused(from string, err error) {
	w.meter.count(func(c *counts) { c.refusals++ })
	if !w.refusals.Allow() {
		return
	}
	w.log.Warn("refused a stream", "from", from, "error", err)
	w.reportRefusal(from, err.Error())
}

// reportRefusal tells the coordinator of a refusal, if there is a session.
func (w *worker) reportRefusal(from, reason string) {
	if s := w.current.Load(); s != nil {
		s.post(protocol.Refused{From: from, Reason: reason})
	}
}

// identify makes the worker's id: host and port for people, and a random part, because
// cloned machines and containers may have one name and listen on one port.
func identify(address string) ergoflow.WorkerID {
	host, port, _ := net.SplitHostPort(address)
	return ergoflow.WorkerID(fmt.Sprintf("%s-%s-%08x", hostName(host), port, rand.Uint32()))
}

// maxHost bounds the name of the host in an id, in bytes; that of a Linux machine has 64.
const maxHost = 64

// HostName is the name of this machine as it stands in ids and certificates.
func HostName() string { return hostName("worker") }

// hostName is the name of this machine, or another where it has none, of characters that an id
// may have.
func hostName(other string) string {
	host, err := os.Hostname()
	if err != nil {
		host = other
	}
	clean := strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-._", r)) {
			return r
		}
		return '_'
	}, host)
	return clean[:min(len(clean), maxHost)]
}
