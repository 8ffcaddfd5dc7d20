package peer

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// When a link carries nothing, TCP reports that after minutes. Meanwhile all members of a
// generation wait for the one that takes its state from another. So a receiver to which
// nothing comes tries to connect anew: a member that only takes long to send accepts that.

// watchInterval is how long nothing comes before the receiver tries to connect.
const watchInterval = time.Second

// watch ends a call to a member when the member is not reached any more.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	rings  *allreduce.Server
	member message.Member
	heard  atomic.Bool // something has come since the last look
}

// watchLink returns the context for the call. End ends the watch.
func watchLink(ctx context.Context, rings *allreduce.Server, member message.Member) (context.Context, *watch) {
	w := &watch{rings: rings, member: member}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	go w.look()
	return w.ctx, w
}

func (w *watch) look() {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-w.ctx.Done():
			return
		}
		if w.heard.Swap(false) {
			continue
		}
		if err := w.rings.Reach(w.ctx, w.member.DataAddress, w.member.Identity); errors.Is(err, allreduce.ErrSilent) && !w.heard.Load() {
			w.cancel(err)
			return
		}
	}
}

// explain returns why a call failed with err: because there is no way to the member, or err.
func (w *watch) explain(err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		return cause
	}
	if silent := w.rings.Reach(w.ctx, w.member.DataAddress, w.member.Identity); errors.Is(silent, allreduce.ErrSilent) {
		return silent
	}
	return err
}

func (w *watch) end() { w.cancel(nil) }
