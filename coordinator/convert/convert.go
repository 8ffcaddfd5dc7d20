// Package convert is where protobuf types end: the machine has its own.
package convert

import (
	"crypto/rand"
	"math"
	"strings"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// maxText bounds sentences from workers that are kept and passed on.
const maxText = 2048

// maxHash is more than any hash has, in bytes.
const maxHash = 64

// Event converts a worker's message; nil means that it says nothing known.
func Event(s machine.Session, m *wire.WorkerMessage) machine.Event {
	switch b := m.GetBody().(type) {
	case *wire.WorkerMessage_Hello:
		h := b.Hello
		return machine.Hello{Session: s, Worker: machine.Worker{ID: ergoflow.WorkerID(h.GetId()), Version: h.GetVersion(),
			DataAddress: h.GetDataAddress(), Device: Clip(h.GetDevice()), PID: int(h.GetPid()), Secret: h.GetSecret()},
			Run: h.GetRun(), HasState: h.GetHasState(), State: mark(h.GetMade(), h.GetStep()), Newest: ergoflow.Generation(h.GetNewest())}
	case *wire.WorkerMessage_Heartbeat:
		h := b.Heartbeat
		return machine.Heartbeat{Session: s, Doing: Clip(h.GetDoing()), Number: h.GetNumber(), Run: h.GetRun(), State: mark(h.GetMade(), h.GetStep())}
	case *wire.WorkerMessage_Prepared:
		return machine.Prepared{Session: s, Run: b.Prepared.GetRun(), Number: b.Prepared.GetNumber()}
	case *wire.WorkerMessage_Report:
		r := b.Report
		hash := r.GetParameterHash()
		return machine.Report{Session: s, Generation: ergoflow.Generation(r.GetGeneration()), HasState: r.GetHasState(),
			State: mark(r.GetMade(), r.GetStep()), Hash: string(hash[:min(len(hash), maxHash)])}
	case *wire.WorkerMessage_Ready:
		return machine.Ready{Session: s, Generation: ergoflow.Generation(b.Ready.GetGeneration())}
	case *wire.WorkerMessage_Progress:
		p, t := b.Progress, b.Progress.GetTiming()
		return machine.Progress{Session: s, Generation: ergoflow.Generation(p.GetGeneration()), Step: ergoflow.Step(p.GetStep()),
			Loss: p.GetLoss(), Samples: p.GetSamples(), Timing: machine.Timing{Data: finite(t.GetData()), Gradient: finite(t.GetGradient()),
				Copy: finite(t.GetCopy()), Ring: finite(t.GetRing()), Update: finite(t.GetUpdate()), Other: finite(t.GetOther())}}
	case *wire.WorkerMessage_Complaint:
		c := b.Complaint
		return machine.Complaint{Session: s, Generation: ergoflow.Generation(c.GetGeneration()), Step: ergoflow.Step(c.GetStep()),
			Peer: ergoflow.WorkerID(Clip(c.GetPeer())), Reason: Clip(c.GetReason())}
	case *wire.WorkerMessage_Drain:
		return machine.Drain{Session: s}
	case *wire.WorkerMessage_Failed:
		return machine.Failed{Session: s, Run: b.Failed.GetRun(), Reason: Clip(b.Failed.GetReason())}
	case *wire.WorkerMessage_Refusal:
		return machine.Refusal{Session: s, From: Clip(b.Refusal.GetFrom()), Reason: Clip(b.Refusal.GetReason())}
	}
	return nil
}

func mark(made uint64, step int64) ergoflow.Mark {
	return ergoflow.Mark{Generation: ergoflow.Generation(made), Step: ergoflow.Step(step)}
}

// Clip bounds a sentence from outside, at the end of a character: protobuf sends no
// others.
func Clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxText)], "") }

// finite keeps what JSON cannot write out of the status.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// tokenBytes is what the ring takes for a token.
const tokenBytes = 16

// Messages converts what the machine tells workers, and adds what it does not
// know of.
type Messages struct {
	NATS  string // URL of the job queue
	Store string // directory of the shards

	assigned ergoflow.Generation // whose members are,
	members  []*wire.Member      // as messages; read only
	token    []byte              // and they alone know it
}

// Of converts a message.
func (c *Messages) Of(m machine.Message) *wire.CoordinatorMessage {
	switch m := m.(type) {
	case machine.Welcome:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Welcome{Welcome: &wire.Welcome{
			PingInterval: m.PingInterval.Seconds(), Patience: m.Patience.Seconds(), Lease: m.Lease.Seconds()}}}
	case machine.Refuse:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Refuse{Refuse: &wire.Refuse{Reason: m.Reason}}}
	case machine.Ping:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Ping{Ping: &wire.Ping{Heard: m.Heard}}}
	case machine.Generate:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Generate{Generate: &wire.Generate{
			Plan: wire.PlanOf(m.Plan), NatsUrl: c.NATS, Store: c.Store}}}
	case machine.Prepare:
		order := &wire.Prepare{Number: m.Number, Plan: wire.PlanOf(m.Plan), Store: c.Store}
		if m.Follow != (machine.Member{}) {
			order.Follow = memberToWire(m.Follow)
		}
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Prepare{Prepare: order}}
	case machine.Form:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Form{Form: &wire.Form{Generation: uint64(m.Generation), Reason: m.Reason}}}
	case machine.Assign:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Assign{Assign: c.assign(m)}}
	case machine.Go:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Go{Go: &wire.Go{Generation: uint64(m.Generation)}}}
	case machine.Abort:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Abort{Abort: &wire.Abort{Generation: uint64(m.Generation), Reason: m.Reason}}}
	case machine.Finish:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Finish{Finish: &wire.Finish{Run: m.Run}}}
	case machine.Save:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Save{Save: &wire.Save{Generation: uint64(m.Generation)}}}
	case machine.Leave:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Leave{Leave: &wire.Leave{Reason: m.Reason}}}
	}
	return nil
}

// assign shares the list of members between the messages to all of them: of a
// thousand, that is a thousand instead of a million.
func (c *Messages) assign(m machine.Assign) *wire.Assign {
	if c.assigned != m.Generation {
		c.assigned, c.members, c.token = m.Generation, nil, make([]byte, tokenBytes)
		rand.Read(c.token) // never fails
		for _, member := range m.Members {
			c.members = append(c.members, memberToWire(member))
		}
	}
	a := &wire.Assign{Generation: uint64(m.Generation), Rank: uint32(m.Rank), Saves: m.Saves,
		Source:  &wire.Source{Kind: wire.Source_Kind(m.Source.Kind), Step: int64(m.Source.State.Step), Made: uint64(m.Source.State.Generation)},
		Members: c.members, Token: c.token}
	for _, shard := range m.Shards {
		a.Shards = append(a.Shards, uint32(shard))
	}
	if m.Source.Kind == machine.Peer {
		a.Source.Peer = memberToWire(m.Source.Peer)
	}
	return a
}

func memberToWire(m machine.Member) *wire.Member {
	return &wire.Member{Id: string(m.ID), DataAddress: m.DataAddress}
}

// Plan converts a plan, as it is: the machine refuses what is out of range.
func Plan(p *wire.Plan) ergoflow.Plan {
	return ergoflow.Plan{Run: p.GetRun(), Experiment: p.GetExperiment(), Dataset: p.GetDataset(), Shards: int(p.GetShards()), Groups: int(p.GetGroups()),
		Steps: ergoflow.Step(p.GetSteps()), CheckpointEvery: ergoflow.Step(p.GetCheckpointEvery()), Config: p.GetConfig()}
}
