package allreduce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ergoflow/ergoflow"
)

// closeTimeout bounds the closing handshake.
const closeTimeout = 2 * time.Second

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

// connect dials the successor and waits for the predecessor.
func (r *Ring) connect(d dialer) error {
	us := hello{id: r.id, wire: r.opts.Wire}
	them := us
	them.id.Rank = r.id.successor()

	type dialed struct {
		out outgoing
		err error
	}
	done := make(chan dialed, 1)
	go func() {
		out, theirs, err := d.dial(r.ctx, r.peers[them.id.Rank], us)
		if err == nil {
			if err = theirs.check(them); err != nil {
				out.close()
			}
		}
		done <- dialed{out, err}
	}()
	arrived := r.arrived
	for dialing := done; arrived != nil || dialing != nil; {
		select {
		case r.in = <-arrived:
			arrived = nil
		case o := <-dialing:
			dialing = nil
			if o.err != nil {
				err := r.wrap("join", them.id.Rank, o.err)
				r.cancel(err)
				return err
			}
			r.out = o.out
			go r.watch()
		case <-r.ctx.Done():
			waited := r.id.predecessor()
			if arrived == nil {
				waited = them.id.Rank
			}
			err := r.wrap("join", waited, context.Cause(r.ctx))
			if dialing != nil {
				if o := <-dialing; o.err == nil {
					o.out.close()
				}
			} else {
				<-r.ended
			}
			return err
		}
	}
	return nil
}

// serve lends the predecessor's stream to the ring until either ends.
func (r *Ring) serve(ctx context.Context, h hello, in incoming) error {
	want := hello{id: r.id, wire: r.opts.Wire}
	want.id.Rank = r.id.predecessor()
	if err := h.check(want); err != nil {
		return err
	}
	if r.id.World == 1 || !r.claimed.CompareAndSwap(false, true) {
		return fmt.Errorf("%w: rank %d is connected already", ErrRefused, h.id.Rank)
	}
	if err := in.welcome(hello{id: r.id, wire: r.opts.Wire}); err != nil {
		r.cancel(r.blame("join", h.id.Rank, err))
		return err
	}
	r.arrived <- in
	defer close(r.parted)
	select {
	case <-r.drained:
	case <-ctx.Done():
		err := fmt.Errorf("%w: its stream ended", ErrPeerLost)
		r.cancel(r.blame("receive", h.id.Rank, err))
		return err
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
	if err := in.goodbye(r.id.Generation); err != nil {
		return err
	}
	select {
	case <-ctx.Done(): // it has read the goodbye, or is gone
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// watch owns the end of the successor's stream. It sees at once that the
// successor fails, even while this rank waits for its predecessor.
func (r *Ring) watch() {
	defer close(r.ended)
	defer r.out.close()
	err := r.out.wait()
	if err == nil && r.closing.Load() {
		return
	}
	if err == nil {
		err = fmt.Errorf("%w: it left the ring", ErrPeerLost)
	}
	r.cancel(r.blame("send", r.id.successor(), err))
}

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
	if err := r.begin(step, len(v)); err != nil {
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
		<-r.ended // the transport lets go of v
	}
	return err
}

// begin checks that the ring is alive and counts buckets.
func (r *Ring) begin(step ergoflow.Step, n int) error {
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

// Close leaves the ring. On a healthy ring it first confirms with both
// neighbours that nothing is in flight, for two seconds at most, so all ranks
// should close at about the same time; to abandon a ring, cancel its context
// before. The error says that a neighbour did not confirm; the ring is closed
// all the same.
func (r *Ring) Close() error {
	if !r.mu.TryLock() {
		r.cancel(ErrClosed) // an AllReduce is running: end it
		r.mu.Lock()
	}
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	defer r.cancel(ErrClosed)
	if r.id.World == 1 {
		return nil
	}
	if r.ctx.Err() != nil {
		<-r.ended
		return nil
	}
	return r.farewell()
}

// farewell ends our stream and reads the predecessor's to its end, upon which
// serve says goodbye to it. Whoever gets a goodbye disconnects. Having got ours
// and seen the predecessor disconnect, both links are known to be done: this
// process may exit without breaking anything off.
func (r *Ring) farewell() error {
	timer := time.AfterFunc(closeTimeout, func() {
		r.cancel(fmt.Errorf("no answer in %v", closeTimeout))
	})
	defer timer.Stop()
	r.closing.Store(true)
	if err := r.out.finish(); err != nil {
		r.cancel(err)
		<-r.ended
		return r.wrap("close", r.id.successor(), err)
	}
	var f frame
	if err := r.in.receive(&f); !errors.Is(err, io.EOF) {
		if err == nil {
			err = fmt.Errorf("%w: %v after the last step", ErrProtocol, f.header)
			f.free()
		}
		err = r.wrap("close", r.id.predecessor(), err)
		r.cancel(err)
		<-r.ended
		return err
	}
	close(r.drained)
	<-r.ended
	<-r.parted
	if err := context.Cause(r.ctx); err != nil {
		return r.wrap("close", r.id.successor(), err)
	}
	return nil
}

// wrap describes err. A ring that has been ended reports what ended it: the
// first cause, not what followed from it.
func (r *Ring) wrap(op string, peer int, err error) error {
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

// describe adds who, when and where to err. The caller holds mu, or is Join.
func (r *Ring) describe(op string, peer int, err error) error {
	e := r.blame(op, peer, err)
	e.Step, e.Bucket = r.step, r.bucket
	return e
}

// blame is describe for those who run beside AllReduce and do not know the step.
func (r *Ring) blame(op string, peer int, err error) *Error {
	e := &Error{Op: op, Generation: r.id.Generation, Rank: r.id.Rank, Step: -1, Peer: peer, Err: err}
	if peer >= 0 && peer < len(r.peers) {
		e.Address = r.peers[peer]
	}
	return e
}
