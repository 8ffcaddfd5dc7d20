package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/consensus"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// meetInterval is between two looks at the other coordinators.
const meetInterval = time.Second

// others watches the other coordinators of a cluster.
type others struct {
	coordinator *coordinator
	silent      map[string]bool // addresses that do not answer, as the log says
	invite      []string        // addresses that are to be added once the ledger is handed in
}

// meet asks the others who they are. It says in the log who does not answer. A follower takes over
// the gossip's keys of the one that leads, and joins that one's gossip if it does not have it:
// coordinators begin without each other's, and one that is started again knows nobody. What one
// has revoked counts at all.
func (o *others) meet(ctx context.Context) error {
	k := o.coordinator
	obeyed := k.security.obeyRevocations(ctx) // before others are asked, which may take its time
	members, err := k.node.Others()
	if err != nil {
		return errors.Join(obeyed, err)
	}
	own, err := k.node.Describe()
	if err != nil {
		return err
	}
	var addresses []string
	for _, m := range members {
		addresses = append(addresses, m.Address)
	}
	seen, silent := []*wire.Coordinator{own}, 0
	for i, answer := range k.node.Introductions(ctx, addresses...) {
		at, isSilent := addresses[i], answer.Err != nil
		switch {
		case isSilent && !o.silent[at]:
			k.Log.Warn("a coordinator does not answer", "address", at, "error", answer.Err)
		case !isSilent && o.silent[at]:
			k.Log.Info("a coordinator answers again", "address", at)
		}
		o.silent[at] = isSilent
		if isSilent {
			silent++
			continue
		}
		seen = append(seen, answer.Coordinator)
		if at == own.GetLeader() && k.term.Load() == nil {
			if err := k.follow(answer.Coordinator); err != nil {
				return err
			}
		}
	}
	k.silent.Store(int32(silent))
	return errors.Join(obeyed, o.inviteOthers(ctx, own.GetAddress()), k.noteStarts(seen), k.enterRevocations(ctx, seen))
}

// inviteOthers adds those with which the cluster was to begin, each once, where this coordinator
// began it alone because of its ledger.
func (o *others) inviteOthers(ctx context.Context, own string) error {
	k := o.coordinator
	if !k.handedIn.Load() || k.term.Load() == nil {
		return nil
	}
	var failed error
	o.invite = slices.DeleteFunc(o.invite, func(address string) bool {
		if address == own {
			return true
		}
		err := k.node.Add(ctx, address)
		failed = errors.Join(failed, err)
		return err == nil
	})
	return failed
}

// follow gossips as the coordinator that leads does, and with it.
func (k *coordinator) follow(leader *wire.Coordinator) error {
	if k.security != nil && len(leader.GetRotation()) > 0 {
		if err := k.security.keys.adopt(leader.GetRotation()); err != nil {
			return fmt.Errorf("gossip keys of %s: %w", leader.GetAddress(), err)
		}
	}
	for _, m := range k.members.Members() {
		if m.Meta.ControlAddress == leader.GetControl() {
			return nil
		}
	}
	return k.members.Meet(leader.GetGossip())
}

// noteStarts has the ledger say how often the processes of coordinators have begun. A directory
// that knows of fewer starts is an old copy, whose votes and entries are lost: the others tell it
// so before it takes part.
func (k *coordinator) noteStarts(seen []*wire.Coordinator) error {
	if k.term.Load() == nil {
		return nil // the leader does it
	}
	noted := make([]*wire.CoordinatorMember, len(seen))
	for i, c := range seen {
		noted[i] = &wire.CoordinatorMember{Id: c.GetId()}
	}
	if err := k.ledger.addStarts(noted); err != nil {
		return err
	}
	var list []change
	for i, c := range seen {
		if c.GetStarts() > noted[i].GetStarts() {
			one, err := set(bucketStarts, []byte(c.GetId()), c.GetStarts())
			if err != nil {
				return err
			}
			list = append(list, one)
		}
	}
	if len(list) == 0 {
		return nil
	}
	if err := k.ledger.change(list); err != nil && !errors.Is(err, consensus.ErrDeposed) {
		return err
	}
	return nil
}
