package allreduce

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ergoflow/ergoflow"
)

var (
	// ErrFenced: the generation is over, a newer one has been joined.
	ErrFenced = errors.New("generation fenced")
	// ErrRefused: the neighbour's identity or options do not fit ours.
	ErrRefused = errors.New("handshake refused")
	// ErrProtocol: a neighbour sent what the schedule does not allow here.
	ErrProtocol = errors.New("protocol violated")
	// ErrPeerLost: a neighbour's stream ended before its closing handshake.
	ErrPeerLost = errors.New("peer lost")
	// ErrClosed: the ring has been closed on this rank.
	ErrClosed = errors.New("ring closed")
)

// Error says which operation of which rank failed, and at which neighbour.
type Error struct {
	Op         string // "join", "send", "receive", "reduce", "close"
	Generation ergoflow.Generation
	Rank       int
	Step       ergoflow.Step // -1 outside of a step
	Bucket     int           // call of AllReduce within the step
	Peer       int           // rank that failed, or that was waited for; -1 where there is none
	Address    string        // data address of that peer
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
