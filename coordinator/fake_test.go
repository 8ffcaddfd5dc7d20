package coordinator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/gossip/gossiptest"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/internal/safetensors"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir)
		return
	}
	_ = flag.Set("test.parallel", "8") // the parallel ones wait for most of their time
	goleak.VerifyTestMain(m, gossiptest.Outlives()...)
}

// patience is for what takes a few seconds on an idle machine.
const patience = time.Minute

// server is a coordinator under test.
type server struct {
	Addresses
	t      *testing.T
	dir    string
	store  string // of its shards, where that is not in dir
	stop   context.CancelFunc
	ended  chan error
	client wire.ControlClient
	conn   *grpc.ClientConn
}

// start runs a coordinator on dir and waits until it is ready.
func start(t *testing.T, dir string) *server {
	t.Helper()
	return startWith(t, dir, func(*Config) {})
}

// startWith starts one whose configuration is changed.
func startWith(t *testing.T, dir string, change func(*Config)) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{t: t, dir: dir, stop: cancel, ended: make(chan error, 1)}
	ready := make(chan Addresses, 1)
	config := Config{
		Dir: dir, Log: slog.New(slog.DiscardHandler), Ready: func(a Addresses) { ready <- a },
		timing: machine.Config{PingInterval: 50 * time.Millisecond, PingTimeout: 3 * time.Second,
			Settle: 200 * time.Millisecond, DrainTimeout: 2 * time.Second, Rescan: 100 * time.Millisecond},
	}
	change(&config)
	go func() { s.ended <- Run(ctx, config) }()
	select {
	case s.Addresses = <-ready:
	case err := <-s.ended:
		t.Fatalf("the coordinator ended: %v", err)
	case <-time.After(patience):
		t.Fatal("the coordinator is not ready")
	}
	s.dial()
	t.Cleanup(s.close)
	return s
}

func (s *server) dial() {
	s.t.Helper()
	conn, err := grpc.NewClient(s.Control, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.t.Fatal(err)
	}
	s.conn, s.client = conn, wire.NewControlClient(conn)
}

// close ends the coordinator as SIGTERM does. It may be called again.
func (s *server) close() {
	s.t.Helper()
	if s.conn == nil {
		return
	}
	if err := s.conn.Close(); err != nil {
		s.t.Error(err)
	}
	s.conn = nil
	s.stop()
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Errorf("the coordinator ended: %v", err)
		}
	case <-time.After(patience):
		s.t.Error("the coordinator does not end")
	}
}

func (s *server) status() Status {
	s.t.Helper()
	reply, err := s.client.Status(s.t.Context(), &wire.StatusRequest{})
	if err != nil {
		s.t.Fatal(err)
	}
	var st Status
	if err := json.Unmarshal(reply.Json, &st); err != nil {
		s.t.Fatal(err)
	}
	return st
}

// await polls the status until it is as wanted.
func (s *server) await(what string, wanted func(Status) bool) Status {
	s.t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for {
		st := s.status()
		if wanted(st) {
			return st
		}
		select {
		case <-ticker.C:
		case <-deadline:
			s.t.Fatalf("%s: still %+v", what, st)
		}
	}
}

const dataset = "0123456789abcdef0123456789abcdef"

var plan = &wire.Plan{Run: "run1", Experiment: "vn1d/test", Dataset: dataset, Shards: 4, Steps: 30, CheckpointEvery: 10,
	Config: []byte(`{"data":{"family":"vn1d"}}`)}

// endless is the same run with so many steps that no test sees the last.
var endless = &wire.Plan{Run: plan.Run, Experiment: plan.Experiment, Dataset: plan.Dataset, Shards: plan.Shards, Steps: 1 << 40,
	CheckpointEvery: 1 << 39, Config: plan.Config}

func (s *server) submit(p *wire.Plan, until wire.Stage) {
	s.t.Helper()
	if _, err := s.client.Submit(s.t.Context(), &wire.SubmitRequest{Plan: p, Until: until, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol}); err != nil {
		s.t.Fatal(err)
	}
}

// makeShards puts shards of one function into the coordinator's store.
func makeShards(t *testing.T, dir string, shards ...int) {
	t.Helper()
	store := shard.NewDir(filepath.Join(dir, "shards"))
	for _, k := range shards {
		if err := makeShard(store, k); err != nil {
			t.Fatal(err)
		}
	}
}

func makeShard(store *shard.Dir, k int) error {
	w, err := store.Create(shard.Header{Family: "vn1d", Dataset: dataset, Shard: k, First: k, Count: 1, Purpose: "train", Dim: 1, Samples: 3})
	if err != nil {
		return err
	}
	if err := w.Samples([]float32{0, 1, 2}); err != nil {
		w.Abort()
		return err
	}
	_, err = w.Commit()
	return err
}

// fake is a worker that follows the protocol without computing anything: its state at
// step s is a few bytes with that number. It steps as fast as the pace channel lets it.
type fake struct {
	t       *testing.T
	id      string
	cancel  context.CancelFunc
	done    chan struct{}
	mu      sync.Mutex // guards stream.Send, step and seen
	stream  wire.Control_SessionClient
	client  wire.ControlClient
	run     string
	step    int64 // of the run; −1: no state
	made    uint64
	assign  *wire.Assign
	seen    map[string]int // messages by kind
	last    *wire.CoordinatorMessage
	mute    bool
	parting bool             // the state was asked for: no step follows
	flight  *flight.Recorder // nil: it does not know orders to dump
}

// connect opens a session and answers in a goroutine until it ends.
func connect(t *testing.T, s *server, id string, state int64) *fake {
	t.Helper()
	return connectFrom(t, s, id, id+":1", state)
}

func connectFrom(t *testing.T, s *server, id, address string, state int64) *fake {
	t.Helper()
	return connectBy(t, s, insecure.NewCredentials(), id, address, state)
}

func connectBy(t *testing.T, s *server, transport credentials.TransportCredentials, id, address string, state int64) *fake {
	t.Helper()
	conn, err := grpc.NewClient(s.Control, grpc.WithTransportCredentials(transport))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &fake{t: t, id: id, cancel: cancel, done: make(chan struct{}), client: wire.NewControlClient(conn), run: plan.Run, step: state, seen: map[string]int{}}
	if f.stream, err = f.client.Session(ctx); err != nil {
		t.Fatal(err)
	}
	hello := &wire.Hello{Id: id, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol, DataAddress: address, Device: "go", Pid: 7, Secret: secret,
		HasState: state >= 0, Step: state, Made: f.made}
	if state >= 0 {
		hello.Run = plan.Run
	}
	f.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Hello{Hello: hello}})
	go func() {
		defer close(f.done)
		defer conn.Close()
		for {
			m, err := f.stream.Recv()
			if err != nil {
				return
			}
			f.handle(ctx, m)
		}
	}()
	t.Cleanup(f.kill)
	return f
}

// kill ends the process as SIGKILL would: the stream breaks.
func (f *fake) kill() {
	f.cancel()
	<-f.done
}

func (f *fake) send(m *wire.WorkerMessage) {
	if err := f.stream.Send(m); err != nil {
		return // the reader sees it too
	}
}

func (f *fake) handle(ctx context.Context, m *wire.CoordinatorMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mute {
		return
	}
	f.seen[fmt.Sprintf("%T", m.Body)]++
	f.last = m
	switch b := m.Body.(type) {
	case *wire.CoordinatorMessage_Ping:
		f.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Heartbeat{Heartbeat: &wire.Heartbeat{Doing: "testing", Number: b.Ping.Heard + 1}}})
		f.advance()
	case *wire.CoordinatorMessage_Prepare:
		if b.Prepare.Plan.Run != f.run {
			f.run, f.step, f.made, f.parting = b.Prepare.Plan.Run, -1, 0, false
		}
		f.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Prepared{Prepared: &wire.Prepared{Run: b.Prepare.Plan.Run, Number: b.Prepare.Number}}})
	case *wire.CoordinatorMessage_Form:
		f.assign = nil
		f.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Report{Report: &wire.Report{Generation: b.Form.Generation,
			HasState: f.step >= 0, Made: f.made, Step: max(0, f.step), ParameterHash: []byte("h")}}})
	case *wire.CoordinatorMessage_Assign:
		if b.Assign.Source.Kind == wire.Source_KIND_CHECKPOINT {
			f.load(ctx, b.Assign.Source.Step)
		}
		f.step, f.made = b.Assign.Source.Step, b.Assign.Source.Made
		f.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Ready{Ready: &wire.Ready{Generation: b.Assign.Generation}}})
		f.assign = b.Assign
	case *wire.CoordinatorMessage_Dump:
		if f.flight != nil {
			f.dump(ctx, b.Dump)
		}
	case *wire.CoordinatorMessage_Abort, *wire.CoordinatorMessage_Finish:
		f.assign = nil
	case *wire.CoordinatorMessage_Save:
		f.parting = true
		f.save(ctx, true)
	}
}

// advance steps once per ping while in a generation, saving where it is due.
func (f *fake) advance() {
	a := f.assign
	if a == nil || f.seen["*wire.CoordinatorMessage_Go"] == 0 {
		return
	}
	if f.step < plan.Steps && !f.parting {
		f.step++
		f.made = a.Generation
		f.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Progress{Progress: &wire.Progress{Generation: a.Generation,
			Step: f.step, Loss: 1 / float64(f.step), Samples: 100, Timing: &wire.Timing{Gradient: 0.5}}}})
	}
	if a.Saves && (f.step%plan.CheckpointEvery == 0 || f.step == plan.Steps) {
		if f.save(f.stream.Context(), f.step == plan.Steps) && f.step == plan.Steps {
			f.assign = nil
		}
	}
}

func stateAt(step int64) []byte { return stateOf(plan.Run, step) }

func stateOf(run string, step int64) []byte {
	text := bytes.Repeat(fmt.Appendf(nil, "state at %06d;", step), 200_000)
	encoded, err := safetensors.Encode([]safetensors.Tensor{safetensors.Bytes("text", text)},
		map[string]string{"format": "ergoflow-state-3", "run": run, "step": fmt.Sprint(step)})
	if err != nil {
		panic(err)
	}
	return encoded
}

func (f *fake) save(ctx context.Context, final bool) (saved bool) {
	data := stateOf(f.run, f.step)
	header := announce(f.id, data, f.step)
	header.Run, header.Generation, header.Final = f.run, f.made, final
	_, err := upload(ctx, f.client, header, data)
	if err != nil && ctx.Err() == nil && status.Code(err) != codes.Unavailable { // then it has gone
		f.t.Errorf("%s: save step %d: %v", f.id, f.step, err)
	}
	return err == nil
}

// secret is that of all workers here.
const secret = 17

// announce is the header of a checkpoint of the plan's run.
func announce(worker string, data []byte, step int64) *wire.CheckpointHeader {
	sum := sha256.Sum256(data)
	return &wire.CheckpointHeader{Run: plan.Run, Step: step, Loss: 1, Size: int64(len(data)), Sha256: sum[:], Worker: worker, Secret: secret}
}

func upload(ctx context.Context, client wire.ControlClient, header *wire.CheckpointHeader, data []byte) (string, error) {
	stream, err := client.SaveCheckpoint(ctx)
	if err != nil {
		return "", err
	}
	err = stream.Send(&wire.CheckpointPart{Part: &wire.CheckpointPart_Header{Header: header}})
	for len(data) > 0 && err == nil {
		n := min(len(data), partSize)
		err = stream.Send(&wire.CheckpointPart{Part: &wire.CheckpointPart_Data{Data: data[:n]}})
		data = data[n:]
	}
	reply, err := stream.CloseAndRecv()
	return reply.GetId(), err
}

func (f *fake) load(ctx context.Context, step int64) {
	header, data, err := download(ctx, f.client, &wire.LoadRequest{Run: f.run, Step: step})
	if err != nil || header.Step != step || !bytes.Equal(data, stateOf(f.run, step)) {
		f.t.Errorf("%s: load step %d: %v, %v", f.id, step, header, err)
	}
}

func download(ctx context.Context, client wire.ControlClient, r *wire.LoadRequest) (*wire.CheckpointHeader, []byte, error) {
	stream, err := client.LoadCheckpoint(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, nil, err
	}
	var data []byte
	for int64(len(data)) < first.GetHeader().GetSize() {
		part, err := stream.Recv()
		if err != nil {
			return nil, nil, err
		}
		data = append(data, part.GetData()...)
	}
	if _, err := stream.Recv(); err == nil { // to its end
		return nil, nil, errors.New("more than the header says")
	}
	return first.GetHeader(), data, nil
}
