package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/worker/peer"
	"github.com/ergoflow/ergoflow/worker/protocol"
	"github.com/ergoflow/ergoflow/worker/replica"
)

// hello introduces the worker to the coordinator, with the state that it has from
// earlier sessions.
func (w *worker) hello() message.Hello {
	hello := message.Hello{
		Worker: message.Worker{
			ID:          w.id,
			Release:     ergoflow.ThisRelease(),
			DataAddress: w.address,
			Device:      w.backend.Name,
			PID:         os.Getpid(),
			Secret:      w.secret,
		},
		Newest: w.rings.Newest(),
	}
	if r := w.replica.Load(); r != nil {
		hello.Run = r.Plan().Run
		hello.State, hello.HasState = r.Mark()
	}
	return hello
}

// describe reports the training state. From all reports the coordinator chooses the
// generation's state.
func (w *worker) describe(ctx context.Context, generation ergoflow.Generation) (message.Report, error) {
	report := message.Report{Generation: generation, Links: w.links()}
	r := w.replica.Load()
	if r == nil {
		return report, nil
	}
	w.following.Finish(ctx)
	w.following = nil
	report.SumBytes = r.BucketBytes()
	mark, hash, err := r.Fingerprint()
	if errors.Is(err, replica.ErrNoState) {
		return report, nil
	}
	report.HasState, report.State, report.Hash = true, mark, string(hash[:])
	return report, err
}

// takeState brings the replica to the state that a generation begins with.
func (s *session) takeState(ctx context.Context, r *replica.Replica, source message.Source) error {
	var st *state.State
	var err error
	want := source.State
	switch source.Kind {
	case message.SourceOwn:
		return r.Require(want)
	case message.SourcePeer:
		st, err = peer.FetchState(ctx, s.w.rings, source.Peer, r, want, s.w.log)
		if err != nil {
			return blamePeer(source.Peer.ID, err)
		}
	case message.SourceCheckpoint:
		st, err = fetchCheckpoint(ctx, s.control, r, want, s.w.log)
		if err == nil && st.Step == 0 && r.Plan().Start != "" {
			err = r.Experiment().IsStart(st)
		}
	case message.SourceFresh:
		if r.Plan().Start != "" {
			return fmt.Errorf("run %.12s does not begin from random parameters", r.Plan().Run)
		}
		st = r.Fresh()
	default:
		return fmt.Errorf("unknown source of state: %s", source.Kind)
	}
	if err != nil {
		return err
	}
	if source.Kind != message.SourceFresh {
		s.w.meter.count(func(c *counts) { c.fetched[source.Kind]++ })
	}
	if st.Step != want.Step {
		return fmt.Errorf("got a state at step %d instead of %d", st.Step, want.Step)
	}
	return r.Load(st, want.Generation)
}

// blamePeer is the error of a rank that does not get the state from another.
func blamePeer(peer ergoflow.WorkerID, err error) error {
	blame := &protocol.Blame{Peer: peer, Err: err}
	if errors.Is(err, allreduce.ErrSilent) {
		blame.Silent = []ergoflow.WorkerID{peer}
	}
	return blame
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
