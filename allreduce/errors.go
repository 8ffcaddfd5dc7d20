package allreduce

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ergoflow/ergoflow"
)

var (
	// ErrFenced means that the generation is over: this process has joined a newer one.
	ErrFenced = errors.New("generation fenced")
	// ErrRefused means that the neighbour's identity or options do not fit ours.
	ErrRefused = errors.New("handshake refused")
	// ErrProtocol means that a neighbour sent what the schedule does not allow here.
	ErrProtocol = errors.New("protocol violated")
	// ErrPeerLost means that a neighbour's stream ended before its closing handshake.
	ErrPeerLost = errors.New("peer lost")
	// ErrSilent means that nothing came from a neighbour for a time in which signs of life
	// were due, or that no connection to it could be made.
	ErrSilent = errors.New("peer silent")
	// ErrClosed means that the ring has been closed on this rank.
	ErrClosed = errors.New("ring closed")

	errNotShared   = fmt.Errorf("%w: payload in shared memory on a link without any", ErrProtocol)
	errStreamEnded = fmt.Errorf("%w: its stream ended", ErrPeerLost)
)

// Error says which operation of which rank failed, and at which neighbour.
type Error struct {
	Op         string // "join", "send", "receive", "reduce", "close"
	Generation ergoflow.Generation
	Rank       int
	Step       ergoflow.Step // -1 outside of a step
	Bucket     int           // call of AllReduce within the step
	Peer       int           // rank that failed, or that this rank waited for; -1 if there is none
	Address    string        // data address of that peer
	Silent     []int         // ranks from which nothing comes, or to which there is no way; also where Err is another
	Err        error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "all-reduce %s: generation %d rank %d", e.Op, e.Generation, e.Rank)
	if e.Step >= 0 {
		fmt.Fprintf(&b, " step %d bucket %d", e.Step, e.Bucket)
	}
	if e.Peer >= 0 {
		fmt.Fprintf(&b, ": peer %d (%s)", e.Peer, e.Address)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// wrap describes err. A ring that has ended reports the first cause, not what
// followed from it.
func (r *Ring) wrap(op string, peer int, err error) *Error {
	cause := context.Cause(r.ctx)
	if cause == nil {
		return r.describe(op, peer, err)
	}
	if first, ok := errors.AsType[*Error](cause); ok {
		if first.Peer >= 0 {
			peer = first.Peer
		}
		return r.describe(first.Op, peer, first.Err)
	}
	return r.describe(op, peer, cause)
}

// describe adds rank, peer and step to err. The caller holds mu, or is Join.
func (r *Ring) describe(op string, peer int, err error) *Error {
	e := r.blame(op, peer, err)
	e.Step, e.Bucket = r.step, r.bucket
	return e
}

// blame is describe for goroutines beside AllReduce, which do not know the step.
func (r *Ring) blame(op string, peer int, err error) *Error {
	e := &Error{Op: op, Generation: r.id.Generation, Rank: r.id.Rank, Step: -1, Peer: peer, Silent: r.quiet(), Err: err}
	if peer >= 0 && peer < len(r.peers) {
		e.Address = r.peers[peer]
	}
	return e
}
