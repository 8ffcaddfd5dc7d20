package allreduce

import (
	"context"
	"fmt"
)

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
