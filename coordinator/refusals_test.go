package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/safetensors"
)

// The coordinator refuses messages that violate the protocol, with a reason in the status.
// The generation of two workers that train meanwhile stays.
func TestRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeShards(t, dir, 0, 1, 2, 3, 4)
	// Another process may take the address of a worker that is silent for two intervals, and on
	// a busy machine 100 ms of silence are nothing.
	s := startWith(t, dir, func(c *Config) { c.timing.PingInterval, c.timing.PingTimeout = 500*time.Millisecond, 10*time.Second })
	a := connect(t, s, "a", -1)
	connect(t, s, "b", -1)
	s.submit(endless, wire.Stage_STAGE_TRAIN)
	before := s.await("both train", func(st Status) bool { return st.State == "training" && st.WorldSize == 2 && st.Step > 1 })

	hello := func(id, address string) *wire.WorkerMessage {
		return &wire.WorkerMessage{Body: &wire.WorkerMessage_Hello{Hello: &wire.Hello{
			Id: id, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol, DataAddress: address}}}
	}
	old := func(id, address string) *wire.WorkerMessage {
		return &wire.WorkerMessage{Body: &wire.WorkerMessage_Hello{Hello: &wire.Hello{Id: id, Version: "v0", DataAddress: address}}}
	}
	good := func(id string) *wire.WorkerMessage { return hello(id, id+":9") }
	beat := &wire.WorkerMessage{Body: &wire.WorkerMessage_Heartbeat{Heartbeat: &wire.Heartbeat{}}}
	for _, test := range []struct {
		name     string
		messages []*wire.WorkerMessage
		from     string // as the status shows it; empty: an address
		reason   string // part of it
	}{
		{"an old protocol", []*wire.WorkerMessage{old("old", "old:9")}, "old", "the worker is ergoflow v0"},
		{"an identity twice", []*wire.WorkerMessage{hello("a", "elsewhere:9")}, "a", "connected already"},
		{"an address twice", []*wire.WorkerMessage{hello("c", "a:1")}, "c", "address a:1"},
		{"no identity", []*wire.WorkerMessage{hello("", "d:9")}, "", "id has 0 bytes"},
		{"a huge identity", []*wire.WorkerMessage{hello(strings.Repeat("x", 1<<20), "d:9")}, strings.Repeat("x", 128), "bytes, not 1 to"},
		{"an address without a port", []*wire.WorkerMessage{hello("portless", "e")}, "portless", "not HOST:PORT"},
		{"an identity that commands terminals", []*wire.WorkerMessage{old("\x1b[31mred", "e:9")}, "\ufffd[31mred", "the worker is ergoflow v0"},
		{"no hello", []*wire.WorkerMessage{beat}, "", "comes first"},
		{"two hellos", []*wire.WorkerMessage{good("twice"), good("twice")}, "twice", "comes first"},
		{"an empty message", []*wire.WorkerMessage{good("empty"), {}}, "empty", "without a known body"},
		{"a generation that has not begun", []*wire.WorkerMessage{good("prophet"),
			{Body: &wire.WorkerMessage_Ready{Ready: &wire.Ready{Generation: 1 << 60}}}}, "prophet", "names generation"},
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

	// Bytes that are no message.
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

// flood is a worker's stream of heartbeats, as fast as they are read.
type flood struct {
	wire.Control_SessionServer
	ctx  context.Context
	read int
}

func (f *flood) Context() context.Context            { return f.ctx }
func (f *flood) Send(*wire.CoordinatorMessage) error { return nil }
func (f *flood) Recv() (m *wire.WorkerMessage, err error) {
	if f.read++; f.read == 1 {
		return &wire.WorkerMessage{Body: &wire.WorkerMessage_Hello{Hello: &wire.Hello{Id: "flood", Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol, DataAddress: "flood:9"}}}, nil
	}
	return &wire.WorkerMessage{Body: &wire.WorkerMessage_Heartbeat{Heartbeat: &wire.Heartbeat{}}}, nil
}

// A worker that sends too many messages loses its session. On the bubble's clock reading
// takes no time, so the limit does not depend on the machine.
func TestFloodIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bareLoop(nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.run(ctx) }()
		stream := &flood{ctx: t.Context()}
		if err := (&service{loop: l}).Session(stream); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("the session ended: %v", err)
		}
		if stream.read != messageBurst+1 {
			t.Errorf("%d messages were read, want %d", stream.read, messageBurst+1)
		}
		l.do(func() {
			if r := l.refused.last; len(r) != 1 || r[0].From != "flood" || !strings.Contains(r[0].Reason, "messages a second") {
				t.Errorf("refused %+v", r)
			}
			if st := l.status(""); len(st.Workers) > 0 {
				t.Errorf("workers %+v", st.Workers)
			}
		})
		cancel()
		<-done
	})
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	makeShards(t, s.dir, 0, 1, 2, 3, 4)
	if _, err := s.client.Submit(t.Context(), &wire.SubmitRequest{}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("no plan: %v", err)
	}
	for version, want := range map[string]string{"": "upgrade the command", "v0": "the command is ergoflow v0"} {
		_, err := s.client.Submit(t.Context(), &wire.SubmitRequest{Plan: plan, Until: wire.Stage_STAGE_TRAIN, Version: version})
		if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), want) {
			t.Errorf("version %q: %v", version, err)
		}
	}
	s.submit(plan, wire.Stage_STAGE_TRAIN)
	other := &wire.Plan{Run: "run2", Dataset: dataset, Shards: 4, Steps: 1, CheckpointEvery: 1, Config: plan.Config}
	if _, err := s.client.Submit(t.Context(), &wire.SubmitRequest{Plan: other, Until: wire.Stage_STAGE_TRAIN, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol}); status.Code(err) != codes.Aborted {
		t.Errorf("second run: %v", err)
	}
	for config, want := range map[string]string{
		`{`:            "configuration",
		`{"model":{}}`: "no field data",
		`{"data":"` + strings.Repeat("x", 1<<16) + `"}`: "more than",
	} {
		vain := &wire.Plan{Run: "run3", Dataset: dataset, Shards: 4, Steps: 1, CheckpointEvery: 1, Config: []byte(config)}
		_, err := s.client.Submit(t.Context(), &wire.SubmitRequest{Plan: vain, Until: wire.Stage_STAGE_TRAIN, Replace: true, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol})
		if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), want) {
			t.Errorf("a run whose jobs cannot be: %v, want %s", err, want)
		}
	}
	if _, _, err := download(t.Context(), s.client, &wire.LoadRequest{Run: plan.Run}); status.Code(err) != codes.NotFound {
		t.Errorf("load of none: %v", err)
	}
}

// An upload by a process that is no worker, or of anything but a state of the run, is
// refused, listed and has no effect: it does not count as a failure of the store.
func TestRefusedUploads(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.submit(plan, wire.Stage_STAGE_TRAIN)
	a := connect(t, s, "a", -1)
	s.await("a worker is there", func(st Status) bool { return len(st.Workers) == 1 })
	state := stateAt(5)
	other, err := safetensors.Encode(nil, map[string]string{"format": "ergoflow-shard-2", "run": plan.Run, "step": "5"})
	if err != nil {
		t.Fatal(err)
	}
	const stranger, wrong = codes.FailedPrecondition, codes.InvalidArgument
	for name, c := range map[string]struct {
		change func(h *wire.CheckpointHeader)
		data   []byte
		code   codes.Code
		reason string
	}{
		"a stranger":          {func(h *wire.CheckpointHeader) { h.Worker = "b" }, state, stranger, `"b" is not a worker`},
		"in another's name":   {func(h *wire.CheckpointHeader) { h.Secret++ }, state, stranger, `"a" is not a worker`},
		"without a secret":    {func(h *wire.CheckpointHeader) { h.Secret = 0 }, state, stranger, `"a" is not a worker`},
		"of another run":      {func(h *wire.CheckpointHeader) { h.Run = "x" }, state, stranger, "is not in progress"},
		"from the future":     {func(h *wire.CheckpointHeader) { h.Generation = 9 }, state, stranger, "generation 9 has not begun"},
		"after the end":       {func(h *wire.CheckpointHeader) { h.Step = 31 }, state, stranger, "step 31 is not one of"},
		"truncated":           {func(*wire.CheckpointHeader) {}, state[:len(state)-1], wrong, "ends after"},
		"too long":            {func(*wire.CheckpointHeader) {}, append(slices.Clone(state), 0), wrong, "more than its"},
		"of another hash":     {func(h *wire.CheckpointHeader) { h.Sha256[0]++ }, state, wrong, "announced was"},
		"huge":                {func(h *wire.CheckpointHeader) { h.Size = 1 << 50 }, state, wrong, "bytes are not"},
		"at another step":     {func(h *wire.CheckpointHeader) { h.Step = 6 }, state, wrong, `at step "5"`},
		"no state":            {nil, []byte("abcd"), wrong, "not the checkpoint"},
		"of another kind":     {nil, other, wrong, "ergoflow-shard-2"},
		"truncated and final": {func(h *wire.CheckpointHeader) { h.Final, h.Step = true, 30 }, state[:9], wrong, "ends after"},
	} {
		header := announce("a", state, 5)
		if c.change == nil {
			header = announce("a", c.data, 5)
		} else {
			c.change(header)
		}
		if _, err := upload(t.Context(), s.client, header, c.data); status.Code(err) != c.code {
			t.Errorf("%s: %v, want %v", name, err, c.code)
		}
		if !slices.ContainsFunc(s.status().Refused, func(r Refusal) bool { return strings.Contains(r.Reason, c.reason) }) {
			t.Errorf("%s: not among %+v", name, s.status().Refused)
		}
	}
	if st := s.status(); st.Checkpoint != nil || slices.ContainsFunc(st.Decisions, func(d Decision) bool { return strings.Contains(d.Reason, "not stored") }) {
		t.Errorf("they had an effect: %+v", st)
	}
	// The checkpoint of a lost worker may be the only state left.
	a.kill()
	s.await("it is gone", func(st Status) bool { return len(st.Workers) == 0 })
	if _, err := upload(t.Context(), s.client, announce("a", state, 5), state); err != nil {
		t.Errorf("of a worker that is gone: %v", err)
	}
}

// A plan that is not that of its configuration is refused: the run's name would stand
// for two trainings.
func TestForgedPlan(t *testing.T) {
	t.Parallel()
	s := startWith(t, t.TempDir(), func(c *Config) {
		c.PlanOf = func(config []byte) (ergoflow.Plan, error) {
			if !bytes.Contains(config, []byte("vn1d")) {
				return ergoflow.Plan{}, errors.New("no such family")
			}
			return convert.Plan(plan), nil
		}
	})
	for name, c := range map[string]struct {
		forge  func(*wire.Plan)
		reason string
	}{
		"another run":         {func(p *wire.Plan) { p.Run = "run2" }, "belongs to run run1, not to run2"},
		"another length":      {func(p *wire.Plan) { p.Steps++ }, "differs from the one of its configuration"},
		"another dataset":     {func(p *wire.Plan) { p.Dataset = "d" }, "differs from the one of its configuration"},
		"no configuration":    {func(p *wire.Plan) { p.Config = nil }, "no such family"},
		"other checkpointing": {func(p *wire.Plan) { p.CheckpointEvery = 1 }, "differs from the one of its configuration"},
	} {
		forged := proto.Clone(plan).(*wire.Plan)
		c.forge(forged)
		_, err := s.client.Submit(t.Context(), &wire.SubmitRequest{Plan: forged, Until: wire.Stage_STAGE_TRAIN, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol})
		if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
	st := s.status()
	if st.Run != "" || !slices.ContainsFunc(st.Refused, func(r Refusal) bool { return strings.HasPrefix(r.Reason, "a run: ") }) {
		t.Errorf("run %q, refused %+v", st.Run, st.Refused)
	}
	s.submit(plan, wire.Stage_STAGE_TRAIN)
	if st := s.status(); st.Run != plan.Run {
		t.Errorf("run %q", st.Run)
	}
}

// truncating is protobuf without the last bytes.
type truncating struct{}

func (truncating) Name() string { return "proto" }

func (truncating) Marshal(v any) (mem.BufferSlice, error) {
	b, err := proto.Marshal(v.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(b[:len(b)-3])}, err
}

func (truncating) Unmarshal(mem.BufferSlice, any) error { return nil }

// Equal refusals are one entry with a count, and few lines in the log.
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
