package worker

import (
	"context"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/worker/peer"
	"github.com/ergoflow/ergoflow/worker/replica"
)

// prepare opens the replica of a run, or keeps the one that is open, with the settings of the
// order. If the order
// names a member to follow, it follows that member, and onMark is called with
// every mark that the replica gets.
func (w *worker) prepare(ctx context.Context, order message.Prepare, onMark func(ergoflow.Mark)) error {
	r := w.replica.Load()
	if r == nil || !r.Serves(order.Plan) {
		w.drop()
		var err error
		if r, err = w.openReplica(ctx, order); err != nil {
			return err
		}
		w.replica.Store(r)
	} else if err := r.Adopt(ctx, w.replicaConfig(order.Plan, nil)); err != nil {
		return err
	}
	if member := order.Follow; member != (message.Member{}) {
		peer.AwaitReach(ctx, w.rings, member, w.address, w.log, func(reason string) { w.reportRefusal(string(member.ID), reason) })
		w.following.Stop()
		w.following = peer.Follow(ctx, w.rings, r, member, w.log, onMark)
	}
	return nil
}

func (w *worker) openReplica(ctx context.Context, order message.Prepare) (*replica.Replica, error) {
	in, err := w.shardsAt(ctx, order.Store)
	if err != nil {
		return nil, err
	}
	if err := in.fill(ctx, w, order.Plan); err != nil {
		return nil, err
	}
	return replica.Open(ctx, w.replicaConfig(order.Plan, in.dir))
}

func (w *worker) replicaConfig(plan ergoflow.Plan, store *shard.Dir) replica.Config {
	return replica.Config{Plan: plan, Store: store, Backend: w.backend, Verified: &w.verified, Log: w.log}
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
