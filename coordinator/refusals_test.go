package coordinator

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// What is against the protocol is refused, with a reason on the status, and two
// workers that train meanwhile do not notice: their generation stays.
func TestRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeShards(t, dir, 0, 1, 2, 3, 4)
	s := start(t, dir)
	a := connect(t, s, "a", -1)
	connect(t, s, "b", -1)
	s.submit(endless, wire.Stage_STAGE_TRAIN)
	before := s.await("both train", func(st Status) bool { return st.State == "training" && st.WorldSize == 2 && st.Step > 1 })

	hello := func(id, version, address string) *wire.WorkerMessage {
		return &wire.WorkerMessage{Body: &wire.WorkerMessage_Hello{Hello: &wire.Hello{Id: id, Version: version, DataAddress: address}}}
	}
	good := func(id string) *wire.WorkerMessage { return hello(id, ergoflow.Build(), id+":9") }
	beat := &wire.WorkerMessage{Body: &wire.WorkerMessage_Heartbeat{Heartbeat: &wire.Heartbeat{}}}
	flood := []*wire.WorkerMessage{good("flood")}
	for range 4 * messageBurst {
		flood = append(flood, beat)
	}
	for _, test := range []struct {
		name     string
		messages []*wire.WorkerMessage
		from     string // as the status shows it; empty: an address
		reason   string // part of it
	}{
		{"another build", []*wire.WorkerMessage{hello("old", "v0", "old:9")}, "old", `version "v0"`},
		{"an identity twice", []*wire.WorkerMessage{hello("a", ergoflow.Build(), "elsewhere:9")}, "a", "connected already"},
		{"an address twice", []*wire.WorkerMessage{hello("c", ergoflow.Build(), "a:1")}, "c", "served at a:1"},
		{"no identity", []*wire.WorkerMessage{hello("", ergoflow.Build(), "d:9")}, "", "id has 0 bytes"},
		{"a huge identity", []*wire.WorkerMessage{hello(strings.Repeat("x", 1<<20), ergoflow.Build(), "d:9")}, strings.Repeat("x", 128), "bytes, not 1 to"},
		{"no hello", []*wire.WorkerMessage{beat}, "", "comes first"},
		{"two hellos", []*wire.WorkerMessage{good("twice"), good("twice")}, "twice", "comes first"},
		{"an empty message", []*wire.WorkerMessage{good("empty"), {}}, "empty", "without a body"},
		{"a generation that has not begun", []*wire.WorkerMessage{good("prophet"),
			{Body: &wire.WorkerMessage_Ready{Ready: &wire.Ready{Generation: 1 << 60}}}}, "prophet", "speaks of generation"},
		{"a flood", flood, "flood", "messages a second"},
		{"an oversized message", []*wire.WorkerMessage{good("huge"),
			{Body: &wire.WorkerMessage_Heartbeat{Heartbeat: &wire.Heartbeat{Doing: strings.Repeat("x", maxMessage)}}}}, "huge", "larger than max"},
	} {
		conn, err := grpc.NewClient(s.Control, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := wire.NewControlClient(conn).Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range test.messages {
			if stream.Send(m) != nil {
				break // it is over
			}
		}
		s.await(test.name, func(st Status) bool {
			for _, r := range st.Refused {
				if (test.from == "" && strings.HasPrefix(r.From, "127.0.0.1:") || test.from == "" && r.From == "" || r.From == test.from) &&
					strings.Contains(r.Reason, test.reason) {
					return true
				}
			}
			return false
		})
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}

	// A message that is none at all.
	conn, err := grpc.NewClient(s.Control, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cut, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
		wire.Control_Session_FullMethodName, grpc.ForceCodecV2(truncating{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := cut.SendMsg(good("cut off")); err != nil {
		t.Fatal(err)
	}
	s.await("a truncated message", func(st Status) bool {
		return slices.ContainsFunc(st.Refused, func(r Refusal) bool { return strings.Contains(r.Reason, "unmarshal") })
	})

	data := stateAt(1)
	another, future, before0, stranger := announce("a", data, 1), announce("a", data, 1), announce("a", data, -1), announce("z", data, 1)
	another.Run, future.Generation = "another", 1<<60
	for _, header := range []*wire.CheckpointHeader{nil, another, future, before0, stranger} {
		if _, err := upload(t.Context(), s.client, header, data); err == nil {
			t.Errorf("a checkpoint with header %v is stored", header)
		}
	}
	s.await("refused checkpoints", func(st Status) bool {
		n := 0
		for _, r := range st.Refused {
			if strings.Contains(r.Reason, "a checkpoint: ") {
				n++
			}
		}
		return n == 5
	})

	if after := s.status(); after.State != "training" || after.Generation != before.Generation || after.WorldSize != 2 {
		t.Errorf("generation %d of %d became %d of %d: %s", before.Generation, before.WorldSize, after.Generation, after.WorldSize, after.Reason)
	}
	a.kill()
}

// truncating is protobuf without the last bytes.
type truncating struct{}

func (truncating) Name() string { return "proto" }

func (truncating) Marshal(v any) (mem.BufferSlice, error) {
	b, err := proto.Marshal(v.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(b[:len(b)-3])}, err
}

func (truncating) Unmarshal(mem.BufferSlice, any) error { return nil }

// The same from the same is one entry that counts, and few lines in the log.
func TestRefusalsAreCounted(t *testing.T) {
	var log bytes.Buffer
	r := refusals{log: slog.New(slog.NewTextHandler(&log, nil))}
	for i := range 1000 {
		r.add("a", "b")
		r.add(fmt.Sprint("other", i%5), "c")
	}
	if len(r.last) != 6 || r.last[4].Count != 1000 && r.last[5].Count != 1000 {
		t.Errorf("%+v", r.last)
	}
	if n := strings.Count(log.String(), "from=a "); n != 4 {
		t.Errorf("%d lines for 1,000 refusals, want 4", n)
	}
	for i := range 100 {
		r.add(fmt.Sprint(i), "d")
	}
	if len(r.last) != keptRefusals || r.last[keptRefusals-1].From != "99" {
		t.Errorf("%d entries", len(r.last))
	}
}
