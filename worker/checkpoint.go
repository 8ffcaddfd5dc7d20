package worker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/worker/peer"
	"github.com/ergoflow/ergoflow/worker/protocol"
	"github.com/ergoflow/ergoflow/worker/replica"
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

// fetchCheckpoint loads a checkpoint of the run from the coordinator.
func fetchCheckpoint(ctx context.Context, control wire.ControlClient, r *replica.Replica, want ergoflow.Mark, log *slog.Logger) (*state.State, error) {
	began := time.Now()
	stream, err := control.LoadCheckpoint(ctx, &wire.LoadRequest{Run: r.Plan().Run, Step: int64(want.Step), Generation: uint64(want.Generation)})
	if err != nil {
		return nil, fmt.Errorf("load checkpoint: %w", err)
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, fmt.Errorf("load checkpoint: %w", err)
	}
	encoded, err := wire.ReadCheckpoint(first.GetHeader(), stream.Recv)
	if err != nil {
		return nil, fmt.Errorf("load checkpoint at %s: %w", want, err)
	}
	peer.LogTransfer(log, "checkpoint", "the coordinator", len(encoded), began)
	return state.Decode(encoded, r.Layout())
}
