package worker

import (
	"context"

	"github.com/ergoflow/ergoflow/worker/protocol"
)

// save takes a checkpoint of the present state. The steps stop only while the state
// is copied.
func (s *session) save(ctx context.Context, order protocol.Save) {
	w := s.w
	r := w.replica.Load()
	if r == nil {
		return
	}
	failed := func(err error) {
		if order.Final {
			s.post(protocol.NotSaved{Err: err})
		}
	}
	if order.Final {
		if err := w.uploads.wait(ctx); err != nil {
			failed(err)
			return
		}
	}
	st, generation, err := r.State()
	if err != nil {
		w.log.Error("checkpoint not taken", "error", err)
		failed(err)
		return
	}
	w.uploads.start(s.address, checkpoint{plan: r.Plan(), generation: generation, state: st, final: order.Final}, failed)
}
