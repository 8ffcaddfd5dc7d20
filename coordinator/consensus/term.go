package consensus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// Term is a time in which this member leads.
type Term struct {
	raft   *raft.Raft
	number uint64
}

// proposalTimeout bounds the wait of a proposal for its turn. That for its majority ends when
// the leader gives up.
const proposalTimeout = 5 * time.Second

// AwaitTerm waits until this member leads, and its state has every entry of earlier leaders.
func (n *Node) AwaitTerm(ctx context.Context) (*Term, error) {
	for {
		changed, r := n.Changed(), n.running()
		if r != nil && r.State() == raft.Leader {
			t := &Term{r, r.CurrentTerm()}
			if r.Barrier(proposalTimeout).Error() == nil && t.counts() == nil {
				return t, nil
			}
		}
		select {
		case <-changed:
		case <-time.After(watchInterval): // raft may not have told
		case <-n.failed:
			return nil, n.failure
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Number is the term's. Later terms have larger ones.
func (t *Term) Number() uint64 { return t.number }

// counts returns why the term is over, as far as this member knows.
func (t *Term) counts() error {
	if now := t.raft.CurrentTerm(); now != t.number || t.raft.State() != raft.Leader {
		return fmt.Errorf("%w: its term was %d, now is %d", ErrDeposed, t.number, now)
	}
	return nil
}

// Propose returns when a majority has the entry and this member has applied it. After ErrDeposed
// it is unknown whether the entry counts.
func (t *Term) Propose(entry []byte) error {
	if err := t.counts(); err != nil {
		return err
	}
	f := t.raft.Apply(seal(t.number, entry), proposalTimeout)
	if err := f.Error(); err != nil {
		return fmt.Errorf("%w: %w", ErrDeposed, err)
	}
	err, _ := f.Response().(error)
	if errors.Is(err, errOldTerm) {
		return fmt.Errorf("%w: %w", ErrDeposed, err)
	}
	return err
}

// Verify returns when a majority has said, after the call, that the term still counts. Otherwise
// it fails with ErrDeposed.
func (t *Term) Verify() error {
	if err := t.raft.VerifyLeader().Error(); err != nil {
		return fmt.Errorf("%w: %w", ErrDeposed, err)
	}
	return t.counts()
}
