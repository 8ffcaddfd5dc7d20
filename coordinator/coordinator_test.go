package coordinator

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/fleet"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/addresstest"
	"github.com/ergoflow/ergoflow/internal/flight"
)

// A whole run: shards made through the queue, two workers, one killed, one
// joining, to the last checkpoint.
func TestRunThroughLossAndJoin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir)
	makeShards(t, dir, 0, 3)
	a, b := connect(t, s, "a", -1), connect(t, s, "b", -1)
	s.submit(plan, wire.Stage_STAGE_TRAIN)
	s.await("generating", func(st Status) bool { return st.State == "generating" && st.Shards.Done == 2 })

	ctx, cancel := context.WithCancel(t.Context())
	queue, err := jobs.Connect(s.NATS, jobs.Access{})
	if err != nil {
		t.Fatal(err)
	}
	store := shard.NewDir(filepath.Join(dir, "shards"))
	worked := make(chan error, 1)
	go func() {
		worked <- queue.Work(ctx, plan.Run, "a", func(_ context.Context, j jobs.Job) error {
			if string(j.Dataset) != `{"family":"vn1d"}` {
				t.Errorf("job %+v", j)
			}
			return makeShard(store, j.Shard)
		})
	}()
	st := s.await("training", func(st Status) bool { return st.State == "training" && st.Step >= 3 })
	cancel()
	if err := <-worked; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	queue.Close()
	if st.WorldSize != 2 || st.Loss == nil || len(st.Workers) != 2 || len(st.Workers[0].Shards) != 2 ||
		st.Workers[0].PID != 7 || st.Workers[0].Doing != "testing" || st.Run != plan.Run {
		t.Errorf("status %+v", st)
	}

	killed := time.Now()
	b.kill()
	s.await("after the loss", func(st Status) bool {
		return st.State == "training" && st.WorldSize == 1 && len(st.Workers[0].Shards) == 4
	})
	t.Logf("from kill to the next generation: %v", time.Since(killed).Round(time.Millisecond))
	connect(t, s, "c", -1)
	s.await("after the join", func(st Status) bool { return st.State == "training" && st.WorldSize == 2 })
	st = s.await("the end", func(st Status) bool { return st.State == "done" })
	if st.Step != 30 || st.Checkpoint == nil || *st.Checkpoint != 30 {
		t.Errorf("at the end %+v", st)
	}
	header, data, err := download(t.Context(), s.client, &wire.LoadRequest{Run: plan.Run})
	if err != nil || header.Step != 30 || !bytes.Equal(data, stateAt(30)) {
		t.Errorf("final checkpoint: %v, %v", header, err)
	}
	a.kill()
	s.close()
	if _, err := ReadAddresses(dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("addresses stay: %v", err)
	}
}

// A restarted coordinator has the same addresses, continues the numbers of generations,
// and continues the run by itself: from the workers' state, or without workers from the
// checkpoint.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeShards(t, dir, 0, 1, 2, 3, 4)
	first := start(t, dir)
	first.submit(plan, wire.Stage_STAGE_TRAIN)
	a := connect(t, first, "a", -1)
	before := first.await("training", func(st Status) bool { return st.Step >= 12 && st.Checkpoint != nil })
	a.kill()
	first.close()
	if before.Gossip != first.Gossip {
		t.Errorf("the status says to join at %q, not %s", before.Gossip, first.Gossip)
	}

	second := start(t, dir)
	if second.Control != first.Control || second.Gossip != first.Gossip || second.NATS != first.NATS {
		t.Errorf("moved from %+v to %+v", first.Addresses, second.Addresses)
	}
	b := connect(t, second, "b", -1) // loads the checkpoint and checks it
	after := second.await("training again", func(st Status) bool { return st.State == "training" && st.Step > 10 })
	if after.Generation <= before.Generation {
		t.Errorf("generation %d after %d", after.Generation, before.Generation)
	}
	connect(t, second, "a", 25) // survived with more than the checkpoint
	second.await("a's state", func(st Status) bool { return st.Step >= 25 && st.WorldSize == 2 })
	second.await("the end", func(st Status) bool { return st.State == "done" })
	b.kill()
}

// The embedded job queue is where Config.Jobs says.
func TestJobsAddress(t *testing.T) {
	t.Parallel()
	address := addresstest.Free(t)
	s := startWith(t, t.TempDir(), func(c *Config) { c.Jobs = address })
	if s.NATS != "nats://"+address {
		t.Errorf("jobs at %s, not %s", s.NATS, address)
	}
}

// A coordinator that is told to end saves the state and lets the workers leave.
func TestEndSavesTheState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeShards(t, dir, 0, 1, 2, 3, 4)
	s := start(t, dir)
	s.submit(plan, wire.Stage_STAGE_TRAIN)
	a := connect(t, s, "a", -1)
	s.await("training", func(st Status) bool { return st.Step >= 3 })
	s.close()
	<-a.done
	if _, ok := a.last.Body.(*wire.CoordinatorMessage_Leave); !ok {
		t.Errorf("the last message was %v", a.last)
	}
	saved, err := checkpoint.Open(filepath.Join(dir, "checkpoints.db"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	if info, err := saved.Get(checkpoint.Latest); err != nil || info.Step < 3 {
		t.Errorf("saved %+v, %v", info, err)
	}
}

func TestSilentWorkerIsLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeShards(t, dir, 0, 1, 2, 3, 4)
	s := start(t, dir)
	s.submit(endless, wire.Stage_STAGE_TRAIN)
	connect(t, s, "a", -1)
	b := connect(t, s, "b", -1)
	s.await("training", func(st Status) bool { return st.State == "training" && st.WorldSize == 2 })
	b.mu.Lock()
	b.mute = true
	b.mu.Unlock()
	st := s.await("alone", func(st Status) bool { return len(st.Workers) == 1 && st.WorldSize == 1 })
	found := false
	for _, d := range st.Decisions {
		found = found || strings.Contains(d.Reason, "lost worker b: silent for")
	}
	if !found {
		t.Errorf("decisions %+v", st.Decisions)
	}
}

func TestRefusedSession(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	connect(t, s, "a", -1)
	s.await("a", func(st Status) bool { return len(st.Workers) == 1 })
	again := connectFrom(t, s, "a", "elsewhere:1", -1)
	<-again.done
	if r := again.last.GetRefuse(); r == nil || !strings.Contains(r.Reason, "connected already") {
		t.Errorf("the last message was %v", again.last)
	}
	// Sessions that do not begin with hello.
	for name, bodies := range map[string][]*wire.WorkerMessage{
		"no hello": {{Body: &wire.WorkerMessage_Drain{Drain: &wire.Drain{}}}},
		"empty":    {{}},
	} {
		stream, err := s.client.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range bodies {
			if err := stream.Send(m); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	if st := s.status(); len(st.Workers) != 1 {
		t.Errorf("workers %+v", st.Workers)
	}
}

// The CLI reads a running coordinator's checkpoints through a snapshot.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.submit(plan, wire.Stage_STAGE_TRAIN)
	connect(t, s, "a", -1)
	s.await("a worker is there", func(st Status) bool { return len(st.Workers) == 1 })
	id, err := upload(t.Context(), s.client, announce("a", stateAt(5), 5), stateAt(5))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := s.client.Snapshot(t.Context(), &wire.SnapshotRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	for {
		chunk, err := stream.Recv()
		if err != nil {
			break
		}
		file.Write(chunk.Data)
	}
	path := filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	copied, err := checkpoint.Open(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	if _, data, err := copied.Read(id); err != nil || !bytes.Equal(data, stateAt(5)) {
		t.Errorf("snapshot: %d bytes, %v", len(data), err)
	}
}

// The coordinator skips a checkpoint that was damaged on disk and uses an older one, also
// where it was whole when the run began.
func TestDamagedCheckpointIsSkipped(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		t.Run(map[bool]string{false: "before the scan", true: "after it"}[late], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			makeShards(t, dir, 0, 1, 2, 3, 4)
			path := filepath.Join(dir, "checkpoints.db")
			saved, err := checkpoint.Open(path, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range []int64{10, 20} {
				data := stateAt(step)
				if _, err := saved.Save(checkpoint.Info{Run: plan.Run, Step: ergoflow.Step(step), Size: int64(len(data))}, data); err != nil {
					t.Fatal(err)
				}
			}
			if err := saved.Close(); err != nil {
				t.Fatal(err)
			}
			if !late {
				damage(t, path, "state at 000020;state")
			}
			s := start(t, dir)
			s.submit(plan, wire.Stage_STAGE_TRAIN)
			st := s.await("scanned", func(st Status) bool { return st.State == "waiting" })
			want := ergoflow.Step(10)
			if late {
				want = 20
			}
			if st.Checkpoint == nil || *st.Checkpoint != want {
				t.Errorf("checkpoint %v, want %d", st.Checkpoint, want)
			}
			if late {
				damage(t, path, "state at 000020;state")
			}
			twenty := &wire.LoadRequest{Run: plan.Run, Step: 20}
			if _, _, err := download(t.Context(), s.client, twenty); status.Code(err) != codes.DataLoss {
				t.Errorf("load of the damaged one: %v", err)
			}
			st = s.await("known", func(st Status) bool { return st.Checkpoint != nil })
			if *st.Checkpoint != 10 {
				t.Errorf("checkpoint %d after the damage was met", *st.Checkpoint)
			}
			connect(t, s, "a", -1) // from step 10, which it checks
			s.await("step 20 is stored anew", func(st Status) bool { return st.Checkpoint != nil && *st.Checkpoint >= 20 })
			if _, data, err := download(t.Context(), s.client, twenty); err != nil || !bytes.Equal(data, stateAt(20)) {
				t.Errorf("load of the repaired one: %v", err)
			}
		})
	}
}

// damage flips a bit of text in the file, in place, so that processes with the file open
// see it.
func damage(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	whole, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(whole, []byte(text))
	if at < 0 {
		t.Fatalf("%q is not in %s", text, path)
	}
	if _, err := file.WriteAt([]byte{text[0] ^ 1}, int64(at)); err != nil {
		t.Fatal(err)
	}
}

func TestGossipNamesTheCoordinator(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	g, err := gossip.Join(t.Context(), gossip.Config{Name: "w", Bind: "127.0.0.1:0", Seeds: []string{s.Gossip}, Meta: gossip.Meta{Role: gossip.RoleWorker}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if control, err := g.Coordinator(t.Context(), ""); err != nil || control != s.Control {
		t.Errorf("coordinator %q, %v", control, err)
	}
	if a, err := ReadAddresses(s.dir); err != nil || a != s.Addresses || a.PID != os.Getpid() {
		t.Errorf("addresses %+v, %v", a, err)
	}
}

func TestBadStarts(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	used := taken.Addr().String()
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "coordinator.db"), bytes.Repeat([]byte("garbage!"), 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	emptied := filepath.Join(t.TempDir(), "coordinator.db")
	for _, path := range []string{file, emptied} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		config Config
		text   string
		is     error
	}{
		"second on a directory": {Config{Dir: s.dir}, "pid", ErrRunning},
		"control port in use":   {Config{Dir: t.TempDir(), Listen: used}, used, nil},
		"gossip port in use":    {Config{Dir: t.TempDir(), Gossip: used}, used, nil},
		"no directory":          {Config{}, "directory", nil},
		"directory is a file":   {Config{Dir: file}, file, nil},
		"store is a file":       {Config{Dir: t.TempDir(), Store: file}, "shard store: mkdir " + file, syscall.ENOTDIR},
		"damaged ledger":        {Config{Dir: broken}, "coordinator.db", ErrLedger},
		"empty ledger":          {Config{Dir: filepath.Dir(emptied)}, "coordinator.db: the file is damaged: it is empty", ErrLedger},
	} {
		c.config.Log = slog.New(slog.DiscardHandler)
		err := Run(t.Context(), c.config)
		if err == nil || !strings.Contains(err.Error(), c.text) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// bareLoop is a loop without services.
func bareLoop(ledger *ledger) *loop {
	log := slog.New(slog.DiscardHandler)
	runs, _ := queue.New(queue.Config{}, queue.Ledger{}) // an empty ledger is valid
	l := &loop{
		flight: flight.NewKeeper(flight.Coordinator, "", log),
		runs:   runs,
		fleet:  fleet.New(machine.Config{Release: ergoflow.ThisRelease()}, nil), messages: &convert.Messages{}, ledger: ledger,
		log: log, base: log, events: journal.New(time.Now()), refused: refusals{log: log}, work: make(chan func()), ended: make(chan struct{}), stopped: make(chan struct{}),
		sessions: map[machine.Session]*session{}, scanning: map[string]bool{}, watched: map[string]context.CancelFunc{},
	}
	l.processes = newProcesses(l, "", nil)
	return l
}

// A plan that could not be stored is not accepted.
func TestSubmitOnAFullDisk(t *testing.T) {
	ledger, err := openLedger(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ledger.close() // no write succeeds any more
	l := bareLoop(ledger)
	done := make(chan error, 1)
	go func() { done <- l.run(t.Context()) }()
	_, err = (&service{loop: l}).Submit(t.Context(), &wire.SubmitRequest{Plan: plan, Until: wire.Stage_STAGE_TRAIN, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("the answer is %v", err)
	}
	if err := <-done; err == nil {
		t.Error("the coordinator continues")
	}
}
