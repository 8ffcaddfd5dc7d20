package allreduce

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// connect dials the sinks and waits for the sources. When it fails, the ring is
// cancelled and no stream is left.
func (r *Ring) connect(d dialer) error {
	r.waiting.Store(true)
	defer r.waiting.Store(false)
	go r.listen()
	dialed := make(chan error, len(r.sinks))
	for _, to := range r.sinks {
		go func() { dialed <- r.dial(d, to) }()
	}
	var failed error
	for _, from := range r.sources {
		select {
		case <-from.arrived:
		case <-r.ctx.Done():
			if failed == nil {
				failed = r.wrap("join", from.rank, context.Cause(r.ctx))
			}
		}
	}
	for range r.sinks {
		if err := <-dialed; failed == nil {
			failed = err
		}
	}
	if failed != nil {
		r.cancel(failed)
		r.release()
		return failed
	}
	return nil
}

// dialGrace is how long a rank that cannot connect to another waits for its other attempts
// to fail, so that it names all ranks to which it cannot connect.
const dialGrace = 100 * time.Millisecond

// dial opens the stream to a sink. Its failure ends the ring.
func (r *Ring) dial(d dialer, to *sink) error {
	us := hello{id: r.id, opts: r.opts}
	them := us
	them.id.Rank = to.rank
	out, theirs, err := d.dial(r.ctx, r.peers[to.rank], to.rank, us)
	if err == nil {
		if err = theirs.check(them); err != nil {
			out.close()
		}
	}
	if err != nil {
		close(to.ended)
		if errors.Is(err, ErrSilent) && r.ctx.Err() == nil { // else it is the reason why the ring has ended
			to.unreachable.Store(true)
			select {
			case <-time.After(dialGrace):
			case <-r.ctx.Done():
			}
		}
		failed := r.wrap("join", to.rank, err)
		r.cancel(failed)
		return failed
	}
	to.out = out
	go r.watch(to)
	go r.keepAlive(to)
	return nil
}

// serve gives a source's stream to the ring until one of the two ends.
func (r *Ring) serve(ctx context.Context, h hello, in incoming) error {
	us := hello{id: r.id, opts: r.opts}
	want := us
	want.id.Rank = h.id.Rank
	if err := h.check(want); err != nil {
		return err
	}
	if sender := in.sender(); sender != "" {
		if err := r.opts.checkIdentity(h.id.Rank, sender); err != nil {
			return err
		}
	}
	from := r.source(h.id.Rank)
	if from == nil {
		return fmt.Errorf("%w: rank %d does not send to rank %d", ErrRefused, h.id.Rank, r.id.Rank)
	}
	if !from.claimed.CompareAndSwap(false, true) {
		return fmt.Errorf("%w: rank %d is connected already", ErrRefused, h.id.Rank)
	}
	if err := in.welcome(us); err != nil {
		r.cancel(r.blame("join", h.id.Rank, err))
		return err
	}
	from.in = in
	close(from.arrived)
	defer close(from.parted)
	select {
	case <-from.drained:
	case <-ctx.Done():
		err := errStreamEnded
		from.reading.Lock() // a reader that is in the middle knows the cause and reports it first
		defer from.reading.Unlock()
		r.cancel(r.blame("receive", h.id.Rank, err))
		return err
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
	if err := in.goodbye(r.id.Generation); err != nil {
		return err
	}
	select {
	case <-ctx.Done(): // the peer has read the goodbye, or is gone
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// source returns the source with that rank, or nil if the rank does not send to us.
func (r *Ring) source(rank int) *source {
	for _, from := range r.sources {
		if from.rank == rank {
			return from
		}
	}
	return nil
}

// watch waits for the end of a sink's stream. So this rank sees at once that the
// peer fails, even while it waits for another rank.
func (r *Ring) watch(to *sink) {
	defer close(to.ended)
	defer to.out.close()
	err := to.out.wait()
	if err == nil && r.closing.Load() {
		return
	}
	if err == nil {
		err = fmt.Errorf("%w: it left the ring", ErrPeerLost)
	}
	r.cancel(r.blame("send", to.rank, err))
}
