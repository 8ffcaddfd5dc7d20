package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
)

// order is what a process of stubs is told, in the environment variable stubOrder.
type order struct {
	Control, Gossip, Version string        // Gossip is empty: the stubs do not gossip
	First, Count             int           // of the stubs' numbers
	Functions                int           // of a shard
	Groups                   int           // of stubs that list one another
	Every                    time.Duration // between the beginnings of two stubs
}

const stubOrder = "ERGOFLOW_STUBS"

// event is what a stub tells of, on a line of its process's output.
type event struct {
	Kind       kind   `json:"kind"`
	Worker     int    `json:"worker"`
	Nanosecond int64  `json:"nanosecond"`
	Generation uint64 `json:"generation,omitempty"`
	World      int    `json:"world,omitempty"`
	Text       string `json:"text,omitempty"`
}

type kind string

const (
	began    kind = "began"    // it begins to look for the coordinator
	joined   kind = "joined"   // the coordinator has welcomed it
	made     kind = "made"     // it has made a shard
	prepared kind = "prepared" // it may be a member
	formed   kind = "formed"   // it reports to a generation
	stepped  kind = "stepped"  // it makes the first step of a generation
	left     kind = "left"     // the coordinator let it go, as it asked
	lost     kind = "lost"     // its session broke; like a worker it opens another one
	failed   kind = "failed"   // anything else that ended it
)

// runStubs runs the stubs of one process. They leave in order at SIGTERM.
func runStubs(encoded string) error {
	var o order
	if err := json.Unmarshal([]byte(encoded), &o); err != nil {
		return err
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	drain, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var writing sync.Mutex
	tell := func(e event) {
		e.Nanosecond = time.Now().UnixNano()
		line, err := json.Marshal(e)
		if err != nil {
			panic(err) // it has only numbers and text
		}
		writing.Lock()
		defer writing.Unlock()
		os.Stdout.Write(append(line, '\n')) // it fails where the reader has gone
	}
	var all sync.WaitGroup
	for i := range o.Count {
		all.Go(func() {
			time.Sleep(time.Duration(i) * o.Every)
			number := o.First + i
			tell(event{Kind: began, Worker: number})
			if err := o.live(drain, number, tell); err != nil {
				tell(event{Kind: failed, Worker: number, Text: err.Error()})
			}
		})
	}
	all.Wait()
	return nil
}

// live joins the gossip and holds sessions, one after the other, until the coordinator ends one.
func (o order) live(drain context.Context, number int, tell func(event)) error {
	s := stub{order: o, number: number, tell: tell}
	if o.Gossip != "" {
		g, err := gossip.Join(context.Background(), gossip.Config{Name: s.id(), Bind: gossipAddress(number), Seeds: []string{s.seed()}, Wait: time.Minute, Sparing: true,
			Lists: s.lists(), Meta: gossip.Meta{Role: gossip.RoleWorker, DataAddress: s.address(), Device: "stub", Version: o.Version}})
		if err != nil {
			return err
		}
		defer g.Close()
	}
	for {
		err := (&stub{order: o, number: number, step: -1, tell: tell}).work(drain) // each without a state
		if err == nil || errors.Is(err, errRefused) {
			return err
		}
		tell(event{Kind: lost, Worker: number, Text: err.Error()})
		if drain.Err() != nil { // it was to leave anyway
			return nil
		}
	}
}

// stub is a worker that follows the protocol and computes nothing. A step is made at Go, and one
// at every ping. Its state is the number of the step.
type stub struct {
	order
	number int
	tell   func(event)

	mu         sync.Mutex // guards the stream's Send and what follows
	stream     wire.Control_SessionClient
	run        string
	step       int64 // −1: it has no state
	made       uint64
	beat       uint64
	generation uint64 // in which it steps; 0: none
	assigned   *wire.Assign
	pulling    context.CancelFunc
	pullers    sync.WaitGroup
}

const idPrefix = "stub-"

func (s *stub) id() string { return fmt.Sprintf("%s%05d", idPrefix, s.number) }

func isStub(id string) bool { return strings.HasPrefix(id, idPrefix) }

// lists says which members the stub lists: its group, which is in all processes, and those that are
// no stubs.
func (s *stub) lists() func(id string) bool {
	if s.Groups == 1 {
		return nil
	}
	return func(id string) bool {
		number, err := strconv.Atoi(strings.TrimPrefix(id, idPrefix))
		return err != nil || number%s.Groups == s.number%s.Groups
	}
}

// host is a loopback address that no other stub has: ports of one address would not be enough for ten
// thousand.
func host(number int) string {
	const last = 250
	return fmt.Sprintf("127.1.%d.%d", number/last, 1+number%last)
}

// address is that of the ring, where nothing listens.
func (s *stub) address() string { return host(s.number) + ":7080" }

func gossipAddress(number int) string { return host(number) + ":7946" }

// seed is the coordinator, or the stub of the same group that has begun before in this process: a
// newcomer gets the list of its seed, and the coordinator's has all.
func (s *stub) seed() string {
	if before := s.number - s.Groups; s.Groups > 1 && before >= s.First {
		return gossipAddress(before)
	}
	return s.Gossip
}

var errRefused = errors.New("refused")

// work keeps a session until the coordinator ends it.
func (s *stub) work(drain context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	conn, err := grpc.NewClient(s.Control, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	if s.stream, err = wire.NewControlClient(conn).Session(ctx, grpc.WaitForReady(true)); err != nil {
		return err
	}
	defer s.stopPulling()
	s.mu.Lock()
	s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Hello{Hello: &wire.Hello{Id: s.id(), Version: s.Version, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol, DataAddress: s.address(),
		Device: "stub", Pid: int32(os.Getpid()), Secret: uint64(s.number) + 1}}})
	s.mu.Unlock()
	defer context.AfterFunc(drain, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Drain{Drain: &wire.Drain{}}})
	})()
	for {
		m, err := s.stream.Recv()
		if err != nil {
			return err
		}
		if ended, err := s.handle(ctx, m); ended || err != nil {
			return err
		}
	}
}

// send sends a message; mu is held. Where the stream has ended its reader gets the reason.
func (s *stub) send(m *wire.WorkerMessage) { _ = s.stream.Send(m) }

func (s *stub) handle(ctx context.Context, m *wire.CoordinatorMessage) (ended bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch b := m.Body.(type) {
	case *wire.CoordinatorMessage_Welcome:
		s.tell(event{Kind: joined, Worker: s.number})
	case *wire.CoordinatorMessage_Ping:
		s.beat++
		s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Heartbeat{Heartbeat: &wire.Heartbeat{Doing: "nothing", Number: s.beat}}})
		s.advance()
	case *wire.CoordinatorMessage_Generate:
		s.pull(ctx, b.Generate)
	case *wire.CoordinatorMessage_Prepare:
		s.stopPulling()
		if run := b.Prepare.Plan.Run; run != s.run {
			s.run, s.step, s.made = run, -1, 0
		}
		s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Prepared{Prepared: &wire.Prepared{Run: s.run, Number: b.Prepare.Number}}})
		s.tell(event{Kind: prepared, Worker: s.number})
	case *wire.CoordinatorMessage_Form:
		s.generation, s.assigned = 0, nil
		s.tell(event{Kind: formed, Worker: s.number, Generation: b.Form.Generation})
		s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Report{Report: &wire.Report{Generation: b.Form.Generation,
			HasState: s.step >= 0, Made: s.made, Step: max(0, s.step), ParameterHash: []byte("same")}}})
	case *wire.CoordinatorMessage_Assign:
		s.assigned = b.Assign
		s.step, s.made = b.Assign.Source.Step, b.Assign.Source.Made
		s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Ready{Ready: &wire.Ready{Generation: b.Assign.Generation}}})
	case *wire.CoordinatorMessage_Go:
		if a := s.assigned; a != nil && a.Generation == b.Go.Generation {
			s.generation = a.Generation
			s.advance()
			s.tell(event{Kind: stepped, Worker: s.number, Generation: a.Generation, World: len(a.Members)})
		}
	case *wire.CoordinatorMessage_Abort:
		s.generation, s.assigned = 0, nil
	case *wire.CoordinatorMessage_Leave:
		s.tell(event{Kind: left, Worker: s.number})
		return true, nil
	case *wire.CoordinatorMessage_Refuse:
		return true, fmt.Errorf("%w: %s", errRefused, b.Refuse.Reason)
	}
	return false, nil
}

// advance makes a step where the stub is in a generation; mu is held.
func (s *stub) advance() {
	if s.generation == 0 {
		return
	}
	s.step++
	s.made = s.generation
	s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Progress{Progress: &wire.Progress{Generation: s.generation, Step: s.step,
		Loss: 1, Samples: 1, Timing: &wire.Timing{Gradient: 0.1}}}})
}

// pull takes jobs from the queue until it is stopped; mu is held. Each stub has a connection to
// the queue, as a worker has.
func (s *stub) pull(ctx context.Context, g *wire.Generate) {
	s.stopPulling()
	ctx, s.pulling = context.WithCancel(ctx)
	s.pullers.Go(func() {
		if err := s.makeShards(ctx, g); err != nil && ctx.Err() == nil {
			s.tell(event{Kind: failed, Worker: s.number, Text: err.Error()})
		}
	})
}

func (s *stub) stopPulling() {
	if s.pulling != nil {
		s.pulling()
	}
}

func (s *stub) makeShards(ctx context.Context, g *wire.Generate) error {
	location, err := store.Parse(g.Store)
	if err != nil {
		return err
	}
	queue, err := jobs.Connect(g.NatsUrl, jobs.Access{})
	if err != nil {
		return err
	}
	defer queue.Close()
	dir := shard.NewDir(location.Dir)
	return queue.Work(ctx, g.Plan.Run, s.id(), func(_ context.Context, j jobs.Job) error {
		err := makeShard(dir, g.Plan, j.Shard, s.Functions)
		if err == nil {
			s.tell(event{Kind: made, Worker: s.number})
		}
		return err
	})
}

const (
	family  = "vn1d"
	samples = 4 // of a function in a shard that a stub makes
)

// makeShard writes a shard of functions whose samples are all zero. The shard after those of the
// plan is held out.
func makeShard(dir *shard.Dir, p *wire.Plan, k, functions int) error {
	w, err := dir.Create(shard.Header{Family: family, Dataset: p.Dataset, Shard: k, First: k * functions, Count: functions,
		Purpose: shard.Train, Dim: 1, Samples: samples})
	if err != nil {
		return err
	}
	if err := w.Samples(make([]float32, functions*samples)); err != nil {
		w.Abort()
		return err
	}
	_, err = w.Commit()
	return err
}
