package consensus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ergoflow/ergoflow/coordinator/wire"
)

var (
	// ErrPeers: the addresses with which a cluster is to begin do not fit together.
	ErrPeers = errors.New("the coordinators do not agree how their cluster begins")
	// ErrReplaced: the others know another directory at this address.
	ErrReplaced = errors.New("the others know this coordinator with another directory")
	// ErrOldCopy: the directory is an old copy. What it has promised since then is lost.
	ErrOldCopy = errors.New("the coordinator's directory is an old copy")
)

const (
	askInterval = 250 * time.Millisecond // between two rounds of questions
	sayInterval = 10 * time.Second       // between two lines about what the member waits for
)

// join waits until the member may take part. The configuration is that of a cluster which
// begins with this member; nil: its log has it, or it will come from the leader.
func (n *Node) join(ctx context.Context) (*raft.Configuration, error) {
	begun, err := n.log.hasBegun()
	if err != nil {
		return nil, err
	}
	var said time.Time
	for {
		answers := n.ask(ctx, n.config.Peers)
		for address, other := range answers {
			if err := n.agree(address, other); err != nil {
				return nil, err
			}
		}
		if begun {
			return nil, n.checkCopy(answers)
		}
		begin, wait, err := judge(n.id, n.config.Peers, answers)
		if err != nil {
			return nil, err
		}
		if wait == "" {
			return begin, n.know(ownAddress(n.id, answers))
		}
		if time.Since(said) > sayInterval {
			said = time.Now()
			n.config.Log.Info("waiting: " + wait)
		}
		select {
		case <-time.After(askInterval):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// judge decides what a member without a log does, from the answers of the addresses that it was
// given: it begins the cluster, waits, or (with neither) takes part in one that has begun. One with
// a ledger begins alone, and adds the others when that is the cluster's.
func judge(id string, peers []string, answers map[string]*wire.Coordinator) (begin *raft.Configuration, wait string, err error) {
	own := ownAddress(id, answers)
	for _, other := range answers {
		if !other.GetBegun() {
			continue
		}
		for _, m := range other.GetMembers() {
			switch {
			case m.GetId() == id:
				return nil, "", nil
			case m.GetAddress() == own && own != "":
				return nil, "", fmt.Errorf("%w: they know %s as %.8s, this directory is %.8s", ErrReplaced, own, m.GetId(), id)
			}
		}
	}
	for address, other := range answers {
		if other.GetBegun() {
			return nil, fmt.Sprintf("the cluster of %s has begun without this coordinator; `ergoflow coordinators add %s` adds it", address, own), nil
		}
	}
	var missing []string
	for _, p := range peers {
		if answers[p] == nil {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		return nil, "the cluster begins when all of its coordinators answer; these do not: " + strings.Join(missing, ", "), nil
	}
	first, err := firstOf(own, peers, answers)
	switch {
	case err != nil:
		return nil, "", err
	case first != own:
		return nil, fmt.Sprintf("%s begins the cluster", first), nil
	}
	begin = &raft.Configuration{}
	for _, p := range peers {
		// A ledger is handed in before others may lead: otherwise one of them could do so with an
		// empty one.
		if p != own && answers[own].GetHasLedger() {
			continue
		}
		begin.Servers = append(begin.Servers, raft.Server{ID: raft.ServerID(answers[p].GetId()), Address: raft.ServerAddress(p)})
	}
	return begin, "", nil
}

// firstOf is the address that begins the cluster: the one with a ledger, or else the first in
// order.
func firstOf(own string, peers []string, answers map[string]*wire.Coordinator) (string, error) {
	if own == "" {
		return "", fmt.Errorf("%w: none of %s is this coordinator", ErrPeers, strings.Join(peers, ", "))
	}
	sorted := slices.Sorted(slices.Values(peers))
	first, seen := "", make(map[string]string)
	for _, p := range sorted {
		a := answers[p]
		if theirs := slices.Sorted(slices.Values(a.GetPeers())); !slices.Equal(theirs, sorted) {
			return "", fmt.Errorf("%w: %s was started with %s, this one with %s", ErrPeers, p, strings.Join(theirs, ", "), strings.Join(sorted, ", "))
		}
		if other, twice := seen[a.GetId()]; twice {
			return "", fmt.Errorf("%w: %s and %s are the same coordinator", ErrPeers, other, p)
		}
		seen[a.GetId()] = p
		if !a.GetHasLedger() {
			continue
		}
		if first != "" {
			return "", fmt.Errorf("%w: both %s and %s have a ledger of a time when they were alone", ErrPeers, first, p)
		}
		first = p
	}
	if first == "" {
		first = sorted[0]
	}
	return first, nil
}

// checkCopy refuses a directory that others have seen to be newer.
func (n *Node) checkCopy(answers map[string]*wire.Coordinator) error {
	for address, other := range answers {
		for _, m := range other.GetMembers() {
			if m.GetId() == n.id && m.GetStarts() >= n.starts {
				return fmt.Errorf("%w: %s has seen its start %d, the directory only knows of %d", ErrOldCopy, address, m.GetStarts(), n.starts)
			}
		}
	}
	return nil
}

// ownAddress is that of the answers which this member has given itself.
func ownAddress(id string, answers map[string]*wire.Coordinator) string {
	for address, a := range answers {
		if a.GetId() == id {
			return address
		}
	}
	return ""
}

// ask asks addresses who they are. Those that do not answer are left out.
func (n *Node) ask(ctx context.Context, addresses []string) map[string]*wire.Coordinator {
	answers := make(map[string]*wire.Coordinator)
	for i, answer := range n.Introductions(ctx, addresses...) {
		if answer.Err == nil {
			answers[addresses[i]] = answer.Coordinator
		}
	}
	return answers
}

// know notes the address by which the others know the member.
func (n *Node) know(own string) error {
	n.mu.Lock()
	n.address = own
	n.mu.Unlock()
	return n.log.setAddress(own)
}
