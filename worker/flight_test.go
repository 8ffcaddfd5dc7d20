package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/model/training/trainer"
	"github.com/ergoflow/ergoflow/worker/protocol"
)

// A worker that trains answers an order to dump with its place in the generation, its steps, and
// what it does now.
func TestFlightOfARank(t *testing.T) {
	h := startHarness(t)
	h.worker()
	h.worker()
	h.submit("training.steps=1000000")
	h.until("two train", func(st coordinator.Status) bool { return st.WorldSize == 2 && st.Step > 20 })
	stream, err := h.control.Flights(t.Context(), &wire.FlightsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var encoded bytes.Buffer
	workers := 0
	check := func() {
		if encoded.Len() == 0 {
			return
		}
		d, err := flight.Read(&encoded)
		if err != nil {
			t.Fatal(err)
		}
		encoded.Reset()
		if d.Header.Process.Role != flight.Worker {
			return
		}
		workers++
		kinds := make(map[flight.Kind]int)
		for _, e := range d.Records {
			kinds[e.Kind]++
			if e.Kind == flight.Assigned && len(strings.Fields(e.Members)) > 2 {
				t.Errorf("assigned: %+v", e)
			}
			if strings.Contains(e.Text, "training.steps") || strings.Contains(e.Text, "burn_in") {
				t.Errorf("a record has the configuration: %q", e.Text)
			}
		}
		for _, kind := range []flight.Kind{flight.Began, flight.Joined, flight.Ordered, flight.Assigned, flight.Stepped, flight.Link, flight.Doing} {
			if kinds[kind] == 0 {
				t.Errorf("a worker's dump has no record %q: %v", kind, kinds)
			}
		}
		if d.Header.Run == "" {
			t.Error("the dump names no run")
		}
	}
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if part.GetHeader() != nil {
			check()
		}
		encoded.Write(part.GetData())
	}
	check()
	if workers != 2 {
		t.Errorf("dumps of %d workers", workers)
	}
}

// keeper takes dumps, or refuses them while away is set.
type keeper struct {
	wire.UnimplementedControlServer
	mu   sync.Mutex
	away bool
	got  [][]byte
}

func (k *keeper) SaveFlight(stream wire.Control_SaveFlightServer) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.away {
		return status.Error(codes.Unavailable, "away")
	}
	var encoded []byte
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			k.got = append(k.got, encoded)
			return stream.SendAndClose(&wire.SaveFlightReply{})
		}
		if err != nil {
			return err
		}
		encoded = append(encoded, part.GetData()...)
	}
}

// A dump that the coordinator does not take stays in a file, which the log names, and is sent in
// a later session.
func TestDumpsWait(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{away: true}
	server := grpc.NewServer()
	wire.RegisterControlServer(server, k)
	var group sync.WaitGroup
	group.Go(func() { _ = server.Serve(listener) })
	defer group.Wait()
	defer server.Stop()

	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	w := &worker{id: "w", meter: newMeter(), log: log, flight: flight.NewKeeper(flight.Worker, "", log), dumps: make(chan dumpOrder, 8)}
	ctx := t.Context()
	var pending []string
	pending = w.dump(ctx, dumpOrder{occasion: "without a session"}, pending)
	w.current.Store(&session{address: listener.Addr().String()})
	pending = w.dump(ctx, dumpOrder{occasion: "with one that does not take it", stacks: true}, pending)
	if len(pending) != 2 || !strings.Contains(said.String(), pending[0]) || !strings.Contains(said.String(), pending[1]) {
		t.Fatalf("%v wait; the log says\n%s", pending, said.String())
	}
	if pending = w.sendPending(ctx, pending); len(pending) != 2 {
		t.Fatalf("%v wait", pending)
	}
	first, err := os.ReadFile(pending[0])
	if err != nil {
		t.Fatal(err)
	}
	k.mu.Lock()
	k.away = false
	k.mu.Unlock()
	if pending = w.sendPending(ctx, pending); len(pending) != 0 {
		t.Errorf("%v still wait", pending)
	}
	w.flight.Close()
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != 0 {
		t.Errorf("%v are left in the temporary directory, %v", left, err)
	}
	if len(k.got) != 2 || !bytes.Equal(k.got[0], first) {
		t.Errorf("%d dumps came", len(k.got))
	}
	for range 3 * maxPending { // no more wait than that
		w.current.Store(nil)
		pending = w.dump(ctx, dumpOrder{occasion: "x"}, pending)
	}
	if len(pending) != maxPending {
		t.Errorf("%d wait", len(pending))
	}
}

// Orders never wait for the one who makes dumps.
func TestOrdersDoNotWait(t *testing.T) {
	w := &worker{dumps: make(chan dumpOrder, 8)}
	for range 100 {
		w.orderDump(dumpOrder{occasion: "x"})
	}
	if len(w.dumps) != 8 {
		t.Errorf("%d orders", len(w.dumps))
	}
}

// The keeper of dumps ends with its context.
func TestKeepFlightEnds(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	w := &worker{id: "w", meter: newMeter(), log: log, flight: flight.NewKeeper(flight.Worker, t.TempDir(), log), dumps: make(chan dumpOrder, 8)}
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan os.Signal, 1)
	ended := make(chan struct{})
	go func() { w.keepFlight(ctx, asked); close(ended) }()
	asked <- os.Interrupt
	store, err := w.flight.Store()
	if err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; <-time.After(5 * time.Millisecond) { // the file of another goroutine
		if files, _ := store.Files(10); len(files) == 1 {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("no dump is made")
		}
	}
	cancel()
	<-ended
}

// Records of a ring name the other rank, its worker and the chunk.
func TestRingRecords(t *testing.T) {
	members := []ergoflow.WorkerID{"a", "b", "c"}
	chunk := allreduce.Chunk{Step: 812, Bucket: 1, Segment: 2, Number: 7}
	records := ringRecords(allreduce.Progress{Generation: 3, Rank: 0,
		Waits: &allreduce.Wait{From: 2, Chunk: chunk, Since: time.Now().Add(-time.Minute)},
		Links: []allreduce.LinkProgress{{Rank: 1, Received: &chunk}, {Rank: 2, Quiet: time.Second, Repeated: 4, Unreachable: true}},
	}, members)
	if len(records) != 3 {
		t.Fatalf("%+v", records)
	}
	if e := records[0]; e.Kind != flight.Waits || e.Worker != "c" || e.Rank != 2 || e.Step != 812 || e.Chunk != 7 || e.Generation != 3 || e.Seconds < 60 {
		t.Errorf("waits: %+v", e)
	}
	if e := records[1]; e.Kind != flight.Link || e.Worker != "b" || !strings.Contains(e.Text, "sent nothing, received chunk 7 of segment 2, bucket 1, step 812") {
		t.Errorf("link: %+v", e)
	}
	if e := records[2]; e.Worker != "c" || e.Seconds != 1 || e.Value != 4 || !strings.Contains(e.Text, "no way to it") {
		t.Errorf("link: %+v", e)
	}
}

// What package explain looks for in the texts of the protocol and of the trainer is in them.
func TestTextsThatExplainKnows(t *testing.T) {
	for said, err := range map[string]error{
		flight.SaysLeft: protocol.ErrLeft, flight.SaysTransferred: protocol.ErrTransferred,
		flight.SaysSilentCoordinator: protocol.ErrSilent, flight.SaysDiverged: trainer.ErrDiverged,
	} {
		if !strings.Contains(err.Error(), said) {
			t.Errorf("%q is not in %q", said, err)
		}
	}
}
