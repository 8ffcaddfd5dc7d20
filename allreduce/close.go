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

// Close leaves the ring. On a healthy ring it first confirms with all neighbours
// that nothing is in flight, for two seconds at most, so all ranks should close at
// about the same time. To abandon a ring, cancel its context before. An error means
// that a neighbour did not confirm; the ring is closed in any case.
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
	if r.ctx.Err() != nil {
		r.release()
		return nil
	}
	timer := time.AfterFunc(closeTimeout, func() {
		r.cancel(fmt.Errorf("no answer in %v", closeTimeout))
	})
	defer timer.Stop()
	r.closing.Store(true)
	err := r.farewell()
	if err != nil {
		r.cancel(err)
		r.release()
	}
	return err
}

// farewell ends our streams and reads the sources' streams to their ends; then serve
// sends each source a goodbye. A rank that gets a goodbye disconnects. Once this rank
// has got its goodbyes and seen the sources disconnect, all its links are done, and the
// process may exit without breaking a stream.
func (r *Ring) farewell() error {
	for _, to := range r.sinks {
		if err := to.out.finish(); err != nil {
			return r.wrap("close", to.rank, err)
		}
	}
	for _, from := range r.sources {
		var f frame
		if err := r.read(from, &f); !errors.Is(err, io.EOF) {
			if err == nil {
				err = fmt.Errorf("%w: %v after the last step", ErrProtocol, f.header)
				f.free()
			}
			return r.wrap("close", from.rank, err)
		}
		close(from.drained)
	}
	for _, to := range r.sinks {
		<-to.ended
		if err := context.Cause(r.ctx); err != nil {
			return r.wrap("close", to.rank, err)
		}
	}
	for _, from := range r.sources {
		<-from.parted
		if err := context.Cause(r.ctx); err != nil {
			return r.wrap("close", from.rank, err)
		}
	}
	return nil
}
