package coordinator

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/coordinator/wire/wiretest"
)

// FuzzSession feeds a session's bytes, a sequence of length-prefixed messages, to
// a machine with a worker that trains: as another worker's, and as its own. A worker that
// is no member cannot end the other's generation. The machine's answers can be encoded,
// and the status written, in any case.
func FuzzSession(f *testing.F) {
	seed := func(messages ...*wire.WorkerMessage) { f.Add(wiretest.Join(f, messages...)) }
	hello := &wire.WorkerMessage{Body: &wire.WorkerMessage_Hello{Hello: &wire.Hello{Id: "m", Version: "v1", DataAddress: "m:1", Device: "go", Pid: 2}}}
	seed(hello,
		&wire.WorkerMessage{Body: &wire.WorkerMessage_Heartbeat{Heartbeat: &wire.Heartbeat{Doing: "idle"}}},
		&wire.WorkerMessage{Body: &wire.WorkerMessage_Progress{Progress: &wire.Progress{Generation: 1, Step: 5, Loss: 1, Samples: 3, Timing: &wire.Timing{Data: 1}}}},
		&wire.WorkerMessage{Body: &wire.WorkerMessage_Complaint{Complaint: &wire.Complaint{Generation: 1, Step: 2, Peer: "a", Reason: "r"}}})
	seed(hello,
		&wire.WorkerMessage{Body: &wire.WorkerMessage_Report{Report: &wire.Report{Generation: 1, HasState: true, Step: 9, ParameterHash: []byte{1}}}},
		&wire.WorkerMessage{Body: &wire.WorkerMessage_Ready{Ready: &wire.Ready{Generation: 7}}},
		&wire.WorkerMessage{Body: &wire.WorkerMessage_Failed{Failed: &wire.Failed{Run: "r", Reason: "r"}}},
		&wire.WorkerMessage{Body: &wire.WorkerMessage_Drain{Drain: &wire.Drain{}}})
	seed(hello, hello, &wire.WorkerMessage{})
	seed(&wire.WorkerMessage{Body: &wire.WorkerMessage_Hello{Hello: &wire.Hello{Id: "m", Version: "v1", DataAddress: "a:1"}}}) // the member's, silent for a second
	seed(&wire.WorkerMessage{Body: &wire.WorkerMessage_Complaint{Complaint: &wire.Complaint{Generation: 1, Step: 2, Reason: "x" + strings.Repeat("é", 1200)}}})
	f.Fuzz(func(t *testing.T, data []byte) {
		member, _ := training(t)
		m, generation := training(t)
		now := time.Unix(1_000_001, 0)
		var messages convert.Messages
		tell := func(m *machine.Machine, e machine.Event) {
			effects, _ := m.Step(now, e)
			for _, effect := range effects {
				if send, ok := effect.(machine.Send); ok {
					if _, err := proto.Marshal(messages.ToWorker(send.Message)); err != nil {
						t.Fatalf("%T cannot be sent: %v", send.Message, err)
					}
				}
			}
			if _, err := json.Marshal(m.Status()); err != nil {
				t.Fatal(err)
			}
		}
		for {
			said, err := wiretest.Next[wire.WorkerMessage](&data)
			if err != nil {
				break
			}
			if event := heard(1, said); event != nil {
				tell(member, event)
			}
			// The prepared would be admitted, which is a generation of its own.
			if event := heard(2, said); event != nil && said.GetPrepared() == nil {
				tell(m, event)
			}
		}
		s := m.Status()
		if s.Generation != generation || s.WorldSize != 1 || s.State != machine.StateTraining || s.Failure != "" {
			t.Fatalf("generation %d of 1, training, became %d of %d, %s", generation, s.Generation, s.WorldSize, s.State)
		}
	})
}

// heard is a worker's message as an event; nil: it has no known body.
func heard(s machine.Session, m *wire.WorkerMessage) machine.Event {
	switch m := convert.FromWorker(m).(type) {
	case nil:
		return nil
	case message.Hello:
		return machine.Opened{Session: s, Hello: m, Host: fmt.Sprint("host-", s)}
	default:
		return machine.Received{Session: s, Message: m}
	}
}

// training returns a machine in whose generation worker a, session 1, trains.
func training(t *testing.T) (*machine.Machine, ergoflow.Generation) {
	m := machine.New(machine.Config{}, machine.Ledger{})
	now := time.Unix(1_000_000, 0)
	p := ergoflow.Plan{Run: "r", Experiment: "e", Dataset: "d", Shards: 2, Steps: 100, CheckpointEvery: 10}
	for _, e := range []machine.Event{
		machine.Start{},
		machine.Submit{Plan: p, Until: machine.StageTrain},
		machine.Scanned{Run: "r", Present: []int{0, 1, 2}},
		machine.Opened{Session: 1, Host: "host-1", Hello: message.Hello{Worker: message.Worker{ID: "a", DataAddress: "a:1"}}},
		machine.Received{Session: 1, Message: message.Prepared{Run: "r", Number: 1}},
		machine.Received{Session: 1, Message: message.Report{Generation: 1}},
		machine.Received{Session: 1, Message: message.Ready{Generation: 1}},
		machine.Received{Session: 1, Message: message.Progress{Generation: 1, Step: 1, Loss: 1}},
	} {
		m.Step(now, e)
	}
	s := m.Status()
	if s.State != machine.StateTraining {
		t.Fatalf("the machine does not train: %+v", s)
	}
	return m, s.Generation
}

// parts is an upload that has arrived.
type parts struct{ rest []byte }

func (p *parts) Recv() (*wire.CheckpointPart, error) {
	return wiretest.Next[wire.CheckpointPart](&p.rest)
}

// FuzzUpload: the store has the announced checkpoint, or nothing of it.
func FuzzUpload(f *testing.F) {
	saved, err := checkpoint.Open(filepath.Join(f.TempDir(), "checkpoints.db"), false)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { saved.Close() })
	header := func(h *wire.CheckpointHeader) *wire.CheckpointPart {
		return &wire.CheckpointPart{Part: &wire.CheckpointPart_Header{Header: h}}
	}
	data := func(b string) *wire.CheckpointPart {
		return &wire.CheckpointPart{Part: &wire.CheckpointPart_Data{Data: []byte(b)}}
	}
	seed := func(parts ...*wire.CheckpointPart) { f.Add(wiretest.Join(f, parts...)) }
	sum := sha256.Sum256([]byte("state"))
	whole := &wire.CheckpointHeader{Run: "r", Generation: 2, Step: 3, Loss: 1, Size: 5, Sha256: sum[:]}
	seed(header(whole), data("sta"), data("te"))
	seed(header(whole), data("sta"), header(whole), data("te"))
	seed(header(&wire.CheckpointHeader{Run: "r", Size: 1 << 62}), data("state"))
	seed(header(&wire.CheckpointHeader{Run: strings.Repeat("r", 70_000), Step: 3, Size: 5, Sha256: sum[:]}), data("state"))
	f.Fuzz(func(t *testing.T, b []byte) {
		stream := &parts{rest: b}
		first, err := stream.Recv()
		h := first.GetHeader()
		if err != nil || h == nil {
			return
		}
		data, err := wire.ReadCheckpoint(h, stream.Recv)
		if err != nil {
			return
		}
		info, err := saved.Save(uploaded(h), data)
		if err != nil {
			return
		}
		read, state, err := saved.Read(info.ID)
		if err != nil {
			t.Fatalf("stored, and cannot be read: %v", err)
		}
		if sum := sha256.Sum256(state); int64(len(state)) != h.Size || len(h.Sha256) > 0 && !bytes.Equal(sum[:], h.Sha256) || read.Mark() != info.Mark() {
			t.Fatalf("%d bytes at %s, announced were %d at step %d", len(state), read.Mark(), h.Size, h.Step)
		}
		if _, err := saved.Prune(1, 1); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzPlan: an accepted plan is within bounds and survives conversion.
func FuzzPlan(f *testing.F) {
	raw, err := proto.Marshal(plan)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add(binary.AppendUvarint([]byte{0x20}, 1<<40)) // very many shards
	f.Fuzz(func(t *testing.T, data []byte) {
		var p wire.Plan
		if proto.Unmarshal(data, &p) != nil {
			return
		}
		plan := convert.Plan(&p)
		if plan.Validate() != nil {
			return
		}
		back := convert.Plan(convert.PlanToWire(plan))
		if err := back.Validate(); err != nil || back.Run != plan.Run || back.Shards != plan.Shards || back.Steps != plan.Steps {
			t.Fatalf("%+v became %+v, %v", plan, back, err)
		}
	})
}
