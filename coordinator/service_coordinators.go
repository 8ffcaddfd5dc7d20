package coordinator

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/consensus"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/finitejson"
)

// members implements wire.CoordinatorsServer: what coordinators serve to each other, whether
// they lead or not.
type members struct {
	wire.UnimplementedCoordinatorsServer
	coordinator *coordinator
}

var errAlone = status.Error(codes.FailedPrecondition, "this coordinator is the only one of its cluster: it was started without --peers")

// Link implements wire.CoordinatorsServer.
func (m *members) Link(stream wire.Coordinators_LinkServer) error {
	if m.coordinator.node == nil {
		return errAlone
	}
	return m.coordinator.node.Serve(stream)
}

// Introduce implements wire.CoordinatorsServer.
func (m *members) Introduce(context.Context, *wire.CoordinatorRequest) (*wire.Coordinator, error) {
	if m.coordinator.node == nil {
		return nil, errAlone
	}
	c, err := m.coordinator.node.Describe()
	if err == nil {
		at := m.coordinator.addresses()
		c.Control, c.Gossip, c.Join = at.Control, at.Gossip, at.Join
		if m.coordinator.bucket != nil {
			c.Bucket, c.BucketBytes = m.coordinator.bucket.url, m.coordinator.bucket.server.Stored()
		}
		err = m.coordinator.ledger.addStarts(c.GetMembers())
	}
	if s := m.coordinator.security; err == nil && s != nil && m.coordinator.term.Load() != nil {
		c.Rotation, err = s.keys.encoded()
	}
	if s := m.coordinator.security; err == nil && s != nil {
		c.Revoked, err = s.tellRevocations()
	}
	return c, err
}

// Checkpoints implements wire.CoordinatorsServer.
func (m *members) Checkpoints(_ context.Context, r *wire.CheckpointsRequest) (*wire.CheckpointsReply, error) {
	names, err := newestOf(m.coordinator.checkpoints, r.GetRun())
	if err != nil {
		return nil, storeError(err)
	}
	return &wire.CheckpointsReply{Checkpoints: names}, nil
}

// StoreCheckpoint implements wire.CoordinatorsServer.
func (m *members) StoreCheckpoint(stream wire.Coordinators_StoreCheckpointServer) error {
	if m.coordinator.node == nil {
		return errAlone
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if err := storeCopy(m.coordinator.checkpoints, first.GetHeader(), stream.Recv); err != nil {
		return storeError(err)
	}
	return stream.SendAndClose(&wire.SaveReply{})
}

// ReadCheckpoint implements wire.CoordinatorsServer.
func (m *members) ReadCheckpoint(r *wire.ReadCheckpointRequest, stream wire.Coordinators_ReadCheckpointServer) error {
	info, data, err := m.coordinator.checkpoints.Read(r.GetId())
	if err != nil {
		return storeError(err)
	}
	return sendCheckpoint(stream.Send, info, data)
}

// Coordinators is the document of `ergoflow coordinators list --json`.
type Coordinators struct {
	Leader  string        `json:"leader"` // control address; empty: the one that answers knows none
	Term    uint64        `json:"term"`
	Applied uint64        `json:"applied"` // index of the last entry in the ledger of the one that answers
	Members []Coordinator `json:"members"`
}

// Coordinator is one of several. A brief list does not say what each answers.
type Coordinator struct {
	ID       string `json:"id"`
	Address  string `json:"address"`
	Leads    bool   `json:"leads"`
	Answers  bool   `json:"answers"`
	Applied  uint64 `json:"applied"` // index of the last entry in its ledger, where it answers
	Version  string `json:"version"`
	Protocol uint32 `json:"protocol"` // the newest that it speaks, where it answers
	// BucketBytes are in its bucket of shards, where each coordinator has one. Those that have copied
	// everything have about the same number.
	BucketBytes uint64 `json:"bucket_bytes,omitempty"`
	Error       string `json:"error,omitempty"` // why it does not answer
}

// List implements wire.CoordinatorsServer.
func (m *members) List(ctx context.Context, r *wire.ListCoordinatorsRequest) (*wire.ListCoordinatorsReply, error) {
	k := m.coordinator
	if k.node == nil {
		at := k.addresses().Control
		return encodeCoordinators(Coordinators{Leader: at, Members: []Coordinator{{Address: at, Leads: true, Answers: true, Version: ergoflow.Build(), Protocol: ergoflow.ThisRelease().Protocol}}})
	}
	own, err := k.node.Describe()
	if err != nil {
		return nil, err
	}
	doc := Coordinators{Leader: own.GetLeader(), Term: own.GetTerm(), Applied: own.GetApplied(), Members: make([]Coordinator, len(own.GetMembers()))}
	var addresses []string
	for i, member := range own.GetMembers() {
		doc.Members[i] = Coordinator{ID: member.GetId(), Address: member.GetAddress(), Leads: member.GetAddress() == own.GetLeader()}
		addresses = append(addresses, member.GetAddress())
	}
	if r.GetBrief() {
		return encodeCoordinators(doc)
	}
	for i, answer := range k.node.Introductions(ctx, addresses...) { // its own, too: others may not reach it
		m := &doc.Members[i]
		if answer.Err != nil {
			m.Error = status.Convert(answer.Err).Message()
			continue
		}
		m.Answers, m.Applied = true, answer.Coordinator.GetApplied()
		m.Version, m.Protocol = answer.Coordinator.GetVersion(), answer.Coordinator.GetProtocol()
		m.BucketBytes = answer.Coordinator.GetBucketBytes()
	}
	return encodeCoordinators(doc)
}

func encodeCoordinators(doc Coordinators) (*wire.ListCoordinatorsReply, error) {
	b, _, err := finitejson.Marshal(doc, "")
	if err != nil {
		return nil, fmt.Errorf("encode the coordinators: %w", err)
	}
	return &wire.ListCoordinatorsReply{Json: b}, nil
}

// Change implements wire.CoordinatorsServer.
func (m *members) Change(ctx context.Context, r *wire.ChangeCoordinatorsRequest) (*wire.ChangeCoordinatorsReply, error) {
	if m.coordinator.node == nil {
		return nil, errAlone
	}
	var err error
	switch {
	case (r.GetAdd() == "") == (r.GetRemove() == ""):
		return nil, status.Error(codes.InvalidArgument, "either add a coordinator or remove one")
	case r.GetAdd() != "":
		err = m.coordinator.node.Add(ctx, r.GetAdd())
	default:
		err = m.coordinator.node.Remove(r.GetRemove())
	}
	switch {
	case errors.Is(err, consensus.ErrNotLeader):
		leader, _ := m.coordinator.node.Leader()
		return nil, wire.NotLeading(leader)
	case errors.Is(err, consensus.ErrNoCoordinator):
		return nil, status.Error(codes.NotFound, err.Error())
	case err != nil:
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return &wire.ChangeCoordinatorsReply{}, nil
}
