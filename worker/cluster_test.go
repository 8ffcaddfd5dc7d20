package worker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/gossip/gossiptest"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/addresstest"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/worker/protocol"
	"github.com/ergoflow/ergoflow/worker/replica"
)

// TestMain finds leaked goroutines.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, gossiptest.Outlives()...)
}

// A harness is a coordinator and workers in this process, over real sockets, so
// that the race detector sees all of them. Processes are killed in the tests of
// cmd/ergoflow.
type harness struct {
	t         *testing.T
	dir       string
	addresses coordinator.Addresses
	control   wire.ControlClient
}

func startHarness(t *testing.T) *harness {
	t.Helper()
	return startHarnessOn(t, "")
}

// startHarnessOn starts one whose shards are in a store.
func startHarnessOn(t *testing.T, store string) *harness {
	t.Helper()
	h := &harness{t: t, dir: t.TempDir()}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan coordinator.Addresses, 1), make(chan error, 1)
	go func() {
		ended <- coordinator.Run(ctx, coordinator.Config{
			Dir: h.dir, Store: store, Log: slog.New(slog.DiscardHandler),
			Ready: func(a coordinator.Addresses) { ready <- a },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("coordinator: %v", err)
		}
	})
	select {
	case h.addresses = <-ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("coordinator: %v", err)
	}
	conn, err := grpc.NewClient(h.addresses.Control, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	h.control = wire.NewControlClient(conn)
	return h
}

// worker starts a worker. leave drains it and kill ends it at once; both wait for
// its end.
func (h *harness) worker() (leave, kill func()) {
	h.t.Helper()
	return h.changedBatches(nil)
}

// changedBatches starts a worker and changes its batches before it computes them.
func (h *harness) changedBatches(change func(*replica.Batch)) (leave, kill func()) {
	h.t.Helper()
	return h.listening("127.0.0.1:0", change)
}

// listening starts a worker that listens for its peers at an address.
func (h *harness) listening(address string, change func(*replica.Batch)) (leave, kill func()) {
	h.t.Helper()
	return h.configured(func(c *Config) { c.Listen, c.changeBatch = address, change })
}

// configured starts a worker with another configuration.
func (h *harness) configured(change func(*Config)) (leave, kill func()) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	drain := make(chan struct{})
	ended := make(chan error, 1)
	c := Config{
		Join: []string{h.addresses.Gossip}, Gossip: "127.0.0.1:0", Listen: "127.0.0.1:0",
		Backend: backend.Go, Log: slog.New(slog.DiscardHandler), Drain: drain,
		Flight: flight.NewKeeper(flight.Worker, h.t.TempDir(), slog.New(slog.DiscardHandler)),
	}
	change(&c)
	go func() {
		ended <- Run(ctx, c)
	}()
	over := false
	end := func(f func()) func() {
		return func() {
			if over {
				return
			}
			over = true
			f()
			if err := <-ended; err != nil {
				h.t.Errorf("worker: %v", err)
			}
		}
	}
	leave, kill = end(func() { close(drain) }), end(cancel)
	h.t.Cleanup(kill)
	return leave, kill
}

// until polls the status until it is wanted.
func (h *harness) until(what string, wanted func(coordinator.Status) bool) coordinator.Status {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer cancel()
	var st coordinator.Status
	for {
		reply, err := h.control.Status(ctx, &wire.StatusRequest{})
		if err != nil {
			h.t.Fatalf("waiting for %s: %v; last %+v", what, err, st)
		}
		st = coordinator.Status{}
		if err := json.Unmarshal(reply.Json, &st); err != nil {
			h.t.Fatal(err)
		}
		if wanted(st) {
			return st
		}
		if st.State == "failed" {
			h.t.Fatalf("waiting for %s: the run failed: %s", what, st.Failure)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (h *harness) submit(sets ...string) experiment.Experiment {
	h.t.Helper()
	return h.submitFor(ergoflow.WorkerBounds{}, sets...)
}

// submitFor submits a run with bounds for its workers.
func (h *harness) submitFor(bounds ergoflow.WorkerBounds, sets ...string) experiment.Experiment {
	h.t.Helper()
	e, err := experiment.Load("vn1d", "smoke", "", append([]string{
		"data.training.burn_in=10", "data.reference.burn_in=10", "training.checkpoint_every=20",
		"data.samples=16", "training.batch_samples=4", "model.deeponet.trunk_width=8", "model.deeponet.hidden=8",
	}, sets...))
	if err != nil {
		h.t.Fatal(err)
	}
	plan, err := e.Plan()
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.control.Submit(h.t.Context(), &wire.SubmitRequest{Plan: convert.PlanToWire(plan), Until: wire.Stage_STAGE_TRAIN, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol,
		Queue: true, Workers: &wire.WorkerBounds{Min: uint32(bounds.Min), Max: uint32(bounds.Max)}}); err != nil {
		h.t.Fatal(err)
	}
	return e
}

// final is the last checkpoint of a run.
func (h *harness) final(run string) *state.State {
	h.t.Helper()
	stream, err := h.control.LoadCheckpoint(h.t.Context(), &wire.LoadRequest{Run: run})
	if err != nil {
		h.t.Fatal(err)
	}
	var encoded []byte
	for {
		part, err := stream.Recv()
		if err != nil {
			break
		}
		encoded = append(encoded, part.GetData()...)
	}
	_, st, err := experiment.DecodeState(encoded)
	if err != nil {
		h.t.Fatal(err)
	}
	return st
}

func done(st coordinator.Status) bool { return st.State == "done" }

func TestClusterOfOne(t *testing.T) {
	h := startHarness(t)
	leave, _ := h.worker()
	e := h.submit()
	h.until("the end", done)
	st := h.final(e.Hash())
	if int(st.Step) != e.Steps() || len(st.Losses) != e.Steps() {
		t.Errorf("ended at step %d of %d", st.Step, e.Steps())
	}
	if p := proven(t, e, st); p.Generations != 1 || p.Workers != 1 {
		t.Errorf("proof %+v", p)
	}
	leave()
	h.until("nobody", func(st coordinator.Status) bool { return len(st.Workers) == 0 })
}

// Cloned machines and containers have one host name, and each may listen on the port of
// the manual. Here both are on one machine, at two of its addresses.
func TestClusterOfOneHostNameAndPort(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux listens on all of 127.0.0.0/8")
	}
	_, port, _ := net.SplitHostPort(addresstest.Free(t))
	h := startHarness(t)
	h.submit("training.epochs=2")
	for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
		h.listening(net.JoinHostPort(host, port), nil)
	}
	st := h.until("two trained workers", func(st coordinator.Status) bool { return st.State == "done" && len(st.Workers) == 2 })
	for _, w := range st.Workers {
		if !strings.Contains(string(w.ID), "-"+port+"-") {
			t.Errorf("worker %s: its id does not name its port", w.ID)
		}
	}
	if st.Workers[0].ID == st.Workers[1].ID || len(st.Refused) > 0 {
		t.Errorf("workers %s and %s, refused %v", st.Workers[0].ID, st.Workers[1].ID, st.Refused)
	}
}

// TestClusterThatChanges: workers join, are killed and drain during training, and
// the losses are those of a single worker.
func TestClusterThatChanges(t *testing.T) {
	alone := startHarness(t)
	alone.worker()
	e := alone.submit("training.steps=120")
	alone.until("the end", done)
	want := alone.final(e.Hash())

	h := startHarness(t)
	drainFirst, _ := h.worker()
	_, killSecond := h.worker()
	h.submit("training.steps=120")
	stepping := func(world int) func(coordinator.Status) bool {
		return func(st coordinator.Status) bool {
			return done(st) || st.State == "training" && st.WorldSize == world && st.Step > 0
		}
	}
	h.until("two workers", stepping(2))
	killSecond()
	h.until("one worker", stepping(1))
	h.worker()
	h.until("two workers again", stepping(2))
	drainFirst()
	h.until("the end", done)

	got := h.final(e.Hash())
	if p := proven(t, e, got); p.Generations < 2 || p.Workers < 2 {
		t.Errorf("proof %+v", p)
	}
	if got.Step != want.Step {
		t.Fatalf("ended at step %d instead of %d", got.Step, want.Step)
	}
	for i := range want.Losses {
		if d := math.Abs(got.Losses[i] - want.Losses[i]); !(d <= 2e-4*want.Losses[i]) {
			t.Fatalf("the loss of step %d is %.8g instead of %.8g", i, got.Losses[i], want.Losses[i])
		}
	}
}

// TestReproducible: the state is bitwise identical for one worker and for a changing
// set of workers, with groups of one shard, of several shards, and in micro-batches.
func TestReproducible(t *testing.T) {
	for name, sets := range map[string][]string{
		"groups of one shard":      nil,
		"groups of several shards": {"data.shards=16", "training.micro_batch=1"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && len(sets) == 0 {
				t.Skip("-short: groups of several shards go through all that this case does")
			}
			sets := append([]string{"training.steps=40", "training.reproducible=true"}, sets...)
			alone := startHarness(t)
			alone.worker()
			e := alone.submit(sets...)
			alone.until("the end", done)
			want := alone.final(e.Hash())
			proven(t, e, want)

			h := startHarness(t)
			h.worker()
			_, kill := h.worker()
			h.worker()
			h.submit(sets...)
			h.until("three workers", func(st coordinator.Status) bool {
				return done(st) || st.State == "training" && st.WorldSize == 3 && st.Step > 5
			})
			kill()
			h.until("the end", done)
			got := h.final(e.Hash())
			proven(t, e, got)
			equalBits(t, got, want)
		})
	}
}

func equalBits(t *testing.T, got, want *state.State) {
	t.Helper()
	if !slices.Equal(got.Losses, want.Losses) {
		t.Error("the losses differ")
	}
	if !slices.Equal(got.Parameters, want.Parameters) || !slices.Equal(got.M, want.M) || !slices.Equal(got.V, want.V) {
		t.Error("parameters or moments differ")
	}
}

// TestRefusedPlan: a configuration whose hash is not the run's fails the run. Nobody
// retries it for ever.
func TestRefusedPlan(t *testing.T) {
	h := startHarness(t)
	h.worker()
	e, err := experiment.Load("vn1d", "smoke", "", []string{"data.training.burn_in=10", "data.reference.burn_in=10"})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	plan.Run = "0123456789abcdef0123456789abcdef"
	if _, err := h.control.Submit(t.Context(), &wire.SubmitRequest{Plan: convert.PlanToWire(plan), Until: wire.Stage_STAGE_TRAIN, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol}); err != nil {
		t.Fatal(err)
	}
	h.until("the end", func(st coordinator.Status) bool { return st.State == "failed" })
}

// TestLeavingWithoutCoordinator: a worker leaves at once when its coordinator does
// not answer, as on a stopped host.
func TestLeavingWithoutCoordinator(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	drain := make(chan struct{})
	w := &worker{drain: drain, log: slog.New(slog.DiscardHandler)}
	accepted := make(chan struct{})
	go func() {
		if conn, err := silent.Accept(); err == nil {
			close(accepted)
			<-t.Context().Done()
			conn.Close()
		}
	}()
	ended := make(chan error, 1)
	go func() {
		_, err := w.session(t.Context(), silent.Addr().String())
		ended <- err
	}()
	<-accepted
	close(drain)
	if err := <-ended; !errors.Is(err, protocol.ErrLeft) {
		t.Errorf("the session ended with %v", err)
	}
}

// A worker that is told to leave while it still looks for the cluster does so.
func TestLeavingBeforeJoining(t *testing.T) {
	drain := make(chan struct{})
	close(drain)
	err := Run(t.Context(), Config{
		Join: []string{addresstest.Free(t)}, Gossip: "127.0.0.1:0", Listen: "127.0.0.1:0",
		Backend: backend.Go, Log: slog.New(slog.DiscardHandler), Drain: drain,
	})
	if err != nil {
		t.Errorf("left with %v", err)
	}
}

// A stream with an invalid header to a worker's data port is on the coordinator's
// status.
func TestRefusedStreamIsReported(t *testing.T) {
	h := startHarness(t)
	h.worker()
	st := h.until("a worker", func(st coordinator.Status) bool { return len(st.Workers) == 1 })
	conn, err := grpc.NewClient(st.Workers[0].Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/ergoflow.allreduce.v1.Ring/Link")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.SendMsg(&wire.Chunk{Data: make([]byte, 100)}); err != nil { // too long for a header, and all zero
		t.Fatal(err)
	}
	h.until("the refusal", func(now coordinator.Status) bool {
		return slices.ContainsFunc(now.Refused, func(r coordinator.Refusal) bool {
			return r.From == "127.0.0.1" && strings.Contains(r.Reason, "by worker "+string(st.Workers[0].ID))
		})
	})
}

// With local steps the workers of a changing set end rounds together, and the ledger proves the
// same of every step as without.
func TestClusterWithLocalSteps(t *testing.T) {
	h := startHarness(t)
	h.worker()
	_, kill := h.worker()
	e := h.submit("training.steps=120", "training.sync_every=4")
	stepping := func(world int) func(coordinator.Status) bool {
		return func(st coordinator.Status) bool {
			if st.Step%4 != 0 {
				t.Errorf("step %d is inside a round", st.Step)
			}
			return done(st) || st.State == "training" && st.WorldSize == world && st.Step > 0
		}
	}
	h.until("two workers", stepping(2))
	kill()
	h.until("one worker", stepping(1))
	h.worker()
	h.until("two workers again", stepping(2))
	h.until("the end", done)
	st := h.final(e.Hash())
	if st.Step != 120 || len(st.Losses) != 120 || len(st.Outer) != len(st.Parameters) {
		t.Errorf("ended at step %d with %d losses and %d velocities", st.Step, len(st.Losses), len(st.Outer))
	}
	if p := proven(t, e, st); p.Steps != 120 || p.Generations < 2 || p.Workers < 2 {
		t.Errorf("proof %+v", p)
	}
}
