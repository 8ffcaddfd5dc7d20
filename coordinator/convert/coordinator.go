package convert

import (
	"crypto/rand"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// tokenBytes is the length of a ring's token.
const tokenBytes = 16

// Messages converts what the machine sends to workers, and fills in what the
// machine does not know: the queue, the store and the token of each generation.
type Messages struct {
	NATS       string // URL of the job queue
	NATSDomain string // of JetStream there; empty: the server's own
	Store      string // location of the shards
	// AcceptPlaintext: the coordinator accepts workers without a certificate beside others.
	AcceptPlaintext bool
	Term            uint64 // in which the coordinator leads, of several; 0: it is the only one

	assigned ergoflow.Generation // generation of the next two
	members  []*wire.Member      // shared by messages; read only
	token    []byte              // known to its members alone
}

// ToWorker converts a message.
func (c *Messages) ToWorker(m message.FromCoordinator) *wire.CoordinatorMessage {
	switch m := m.(type) {
	case message.Welcome:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Welcome{Welcome: &wire.Welcome{
			PingInterval: m.PingInterval.Seconds(), Patience: m.Patience.Seconds(), Lease: m.Lease.Seconds(), AcceptPlaintext: c.AcceptPlaintext, Term: c.Term, Protocol: m.Protocol}}}
	case message.Refuse:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Refuse{Refuse: &wire.Refuse{Reason: m.Reason, Term: c.Term}}}
	case message.Ping:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Ping{Ping: &wire.Ping{Heard: m.Heard, Patience: m.Patience.Seconds()}}}
	case message.Generate:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Generate{Generate: &wire.Generate{
			Plan: PlanToWire(m.Plan), NatsUrl: c.NATS, NatsDomain: c.NATSDomain, Store: c.Store}}}
	case message.Prepare:
		prepare := &wire.Prepare{Number: m.Number, Plan: PlanToWire(m.Plan), Store: c.Store}
		if m.Follow != (message.Member{}) {
			prepare.Follow = memberToWire(m.Follow)
		}
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Prepare{Prepare: prepare}}
	case message.Form:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Form{Form: &wire.Form{Generation: uint64(m.Generation), Reason: m.Reason}}}
	case message.Assign:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Assign{Assign: c.assign(m)}}
	case message.Go:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Go{Go: &wire.Go{Generation: uint64(m.Generation)}}}
	case message.Abort:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Abort{Abort: &wire.Abort{Generation: uint64(m.Generation), Reason: m.Reason}}}
	case message.Finish:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Finish{Finish: &wire.Finish{Run: m.Run}}}
	case message.Save:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Save{Save: &wire.Save{Generation: uint64(m.Generation)}}}
	case message.CheckLink:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_CheckLink{CheckLink: &wire.CheckLink{Peer: memberToWire(m.Peer)}}}
	case message.Leave:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Leave{Leave: &wire.Leave{Reason: m.Reason}}}
	case message.Transfer:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Transfer{Transfer: &wire.Transfer{Reason: m.Reason}}}
	case message.Dump:
		return &wire.CoordinatorMessage{Body: &wire.CoordinatorMessage_Dump{Dump: &wire.Dump{Number: m.Number, Occasion: valid(m.Occasion)}}}
	}
	return nil
}

// assign shares the list of members between the messages to all of them: a thousand
// members make a thousand entries instead of a million.
func (c *Messages) assign(m message.Assign) *wire.Assign {
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
	if m.Source.Kind == message.SourcePeer {
		a.Source.Peer = memberToWire(m.Source.Peer)
	}
	return a
}

// FromCoordinator converts a message of the coordinator; nil: its body is unknown
// or missing.
func FromCoordinator(m *wire.CoordinatorMessage) message.FromCoordinator {
	switch b := m.GetBody().(type) {
	case *wire.CoordinatorMessage_Welcome:
		w := b.Welcome
		return message.Welcome{PingInterval: seconds(w.GetPingInterval()), Patience: seconds(w.GetPatience()), Lease: seconds(w.GetLease()), AcceptPlaintext: w.GetAcceptPlaintext(), Term: w.GetTerm(), Protocol: w.GetProtocol()}
	case *wire.CoordinatorMessage_Refuse:
		return message.Refuse{Reason: b.Refuse.GetReason(), Term: b.Refuse.GetTerm()}
	case *wire.CoordinatorMessage_Ping:
		return message.Ping{Heard: b.Ping.GetHeard(), Patience: seconds(b.Ping.GetPatience())}
	case *wire.CoordinatorMessage_Generate:
		g := b.Generate
		return message.Generate{Plan: Plan(g.GetPlan()), NATS: g.GetNatsUrl(), NATSDomain: g.GetNatsDomain(), Store: g.GetStore()}
	case *wire.CoordinatorMessage_Prepare:
		p := b.Prepare
		return message.Prepare{Number: p.GetNumber(), Plan: Plan(p.GetPlan()), Follow: member(p.GetFollow()), Store: p.GetStore()}
	case *wire.CoordinatorMessage_Form:
		return message.Form{Generation: ergoflow.Generation(b.Form.GetGeneration()), Reason: b.Form.GetReason()}
	case *wire.CoordinatorMessage_Assign:
		return assign(b.Assign)
	case *wire.CoordinatorMessage_Go:
		return message.Go{Generation: ergoflow.Generation(b.Go.GetGeneration())}
	case *wire.CoordinatorMessage_Abort:
		return message.Abort{Generation: ergoflow.Generation(b.Abort.GetGeneration()), Reason: b.Abort.GetReason()}
	case *wire.CoordinatorMessage_Finish:
		return message.Finish{Run: b.Finish.GetRun()}
	case *wire.CoordinatorMessage_Save:
		return message.Save{Generation: ergoflow.Generation(b.Save.GetGeneration())}
	case *wire.CoordinatorMessage_CheckLink:
		return message.CheckLink{Peer: member(b.CheckLink.GetPeer())}
	case *wire.CoordinatorMessage_Leave:
		return message.Leave{Reason: b.Leave.GetReason()}
	case *wire.CoordinatorMessage_Transfer:
		return message.Transfer{Reason: b.Transfer.GetReason()}
	case *wire.CoordinatorMessage_Dump:
		return message.Dump{Number: b.Dump.GetNumber(), Occasion: b.Dump.GetOccasion()}
	}
	return nil
}

func assign(a *wire.Assign) message.Assign {
	source := a.GetSource()
	assign := message.Assign{
		Generation: ergoflow.Generation(a.GetGeneration()), Rank: int(a.GetRank()), Saves: a.GetSaves(), Token: a.GetToken(),
		Source: message.Source{Kind: message.SourceKind(source.GetKind()), State: mark(source.GetMade(), source.GetStep()), Peer: member(source.GetPeer())},
	}
	for _, m := range a.GetMembers() {
		assign.Members = append(assign.Members, member(m))
	}
	for _, shard := range a.GetShards() {
		assign.Shards = append(assign.Shards, int(shard))
	}
	return assign
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func member(m *wire.Member) message.Member {
	return message.Member{ID: ergoflow.WorkerID(m.GetId()), DataAddress: m.GetDataAddress(), Identity: m.GetIdentity()}
}

func memberToWire(m message.Member) *wire.Member {
	return &wire.Member{Id: string(m.ID), DataAddress: m.DataAddress, Identity: m.Identity}
}
