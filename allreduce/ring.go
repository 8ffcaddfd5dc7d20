package allreduce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/ergoflow/ergoflow"
)

// Ring is one rank's membership of one generation, made by [Server.Join]. A
// failed ring stays failed. All ranks must make the same calls in the same
// order.
type Ring struct {
	id    Identity
	peers []string
	opts  Options

	ctx    context.Context // ends with the ring; its cause says why
	cancel context.CancelCauseFunc

	arrived chan incoming // the predecessor's stream, once
	claimed atomic.Bool   // a stream has taken the predecessor's place
	drained chan struct{} // closed when the predecessor's stream is read to its end
	parted  chan struct{} // closed when the predecessor's stream is gone
	closing atomic.Bool
	ended   chan struct{} // closed when the successor's stream is gone

	out outgoing
	in  incoming

	mu     sync.Mutex // held by AllReduce and Close
	closed bool
	step   ergoflow.Step
	bucket int
	parts  []float32 // scratch of the exchange: every rank's vector
}

func newRing(ctx context.Context, id Identity, peers []string, opts Options) *Ring {
	r := &Ring{
		id: id, peers: peers, opts: opts, step: -1,
		arrived: make(chan incoming, 1),
		drained: make(chan struct{}),
		parted:  make(chan struct{}),
		ended:   make(chan struct{}),
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r
}

// Identity is the place that was joined.
func (r *Ring) Identity() Identity { return r.id }

// Wire is the number format of the ring's messages.
func (r *Ring) Wire() Wire { return r.opts.Wire }

// AllReduce replaces v by the sum of all ranks' v. Every rank ends with the
// same bits. Vectors must have the same length on all ranks; repeated calls
// with one step are its buckets, numbered as they come, and steps must not
// decrease.
//
// It ends at once when the Join context does, when a neighbour's stream breaks
// or brings what the schedule does not allow, with an [*Error] that names the
// peer. The ring has then failed and v holds neither its old values nor the
// sum; nothing reads it any more.
func (r *Ring) AllReduce(step ergoflow.Step, v []float32) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.begin(step); err != nil {
		return err
	}
	if r.id.World == 1 {
		return nil
	}
	s := newSchedule(r.id.Rank, r.id.World, len(v), r.opts.Wire.size())
	if s.chunks > maxChunks {
		return r.wrap("reduce", -1, fmt.Errorf("vector of %d numbers is too long", len(v)))
	}
	var err error
	if s.exchange {
		err = r.exchange(s, v)
	} else {
		err = r.circulate(s, v)
	}
	if err != nil {
		r.cancel(err)
		<-r.ended // the transport has let go of v
	}
	return err
}

// begin checks that the ring is alive and counts buckets.
func (r *Ring) begin(step ergoflow.Step) error {
	if r.closed {
		return r.describe("reduce", -1, ErrClosed)
	}
	if err := context.Cause(r.ctx); err != nil {
		return r.wrap("reduce", -1, err)
	}
	switch {
	case step < 0 || step < r.step:
		return r.wrap("reduce", -1, fmt.Errorf("step %d after step %d", step, r.step))
	case step == r.step && r.bucket == 1<<16-1:
		return r.wrap("reduce", -1, fmt.Errorf("more than %d buckets in step %d", 1<<16, step))
	case step == r.step:
		r.bucket++
	default:
		r.step, r.bucket = step, 0
	}
	return nil
}

// circulate runs the ring: reduce-scatter, then all-gather. Sends are issued
// from the receive loop.
func (r *Ring) circulate(s schedule, v []float32) error {
	send := func(i int) error {
		m := s.sent(i)
		lo, hi := s.span(m)
		return r.send(m, v[lo:hi])
	}
	depth, n := s.depth(), s.messages()
	for i := range depth {
		if err := send(i); err != nil {
			return err
		}
	}
	for j := range n {
		m := s.received(j)
		lo, hi := s.span(m)
		if err := r.receive(m, v[lo:hi]); err != nil {
			return err
		}
		if s.last(j) {
			r.opts.Wire.round(v[lo:hi]) // what the others will read
		}
		if j+depth < n {
			if err := send(j + depth); err != nil {
				return err
			}
		}
	}
	return r.flush()
}

// exchange passes every rank's vector to every rank and adds them up in rank
// order.
func (r *Ring) exchange(s schedule, v []float32) error {
	n := len(v)
	if len(r.parts) < n*s.world {
		r.parts = make([]float32, n*s.world)
	}
	part := func(rank int) []float32 { return r.parts[rank*n:][:n] }
	copy(part(s.rank), v)
	r.opts.Wire.round(part(s.rank))
	for i := range s.messages() {
		m := s.sent(i)
		if err := r.send(m, part(m.segment)); err != nil {
			return err
		}
		m = s.received(i)
		if err := r.receive(m, part(m.segment)); err != nil {
			return err
		}
	}
	copy(v, part(0))
	for rank := 1; rank < s.world; rank++ {
		addTo(v, part(rank))
	}
	return r.flush()
}

func (r *Ring) header(m move, n int) header {
	return header{
		generation: r.id.Generation, step: r.step, bucket: uint16(r.bucket),
		segment: uint16(m.segment), chunk: uint16(m.chunk), phase: m.phase,
		length: uint32(n * r.opts.Wire.size()),
	}
}

func (r *Ring) send(m move, v []float32) error {
	if err := r.out.send(r.header(m, len(v)), v); err != nil {
		return r.wrap("send", r.id.successor(), err)
	}
	return nil
}

func (r *Ring) flush() error {
	if err := r.out.flush(); err != nil {
		return r.wrap("send", r.id.successor(), err)
	}
	return nil
}

// receive reads message m into v, added in the reduce phase, else copied.
func (r *Ring) receive(m move, v []float32) error {
	var f frame
	if err := r.in.receive(&f); err != nil {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: it closed the ring", ErrPeerLost)
		}
		return r.wrap("receive", r.id.predecessor(), err)
	}
	defer f.free()
	if want := r.header(m, len(v)); f.header != want {
		kind := ErrProtocol
		if f.header.generation != want.generation {
			kind = ErrFenced
		}
		return r.wrap("receive", r.id.predecessor(), fmt.Errorf("%w: got %v, want %v", kind, f.header, want))
	}
	r.opts.Wire.fold(v, &f, m.phase == phaseReduce)
	return nil
}
