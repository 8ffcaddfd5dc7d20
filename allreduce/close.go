package allreduce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// closeTimeout bounds the closing handshake.
const closeTimeout = 2 * time.Second

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
