package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/fleet"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

// stopTimeout bounds the wait for workers to leave: the drain time-out and a little
// more.
const stopTimeout = 12 * time.Second

// Run runs a coordinator until ctx ends. Then it saves the workers' state, tells them to
// leave, and closes everything. It fails with ErrRunning where another coordinator has
// the directory, and with the address where one is in use. With an address beyond loopback
// the first start makes the cluster's authority, unless c.Insecure is set.
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

	state, err := openState(c, closing)
	if err != nil {
		return err
	}
	for _, warning := range []string{state.ledger.db.Warning, state.checkpoints.Warning()} {
		if warning != "" {
			c.Log.Warn(warning)
		}
	}
	security, err := openSecurity(ctx, c, state.ledger)
	if err != nil {
		return err
	}
	switch {
	case security != nil:
		if security.plain {
			c.Log.Warn(gossip.HalfSecured)
		}
		err = trust.NoCoreDumps()
	case !c.isLocal():
		c.Log.Warn(gossip.Insecurity)
	}
	if err != nil {
		return err
	}
	services, err := openServices(ctx, c, state.addresses, security, closing)
	if err != nil {
		return err
	}
	addresses := services.addresses()
	if err := state.ledger.store(keyAddresses, addresses); err != nil {
		return err
	}
	noteBeginning(c.Flight, state.killed)
	l := newLoop(c, state, services, security)
	if err := l.openArchive(c, services.objects); err != nil {
		return err
	}
	err = serve(ctx, c, l, services)
	noteEnd(c.Flight, err)
	c.Flight.Close()
	return err
}

// newLoop assembles the loop around the fleet that continues from the ledger.
func newLoop(c Config, state *state, services *services, security *security) *loop {
	config := c.timing
	config.Version = ergoflow.Build()
	l := &loop{
		fleet:    fleet.New(config, state.known),
		runs:     state.runs,
		models:   c.Models,
		messages: &convert.Messages{NATS: services.natsURL, Store: services.location, AcceptPlaintext: security.acceptsPlaintext()},
		ledger:   state.ledger,
		saved:    state.checkpoints,
		store:    services.store,
		queue:    services.queue,
		events:   journal.New(time.Now()),
		stored:   rate.Sometimes{Interval: storedInterval},
		base:     c.Log,
		gossip:   services.members.Address(),
		security: security,
		beat:     c.Beat,
		tracer:   c.Tracer,
		work:     make(chan func()),
		ended:    make(chan struct{}),
		stopped:  make(chan struct{}),
		sessions: make(map[machine.Session]*session),
		scanning: make(map[string]bool),
		watched:  make(map[string]context.CancelFunc),
		flight:   c.Flight,
		flights:  newFlights(c.Flight),
		asked:    c.Asked,
	}
	l.log, l.refused = l.about(journal.Coordinator), refusals{log: l.about(journal.Security)}
	l.events.Add(time.Now(), journal.Coordinator, false, fmt.Sprintf("this coordinator is ergoflow %s, process %d", ergoflow.Build(), os.Getpid()))
	if l.beat == nil {
		l.beat = func() {}
	}
	if c.Retrainer == nil {
		c.Retrainer = retrainer(c.Dir, c.Store)
	}
	l.processes = newProcesses(l, filepath.Join(c.Dir, "logs"), c.Retrainer)
	return l
}

// serve serves until ctx ends or the loop does.
func serve(ctx context.Context, c Config, l *loop, services *services) error {
	addresses := services.addresses()
	refused := func(from string, err error) { l.do(func() { l.refused.add(hostOnly(from), err.Error()) }) }
	// A client that was stopped while it reads a snapshot would keep the store from
	// reusing its free pages: without keepalive gRPC would wait for it for two hours.
	alive := grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second})
	options := []grpc.ServerOption{grpc.MaxRecvMsgSize(maxMessage), grpc.WaitForHandlers(true), alive}
	switch {
	case l.security.acceptsPlaintext():
		options = append(options, secure.ServeBoth(l.security.own, wire.Roles, refused)...)
	case l.security != nil:
		options = append(options, secure.Serve(l.security.own, wire.Roles, refused)...)
	}
	server := grpc.NewServer(options...)
	wire.RegisterControlServer(server, &service{loop: l, planOf: c.PlanOf, planOfStart: c.PlanOfStart, security: l.security, join: addresses.Join})
	looping, endLoop := context.WithCancel(context.Background())
	defer endLoop()
	group, failed := errgroup.WithContext(context.Background())
	group.Go(func() error { return l.run(looping) })
	group.Go(func() error { return server.Serve(services.listener) })
	joins := grpc.NewServer() // serves nothing in plain text
	if s := l.security; s != nil {
		joins = grpc.NewServer(append(secure.ServeJoin(s.own, wire.Roles, refused), grpc.MaxRecvMsgSize(maxJoinMessage))...)
		wire.RegisterJoinServer(joins, newJoining(s, addresses, refused))
		group.Go(func() error { return joins.Serve(services.joins) })
		group.Go(func() error { l.keepSecure(looping, services.nats); return nil })
	}
	group.Go(func() error { l.sweepStore(looping); return nil })
	group.Go(func() error { l.archiving.keep(looping); return nil })
	if services.http != nil {
		group.Go(func() error { return l.serveHTTP(looping, c, services.http) })
	}
	group.Go(func() error { return publishAddresses(c, l.security, addresses) })
	group.Go(func() error {
		defer stopServing(server)
		defer joins.Stop()
		defer endLoop()
		select {
		case <-ctx.Done():
			l.dismissWorkers()
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

// publishAddresses writes where the coordinator is, now that it serves.
func publishAddresses(c Config, s *security, addresses Addresses) error {
	if err := addresses.write(c.Dir); err != nil {
		return fmt.Errorf("write %s: %w", addressesFile, err)
	}
	if s != nil && s.first != "" && c.FirstToken != nil {
		c.FirstToken(addresses.Join, s.first)
	}
	if c.Ready != nil {
		c.Ready(addresses)
	}
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
