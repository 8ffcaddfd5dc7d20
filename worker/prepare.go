package worker

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/worker/peer"
	"github.com/ergoflow/ergoflow/worker/replica"
)

// What a session's work does with the replica before and between ranks.

// prepare opens the replica of a run, or keeps the one that is open. If the order
// names a member to follow, it follows that member, and onMark hears every mark that
// the replica gets.
func (w *worker) prepare(ctx context.Context, order message.Prepare, onMark func(ergoflow.Mark)) error {
	r := w.replica.Load()
	if r == nil || !r.ReusableFor(order.Plan) {
		w.drop()
		var err error
		if r, err = w.openReplica(ctx, order); err != nil {
			return err
		}
		w.replica.Store(r)
	}
	if member := order.Follow; member != (message.Member{}) {
		peer.AwaitReach(ctx, member, w.address, w.log, func(reason string) { w.reportRefusal(string(member.ID), reason) })
		w.following.Stop()
		w.following = peer.Follow(ctx, r, member, w.log, onMark)
	}
	return nil
}

func (w *worker) openReplica(ctx context.Context, order message.Prepare) (*replica.Replica, error) {
	return replica.Open(ctx, replica.Config{
		Plan: order.Plan, Store: shard.NewDir(order.Store), Backend: w.backend, Verified: &w.verified, Log: w.log,
	})
}

// drop closes the replica, if there is one, when no upload is under way.
func (w *worker) drop() {
	w.following.Stop()
	w.following = nil
	if r := w.replica.Swap(nil); r != nil {
		_ = w.uploads.wait(context.Background()) // every upload ends
		r.Close()
	}
}

// hello introduces the worker to the coordinator, with the state that it has from
// earlier sessions.
func (w *worker) hello() message.Hello {
	hello := message.Hello{
		Worker: message.Worker{
			ID:          w.id,
			Version:     ergoflow.Build(),
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
	report := message.Report{Generation: generation}
	r := w.replica.Load()
	if r == nil {
		return report, nil
	}
	w.following.Finish(ctx)
	w.following = nil
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
		st, err = peer.FetchState(ctx, source.Peer, r, want, s.w.log)
	case message.SourceCheckpoint:
		st, err = fetchCheckpoint(ctx, s.control, r, want, s.w.log)
	case message.SourceFresh:
		st = r.Fresh()
	default:
		return fmt.Errorf("unknown source of state: %s", source.Kind)
	}
	if err != nil {
		return err
	}
	if st.Step != want.Step {
		return fmt.Errorf("got a state at step %d instead of %d", st.Step, want.Step)
	}
	return r.Load(st, want.Generation)
}
