package convert

import (
	"math"
	"strings"
	"unicode"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

const (
	maxText = 2048 // bytes of a sentence that is kept and passed on
	maxHash = 64   // bytes, more than any hash has
)

// FromWorker converts a message of a worker; nil: its body is unknown or missing.
func FromWorker(m *wire.WorkerMessage) message.FromWorker {
	switch b := m.GetBody().(type) {
	case *wire.WorkerMessage_Hello:
		h := b.Hello
		return message.Hello{
			Worker: message.Worker{ID: ergoflow.WorkerID(Clip(h.GetId())), Release: ergoflow.Release{Version: Clip(h.GetVersion()), Protocol: h.GetProtocol(),
				OldestProtocol: h.GetOldestProtocol(), Numerics: h.GetNumerics()}, DataAddress: Clip(h.GetDataAddress()),
				Device: Clip(h.GetDevice()), PID: int(h.GetPid()), Secret: h.GetSecret()},
			Run: h.GetRun(), HasState: h.GetHasState(), State: mark(h.GetMade(), h.GetStep()), Newest: ergoflow.Generation(h.GetNewest()),
		}
	case *wire.WorkerMessage_Heartbeat:
		h := b.Heartbeat
		return message.Heartbeat{Doing: Clip(h.GetDoing()), Number: h.GetNumber(), Run: h.GetRun(), State: mark(h.GetMade(), h.GetStep())}
	case *wire.WorkerMessage_Prepared:
		return message.Prepared{Run: b.Prepared.GetRun(), Number: b.Prepared.GetNumber()}
	case *wire.WorkerMessage_Report:
		r := b.Report
		hash := r.GetParameterHash()
		return message.Report{Generation: ergoflow.Generation(r.GetGeneration()), HasState: r.GetHasState(),
			State: mark(r.GetMade(), r.GetStep()), Hash: string(hash[:min(len(hash), maxHash)]), Links: links(r.GetLatencies()), SumBytes: max(r.GetSumBytes(), 0)}
	case *wire.WorkerMessage_Ready:
		return message.Ready{Generation: ergoflow.Generation(b.Ready.GetGeneration())}
	case *wire.WorkerMessage_Progress:
		p, t := b.Progress, b.Progress.GetTiming()
		return message.Progress{
			Generation: ergoflow.Generation(p.GetGeneration()), Step: ergoflow.Step(p.GetStep()), Loss: p.GetLoss(), Samples: p.GetSamples(),
			Timing: message.Timing{Data: finite(t.GetData()), Gradient: finite(t.GetGradient()), Copy: finite(t.GetCopy()),
				Ring: finite(t.GetRing()), Update: finite(t.GetUpdate()), Other: finite(t.GetOther())},
		}
	case *wire.WorkerMessage_Complaint:
		c := b.Complaint
		complaint := message.Complaint{Generation: ergoflow.Generation(c.GetGeneration()), Step: ergoflow.Step(c.GetStep()),
			Peer: ergoflow.WorkerID(Clip(c.GetPeer())), Reason: Clip(c.GetReason())}
		silent := c.GetSilent()
		for _, id := range silent[:min(len(silent), ergoflow.MaxWorld)] {
			complaint.Silent = append(complaint.Silent, ergoflow.WorkerID(Clip(id)))
		}
		return complaint
	case *wire.WorkerMessage_LinkChecked:
		return message.LinkChecked{Peer: ergoflow.WorkerID(Clip(b.LinkChecked.GetPeer())), Failure: Clip(b.LinkChecked.GetFailure())}
	case *wire.WorkerMessage_Drain:
		return message.Drain{}
	case *wire.WorkerMessage_Failed:
		return message.Failed{Run: b.Failed.GetRun(), Reason: Clip(b.Failed.GetReason())}
	case *wire.WorkerMessage_Refusal:
		return message.Refusal{From: Clip(b.Refusal.GetFrom()), Reason: Clip(b.Refusal.GetReason())}
	}
	return nil
}

// ToCoordinator converts a message that a worker sends.
func ToCoordinator(m message.FromWorker) *wire.WorkerMessage {
	switch m := m.(type) {
	case message.Hello:
		return &wire.WorkerMessage{Body: &wire.WorkerMessage_Hello{Hello: &wire.Hello{
			Id: string(m.Worker.ID), Version: m.Worker.Release.Version, Protocol: m.Worker.Release.Protocol,
			OldestProtocol: m.Worker.Release.OldestProtocol, Numerics: m.Worker.Release.Numerics, DataAddress: m.Worker.DataAddress, Device: m.Worker.Device,
			Pid: int32(m.Worker.PID), Secret: m.Worker.Secret, Run: m.Run, HasState: m.HasState,
			Made: uint64(m.State.Generation), Step: int64(m.State.Step), Newest: uint64(m.Newest),
		}}}
	case message.Heartbeat:
		return &wire.WorkerMessage{Body: &wire.WorkerMessage_Heartbeat{Heartbeat: &wire.Heartbeat{
			Doing: m.Doing, Number: m.Number, Run: m.Run, Made: uint64(m.State.Generation), Step: int64(m.State.Step),
		}}}
	case message.Prepared:
		return &wire.WorkerMessage{Body: &wire.WorkerMessage_Prepared{Prepared: &wire.Prepared{Run: m.Run, Number: m.Number}}}
	case message.Report:
		return &wire.WorkerMessage{Body: &wire.WorkerMessage_Report{Report: &wire.Report{
			Generation: uint64(m.Generation), HasState: m.HasState,
			Made: uint64(m.State.Generation), Step: int64(m.State.Step), ParameterHash: []byte(m.Hash), Latencies: wireLinks(m.Links), SumBytes: m.SumBytes,
		}}}
	case message.Ready:
		return &wire.WorkerMessage{Body: &wire.WorkerMessage_Ready{Ready: &wire.Ready{Generation: uint64(m.Generation)}}}
	case message.Progress:
		t := m.Timing
		return &wire.WorkerMessage{Body: &wire.WorkerMessage_Progress{Progress: &wire.Progress{
			Generation: uint64(m.Generation), Step: int64(m.Step), Loss: m.Loss, Samples: m.Samples,
			Timing: &wire.Timing{Data: t.Data, Gradient: t.Gradient, Copy: t.Copy, Ring: t.Ring, Update: t.Update, Other: t.Other},
		}}}
	case message.Complaint:
		complaint := &wire.Complaint{Generation: uint64(m.Generation), Step: int64(m.Step), Peer: string(m.Peer), Reason: valid(m.Reason)}
		for _, id := range m.Silent {
			complaint.Silent = append(complaint.Silent, string(id))
		}
		return &wire.WorkerMessage{Body: &wire.WorkerMessage_Complaint{Complaint: complaint}}
	case message.LinkChecked:
		return &wire.WorkerMessage{Body: &wire.WorkerMessage_LinkChecked{LinkChecked: &wire.LinkChecked{Peer: string(m.Peer), Failure: valid(m.Failure)}}}
	case message.Drain:
		return &wire.WorkerMessage{Body: &wire.WorkerMessage_Drain{Drain: &wire.Drain{}}}
	case message.Failed:
		return &wire.WorkerMessage{Body: &wire.WorkerMessage_Failed{Failed: &wire.Failed{Run: m.Run, Reason: valid(m.Reason)}}}
	case message.Refusal:
		return &wire.WorkerMessage{Body: &wire.WorkerMessage_Refusal{Refusal: &wire.Refusal{From: m.From, Reason: valid(m.Reason)}}}
	}
	return nil
}

func mark(made uint64, step int64) ergoflow.Mark {
	return ergoflow.Mark{Generation: ergoflow.Generation(made), Step: ergoflow.Step(step)}
}

// Clip bounds a sentence from outside, at the end of a character: protobuf sends
// valid UTF-8 only. Logs and the status show it on terminals, which obey control
// characters: only those of lines stay.
func Clip(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			return r
		}
		return '\ufffd'
	}, strings.ToValidUTF8(s[:min(len(s), maxText)], ""))
}

// valid makes a reason valid UTF-8. Reasons are errors, which may hold any bytes,
// for example those of a path.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// finite returns 0 for what JSON cannot write in the status: NaN and ±∞.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// links drops what says nothing, and all beyond the members of the largest world.
func links(all []*wire.Latency) []message.Link {
	var list []message.Link
	for _, l := range all[:min(len(all), ergoflow.MaxWorld)] {
		one := message.Link{Peer: ergoflow.WorkerID(Clip(l.GetPeer())), Latency: -1}
		if t := float64(l.GetSeconds()); t >= 0 && !math.IsInf(t, 1) {
			one.Latency = t
		}
		if rate := float64(l.GetRate()); rate > 0 && !math.IsInf(rate, 1) {
			one.Rate = rate
		}
		if one.Latency >= 0 || one.Rate > 0 {
			list = append(list, one)
		}
	}
	return list
}

func wireLinks(all []message.Link) []*wire.Latency {
	var list []*wire.Latency
	for _, l := range all[:min(len(all), ergoflow.MaxWorld)] {
		list = append(list, &wire.Latency{Peer: string(l.Peer), Seconds: float32(l.Latency), Rate: float32(l.Rate)})
	}
	return list
}
