package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/consensus"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/fleet"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"github.com/ergoflow/ergoflow/internal/webserver"
)

// stopTimeout bounds the wait for workers to leave: the drain time-out and a little
// more.
const stopTimeout = 12 * time.Second

// coordinator is what this process is from its start to its end, whether it leads or not.
type coordinator struct {
	Config
	*state
	*endpoints
	security *security
	node     *consensus.Node                // nil: there is one coordinator, which leads
	term     atomic.Pointer[consensus.Term] // in which it leads; nil: it does not, or is the only one
	control  *office[*service]
	joining  *office[*joining]
	bucket   *bucket // nil: the shards are elsewhere, or this is the only coordinator
	page     atomic.Pointer[shownPage]
	silent   atomic.Int32 // other coordinators that do not answer
	leaving  atomic.Bool  // it has ceased to conduct, and what it conducted with ends
	handedIn atomic.Bool  // its ledger, by this process, to a cluster in which it is alone yet
	ready    sync.Once
}

// Run runs a coordinator until ctx ends. A coordinator that is the only one then saves the
// workers' state, tells them to leave, and closes everything; one of several leaves the workers to
// the others. Run fails with ErrRunning where another coordinator has the directory, and with the
// address where one is in use. With an address beyond loopback the first start makes the
// cluster's authority, unless c.Insecure is set.
func Run(ctx context.Context, c Config) (err error) {
	c, err = c.validated()
	if err != nil {
		return err
	}
	if err := makeDirectories(c); err != nil {
		return err
	}
	closing := &closer{}
	defer func() { err = errors.Join(err, closing.close()) }()
	k := &coordinator{Config: c, control: newOffice[*service](), joining: newOffice[*joining]()}
	if k.state, err = openState(c.Dir, closing); err != nil {
		return err
	}
	for _, warning := range []string{k.ledger.db.Warning, k.checkpoints.Warning()} {
		if warning != "" {
			c.Log.Warn(warning)
		}
	}
	if k.security, err = openSecurity(ctx, c, k.ledger); err != nil {
		return err
	}
	switch {
	case k.security != nil:
		if k.security.plain {
			c.Log.Warn(gossip.HalfSecured)
		}
		err = trust.NoCoreDumps()
	case !c.isLocal():
		c.Log.Warn(gossip.Insecurity)
	}
	if err != nil {
		return err
	}
	if err := k.openConsensus(closing); err != nil {
		return err
	}
	if k.endpoints, err = openEndpoints(ctx, c, k.last, k.security, closing); err != nil {
		return err
	}
	if err := k.openBucket(ctx, closing); err != nil {
		return err
	}
	noteBeginning(c.Flight, k.killed)
	err = k.serve(ctx)
	noteEnd(c.Flight, err)
	c.Flight.Close()
	return err
}

// addresses are where this process is.
func (k *coordinator) addresses() Addresses {
	a := k.endpoints.addresses()
	if k.bucket != nil {
		a.NATS = jobs.Public(k.bucket.url)
	}
	return a
}

// serve serves, and leads when it is this coordinator's turn, until ctx ends.
func (k *coordinator) serve(ctx context.Context) error {
	// A client that was stopped while it reads a snapshot would keep the store from
	// reusing its free pages: without keepalive gRPC would wait for it for two hours.
	alive := grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second})
	// Messages of sessions are short, and a thousand workers have a connection each: the
	// defaults are 32 KiB in each direction. Long messages are copied in more parts.
	const buffer = 4 << 10
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage), grpc.WaitForHandlers(true), alive,
		grpc.ReadBufferSize(buffer), grpc.WriteBufferSize(buffer),
	}
	switch {
	case k.security.acceptsPlaintext():
		options = append(options, secure.ServeBoth(k.security.own, wire.Roles, k.refuse)...)
	case k.security != nil:
		options = append(options, secure.Serve(k.security.own, wire.Roles, k.refuse)...)
	}
	server := grpc.NewServer(options...)
	wire.RegisterControlServer(k.control.registrar(server, k.elsewhere, k.confirm), nil)
	wire.RegisterCoordinatorsServer(server, &members{coordinator: k})
	serving, end := context.WithCancel(context.Background())
	defer end()
	group, failed := errgroup.WithContext(context.Background())
	group.Go(func() error { return server.Serve(k.listener) })
	joins := grpc.NewServer() // serves nothing in plain text
	if s := k.security; s != nil {
		joins = grpc.NewServer(append(secure.ServeJoin(s.own, wire.Roles, k.refuse), grpc.MaxRecvMsgSize(maxJoinMessage))...)
		wire.RegisterJoinServer(k.joining.registrar(joins, k.elsewhere, k.confirm), nil)
		group.Go(func() error { return joins.Serve(k.joins) })
		group.Go(func() error { s.keepCredentials(serving, k.Log); return nil })
	}
	if k.http != nil {
		group.Go(func() error { return webserver.Serve(serving, k.http, http.HandlerFunc(k.serveHTTP), k.Log) })
	}
	group.Go(func() error {
		defer stopServing(server)
		defer joins.Stop()
		defer end()
		working, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(failed, stop)()
		if k.node == nil {
			return k.lead(working, nil)
		}
		return k.takePart(working)
	})
	err := group.Wait()
	if removed := removeAddresses(k.Dir); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// refuse lists a refused caller.
func (k *coordinator) refuse(from string, err error) {
	if v, leads, _ := k.control.now(); leads {
		v.loop.do(func() { v.loop.refused.add(hostOnly(from), err.Error()) })
		return
	}
	k.Log.Warn("refused", "from", hostOnly(from), "error", err)
}

// lead conducts the runs until ctx ends, or until the term is over: ErrDeposed of package
// consensus. There is no term where there is one coordinator.
func (k *coordinator) lead(ctx context.Context, term *consensus.Term) (err error) {
	closing := &closer{}
	defer func() { err = errors.Join(err, closing.close()) }()
	decided, err := k.ledger.read(k.Workers)
	if err != nil {
		return err
	}
	services, err := openServices(ctx, k.Config, k.last, k.bucket, k.security, closing)
	if err != nil {
		return err
	}
	addresses := k.addresses()
	addresses.NATS, addresses.NATSDomain = jobs.Public(services.natsURL), k.NATSDomain
	if err := k.ledger.storeHere(keyAddresses, addresses); err != nil {
		return err
	}
	k.last = addresses
	l := k.newLoop(decided, services, term)
	if err := l.openArchive(k.Config, services.objects); err != nil {
		return err
	}
	mux, shown, err := l.newMux(k.Config)
	if err != nil {
		return err
	}
	parting := copyParting
	if term != nil {
		parting = 0 // the next leader copies what is missing
	}
	looping, endLoop := context.WithCancel(context.Background())
	defer endLoop()
	group, failed := errgroup.WithContext(context.Background())
	group.Go(func() error { return l.run(looping) })
	if d, ok := l.store.(*depot.Depot); ok && k.bucket == nil {
		group.Go(func() error { sweepStore(looping, d, l.log); return nil })
	}
	group.Go(func() error { l.archiving.keep(looping, parting); return nil })
	group.Go(func() error { shown.Run(looping); return nil })
	k.page.Store(&shownPage{mux, looping})
	defer k.page.Store(nil)
	if k.security != nil {
		group.Go(func() error { l.keepSecure(looping, services.nats); return nil })
		defer k.joining.open(newJoining(k.security, addresses, k.refuse))()
	}
	if term != nil {
		group.Go(func() error { return l.keepTerm(looping) })
		group.Go(func() error { _ = l.gather(looping, ""); return nil }) // of runs that have ended; it fails with looping
	}
	defer k.control.open(&service{loop: l, planOf: k.PlanOf, planOfStart: k.PlanOfStart, security: k.security, join: addresses.Join})()
	group.Go(func() error { return k.publishAddresses(addresses) })
	group.Go(func() error {
		defer endLoop()
		select {
		case <-ctx.Done():
			if term == nil {
				l.dismissWorkers()
			}
		case <-failed.Done():
		}
		k.leaving.Store(true)
		return nil
	})
	defer k.leaving.Store(false)
	return group.Wait()
}

// newLoop assembles the loop around the fleet that continues from the ledger.
func (k *coordinator) newLoop(decided decided, services *services, term *consensus.Term) *loop {
	config := k.timing
	config.Release = ergoflow.ThisRelease()
	messages := &convert.Messages{NATS: services.natsURL, NATSDomain: k.NATSDomain, Store: services.location, AcceptPlaintext: k.security.acceptsPlaintext()}
	if term != nil {
		messages.Term, config.Patience = term.Number(), cmp.Or(config.Patience, patienceOfSeveral)
	}
	l := &loop{
		fleet:      fleet.New(config, decided.known),
		runs:       decided.runs,
		models:     k.Models,
		messages:   messages,
		ledger:     k.ledger,
		saved:      k.state.checkpoints,
		store:      services.store,
		queue:      services.queue,
		events:     journal.New(time.Now()),
		stored:     rate.Sometimes{Interval: storedInterval},
		base:       k.Log,
		gossip:     k.members.Address(),
		security:   k.security,
		beat:       k.Beat,
		tracer:     k.Tracer,
		work:       make(chan func()),
		ended:      make(chan struct{}),
		stopped:    make(chan struct{}),
		sessions:   make(map[machine.Session]*session),
		scanning:   make(map[string]bool),
		watched:    make(map[string]context.CancelFunc),
		publishing: make(map[string]int),
		few:        make(map[string]bool),
		flight:     k.Flight,
		flights:    newFlights(k.Flight),
		asked:      k.Asked,
		term:       term,
		begun:      time.Now(),
		standing:   k.standing,
		bucket:     k.bucket,
	}
	l.log, l.refused = l.about(journal.Coordinator), refusals{log: l.about(journal.Security)}
	l.events.Add(time.Now(), journal.Coordinator, false, fmt.Sprintf("this coordinator is ergoflow %s, process %d", ergoflow.Build(), os.Getpid()))
	if l.beat == nil {
		l.beat = func() {}
	}
	launch := k.Retrainer
	if launch == nil {
		launch = retrainer(k.Dir, k.Store)
	}
	l.processes = newProcesses(l, filepath.Join(k.Dir, "logs"), launch)
	if term != nil {
		l.copies = &copies{others: k.node.Others, saved: l.saved, dial: k.dialMember, log: l.log, turns: make(map[string]*semaphore.Weighted)}
	}
	return l
}

// publishAddresses writes where the coordinator is. The first time it tells so.
func (k *coordinator) publishAddresses(a Addresses) error {
	if err := a.write(k.Dir); err != nil {
		return fmt.Errorf("write %s: %w", addressesFile, err)
	}
	if k.node == nil || k.term.Load() != nil {
		token, err := k.security.firstToken()
		if err != nil {
			return err
		}
		if token != "" && k.FirstToken != nil {
			k.FirstToken(a.Join, token)
		}
	}
	k.ready.Do(func() {
		if k.Ready != nil {
			k.Ready(a)
		}
	})
	return nil
}

// dismissWorkers has the machine dismiss all workers. It waits for that up to stopTimeout,
// and while a checkpoint arrives as long as the machine does.
func (l *loop) dismissWorkers() {
	if !l.do(func() { l.stepQueue(queue.Stop{}); l.step(machine.Stop{}) }) {
		return
	}
	defer l.processes.wait(stopTimeout)
	for {
		select {
		case <-l.stopped:
			return
		case <-l.ended:
			return
		case <-time.After(stopTimeout):
			if l.uploading.Load() == 0 {
				l.log.Warn("workers have not left in time", "waited", stopTimeout)
				return
			}
		}
	}
}

// stopServing lets handlers send their last messages, and then ends Serve.
func stopServing(server *grpc.Server) {
	hurry := time.AfterFunc(2*flushTimeout, server.Stop)
	defer hurry.Stop()
	server.GracefulStop()
}
