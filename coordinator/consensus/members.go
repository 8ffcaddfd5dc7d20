package consensus

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/ergoflow/ergoflow/coordinator/wire"
)

var (
	// ErrNotLeader: the leader alone can do this.
	ErrNotLeader = errors.New("this coordinator does not lead")
	// ErrNoCoordinator: there is no such member.
	ErrNoCoordinator = errors.New("there is no such coordinator")
)

// Member is a coordinator of the cluster.
type Member struct {
	ID      string
	Address string // host:port of its control service
}

// Members are those of the newest configuration that this member has.
func (n *Node) Members() ([]Member, error) {
	r := n.running()
	if r == nil {
		return nil, nil
	}
	f := r.GetConfiguration()
	if err := f.Error(); err != nil {
		return nil, err
	}
	var list []Member
	for _, s := range f.Configuration().Servers {
		list = append(list, Member{string(s.ID), string(s.Address)})
	}
	return list, nil
}

// Others are the members without this one.
func (n *Node) Others() ([]Member, error) {
	all, err := n.Members()
	var list []Member
	for _, m := range all {
		if m.ID != n.id {
			list = append(list, m)
		}
	}
	return list, err
}

// Describe is what this coordinator says of itself to others.
func (n *Node) Describe() (*wire.Coordinator, error) {
	c := &wire.Coordinator{Id: n.id, Starts: n.starts, Peers: n.config.Peers, HasLedger: n.config.HasLedger,
		Version: n.config.Release.Version, Protocol: n.config.Release.Protocol, OldestProtocol: n.config.Release.OldestProtocol}
	n.mu.Lock()
	c.Address, c.Begun = n.address, n.raft != nil
	n.mu.Unlock()
	members, err := n.Members()
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		c.Members = append(c.Members, &wire.CoordinatorMember{Id: m.ID, Address: m.Address})
	}
	c.Leader, c.Term = n.Leader()
	c.Applied, err = n.state.Applied()
	return c, err
}

// Add makes a coordinator a member, which waits at an address with a directory of its own.
func (n *Node) Add(ctx context.Context, address string) error {
	r := n.running()
	if r == nil || r.State() != raft.Leader {
		return ErrNotLeader
	}
	answer := n.Introductions(ctx, address)[0]
	if answer.Err != nil {
		return answer.Err
	}
	who := answer.Coordinator
	if err := n.agree(address, who); err != nil {
		return err
	}
	members, err := n.Members()
	if err != nil {
		return err
	}
	for _, m := range members {
		switch {
		case m.ID == who.GetId() && m.Address == address:
			return nil // asked again
		case m.ID == who.GetId():
			return fmt.Errorf("%w: the coordinator at %s is a member as %s", ErrPeers, address, m.Address)
		case m.Address == address:
			return fmt.Errorf("%w: remove %s first, then add it again", ErrReplaced, address)
		}
	}
	if who.GetBegun() || who.GetHasLedger() {
		return fmt.Errorf("%w: %s has a ledger of another cluster; start it with an empty directory", ErrPeers, address)
	}
	return r.AddVoter(raft.ServerID(who.GetId()), raft.ServerAddress(address), 0, proposalTimeout).Error()
}

// Remove removes a member, named by its address or its ID. It may be this one.
func (n *Node) Remove(name string) error {
	r := n.running()
	if r == nil || r.State() != raft.Leader {
		return ErrNotLeader
	}
	members, err := n.Members()
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Address == name || m.ID == name {
			if len(members) == 1 {
				return fmt.Errorf("%s is the only coordinator: end it instead", name)
			}
			return r.RemoveServer(raft.ServerID(m.ID), 0, proposalTimeout).Error()
		}
	}
	return fmt.Errorf("%w: %s", ErrNoCoordinator, name)
}
