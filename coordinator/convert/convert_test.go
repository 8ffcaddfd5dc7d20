package convert

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

var (
	state = ergoflow.Mark{Generation: 3, Step: 4}
	plan  = ergoflow.Plan{Run: "r", Experiment: "e", Dataset: "d", Shards: 4, Groups: 2, Steps: 9, CheckpointEvery: 3, Config: []byte("{}")}
)

// A message that a worker sends arrives as it is.
func TestFromWorkerKeepsAllFields(t *testing.T) {
	for _, m := range []message.FromWorker{
		message.Hello{Worker: message.Worker{ID: "w", Release: ergoflow.Release{Version: "v", Protocol: 3, OldestProtocol: 2, Numerics: 4}, DataAddress: "a:1", Device: "go", PID: 7, Secret: 8},
			Run: "r", HasState: true, State: state, Newest: 5},
		message.Heartbeat{Doing: "idle", Number: 1, Run: "r", State: state},
		message.Prepared{Run: "r", Number: 2},
		message.Report{Generation: 1, HasState: true, State: state, Hash: "\xff\x00", Links: []message.Link{{Peer: "b", Latency: 0.125, Rate: 1024}, {Peer: "c", Latency: -1, Rate: 2}}, SumBytes: 7},
		message.Ready{Generation: 1},
		message.Progress{Generation: 1, Step: 2, Loss: 0.5, Samples: 6, Timing: message.Timing{Data: 1, Gradient: 2, Copy: 3, Ring: 4, Update: 5, Other: 6}},
		message.Complaint{Generation: 1, Step: 2, Peer: "b", Reason: "connection refused", Silent: []ergoflow.WorkerID{"b", "c"}},
		message.LinkChecked{Peer: "b", Failure: "no route"},
		message.Drain{},
		message.Failed{Run: "r", Reason: "no device"},
		message.Refusal{From: "c:1", Reason: "no token"},
	} {
		complete(t, m)
		sent := new(wire.WorkerMessage)
		through(t, ToCoordinator(m), sent)
		if got := FromWorker(sent); !reflect.DeepEqual(got, m) {
			t.Errorf("%#v became %#v", m, got)
		}
	}
}

// So does a message of the coordinator, with what is filled in.
func TestFromCoordinatorKeepsAllFields(t *testing.T) {
	member := message.Member{ID: "b", DataAddress: "b:1", Identity: "ergoflow://lab/worker/b"}
	messages := Messages{NATS: "nats://c:2", NATSDomain: "hub", Store: "/shards", AcceptPlaintext: true, Term: 7}
	for _, m := range []message.FromCoordinator{
		message.Welcome{PingInterval: 250 * time.Millisecond, Patience: 10 * time.Second, Lease: 4 * time.Second, AcceptPlaintext: true, Term: 7, Protocol: 2},
		message.Refuse{Reason: "old", Term: 7},
		message.Ping{Heard: 1, Patience: 7 * time.Second},
		message.Generate{Plan: plan, NATS: messages.NATS, NATSDomain: messages.NATSDomain, Store: messages.Store},
		message.Prepare{Number: 1, Plan: plan, Follow: member, Store: messages.Store},
		message.Form{Generation: 1, Reason: "b joins"},
		message.Assign{Generation: 1, Rank: 1, Members: []message.Member{{ID: "a", DataAddress: "a:1"}, member}, Shards: []int{0, 3},
			Source: message.Source{Kind: message.SourcePeer, State: state, Peer: member}, Saves: true, Token: make([]byte, tokenBytes)},
		message.Go{Generation: 1},
		message.Abort{Generation: 1, Reason: "lost b"},
		message.Finish{Run: "r"},
		message.Save{Generation: 1},
		message.CheckLink{Peer: member},
		message.Leave{Reason: "drained"},
		message.Dump{Number: 7, Occasion: "a stall"},
	} {
		complete(t, m)
		sent := new(wire.CoordinatorMessage)
		through(t, messages.ToWorker(m), sent)
		if a := sent.GetAssign(); a != nil {
			a.Token = make([]byte, len(a.Token)) // it is random
		}
		if got := FromCoordinator(sent); !reflect.DeepEqual(got, m) {
			t.Errorf("%#v became %#v", m, got)
		}
	}
}

// complete fails where a field of a message is zero, which would not be tested.
func complete(t *testing.T, m any) {
	t.Helper()
	for v, i := reflect.ValueOf(m), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("%T: %s is not set", m, v.Type().Field(i).Name)
		}
	}
}

func through(t *testing.T, from, to proto.Message) {
	t.Helper()
	b, err := proto.Marshal(from)
	if err == nil {
		err = proto.Unmarshal(b, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What is missing or not known is nil or zero, and never a panic.
func TestNothingComes(t *testing.T) {
	if m := FromWorker(&wire.WorkerMessage{}); m != nil {
		t.Errorf("no body became %#v", m)
	}
	if m := FromCoordinator(nil); m != nil {
		t.Errorf("nothing became %#v", m)
	}
	for _, m := range []*wire.CoordinatorMessage{
		{Body: &wire.CoordinatorMessage_Assign{}}, {Body: &wire.CoordinatorMessage_Prepare{}}, {Body: &wire.CoordinatorMessage_Generate{}},
	} {
		if got := FromCoordinator(m); got == nil || !reflect.ValueOf(got).IsZero() {
			t.Errorf("%T became %#v", m.Body, got)
		}
	}
	unknown := &wire.Assign{Source: &wire.Source{Kind: 99}}
	got := FromCoordinator(&wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Assign{Assign: unknown}})
	if s := got.String(); !strings.Contains(s, "source 99") {
		t.Errorf("a source that is not known is written %q", s)
	}
}

// What says nothing is left out, and what goes beyond the members of the largest world.
func TestLinksAreBounded(t *testing.T) {
	strange := []float32{-1, float32(math.NaN()), float32(math.Inf(1))}
	report := &wire.Report{SumBytes: -1, Latencies: []*wire.Latency{nil, {Peer: "b", Seconds: 0.5, Rate: 2}}}
	for _, s := range strange {
		report.Latencies = append(report.Latencies, &wire.Latency{Peer: "c", Seconds: s, Rate: s}, &wire.Latency{Peer: "d", Seconds: s, Rate: 3})
	}
	read := func() message.Report {
		return FromWorker(&wire.WorkerMessage{Body: &wire.WorkerMessage_Report{Report: report}}).(message.Report)
	}
	d := message.Link{Peer: "d", Latency: -1, Rate: 3}
	want := []message.Link{{}, {Peer: "b", Latency: 0.5, Rate: 2}, d, d, d}
	if got := read(); !reflect.DeepEqual(got.Links, want) || got.SumBytes != 0 {
		t.Errorf("%+v", got)
	}
	report.Latencies = slices.Repeat([]*wire.Latency{{Peer: "b"}}, 2*ergoflow.MaxWorld)
	if got := read().Links; len(got) != ergoflow.MaxWorld {
		t.Errorf("%d links", len(got))
	}
}

// Long sentences are cut between characters, and numbers that JSON cannot write are
// left out.
func TestBounds(t *testing.T) {
	long := "x" + strings.Repeat("é", maxText)
	got := FromWorker(&wire.WorkerMessage{Body: &wire.WorkerMessage_Failed{Failed: &wire.Failed{Reason: long}}}).(message.Failed)
	if len(got.Reason) != maxText-1 || !strings.HasPrefix(long, got.Reason) {
		t.Errorf("a sentence of %d bytes became one of %d: …%q", len(long), len(got.Reason), got.Reason[len(got.Reason)-4:])
	}
	progress := &wire.Progress{Timing: &wire.Timing{Data: math.NaN(), Ring: math.Inf(1), Copy: 1}}
	p := FromWorker(&wire.WorkerMessage{Body: &wire.WorkerMessage_Progress{Progress: progress}}).(message.Progress)
	if want := (message.Timing{Copy: 1}); p.Timing != want {
		t.Errorf("timing is %+v, want %+v", p.Timing, want)
	}
}
