package worker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// A worker that joins follows a member before it is admitted: it takes the state,
// and then makes every update that the members make, from the same sums by the
// same program. When the next generation forms it holds the members' state, to the
// bit, and nobody waits for it to be sent. All of it is a hint: a worker that
// could not follow, or fell behind, fetches the state when it is assigned.

const (
	// catchUpTime is how long a worker tries to be at the members' state before it
	// is admitted without.
	catchUpTime = 10 * time.Second
	// followTime is how long it goes on then: it is admitted at once, or there are
	// more workers than can be used.
	followTime = 5 * time.Second
	// quiet is how long nothing comes where nobody steps.
	quiet = time.Second
	// lastTime is how long a report waits for the last update of the generation
	// before, which is on its way.
	lastTime = 500 * time.Millisecond
)

// following is the task of a replica that follows.
type following struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// follow begins to follow the peer, and returns when the replica has caught up or
// cannot. Only the session's work calls it, unfollow and awaitLast: one at a time.
// told hears of every state that the replica comes to hold.
func (r *replica) follow(ctx context.Context, peer message.Member, log *slog.Logger, told func(ergoflow.Mark)) {
	r.unfollow()
	long, cancel := context.WithTimeout(context.WithoutCancel(ctx), catchUpTime+followTime)
	f := &following{cancel: cancel, done: make(chan struct{})}
	r.leader = f
	caughtUp := make(chan struct{})
	go func() {
		defer close(f.done)
		if err := r.takeUpdates(long, peer, log, told, sync.OnceFunc(func() { close(caughtUp) })); err != nil && long.Err() == nil {
			log.Warn("cannot follow; the state will be fetched", "peer", peer.ID, "error", err)
		}
	}()
	timer := time.NewTimer(catchUpTime)
	defer timer.Stop()
	select {
	case <-caughtUp:
		time.AfterFunc(followTime, cancel)
	case <-f.done:
	case <-timer.C:
	case <-ctx.Done():
		r.unfollow()
	}
}

// unfollow stops, at once.
func (r *replica) unfollow() {
	if r.leader != nil {
		r.leader.cancel()
		<-r.leader.done
		r.leader = nil
	}
}

// awaitLast stops when the generation that is followed has ended and its last
// update is made.
func (r *replica) awaitLast(ctx context.Context) {
	if r.leader == nil {
		return
	}
	timer := time.NewTimer(lastTime)
	defer timer.Stop()
	select {
	case <-r.leader.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	r.unfollow()
}

// takeUpdates takes the peer's state, unless this one is newer, and makes its
// updates until it has no more of them.
func (r *replica) takeUpdates(ctx context.Context, peer message.Member, log *slog.Logger, told func(ergoflow.Mark), caughtUp func()) error {
	conn, err := dialPeer(peer)
	if err != nil {
		return err
	}
	defer conn.Close()
	began := time.Now()
	stream, err := wire.NewPeerClient(conn).Follow(ctx, &wire.FollowRequest{Run: r.plan.Run})
	if err != nil {
		return err
	}
	ours, theirs, err := r.takeState(stream, func(bytes int) { logTransfer(log, "state", string(peer.ID), bytes, began) })
	if err != nil {
		return err
	}
	log.Info("following", "peer", peer.ID, "held", ours, "took", theirs)
	told(theirs)
	return r.makeUpdates(stream, told, caughtUp)
}

// makeUpdates makes what comes after the state, until the stream ends.
func (r *replica) makeUpdates(stream wire.Peer_FollowClient, told func(ergoflow.Mark), caughtUp func()) error {
	defer time.AfterFunc(quiet, caughtUp).Stop()
	sum := make([]float32, r.trainer.Size()+2)
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		u := part.GetUpdate()
		if err := r.check(u); err != nil {
			return err
		}
		encoded, err := receiveData(stream, 4*len(sum))
		if err != nil {
			return err
		}
		if _, err := binary.Decode(encoded, binary.LittleEndian, sum); err != nil {
			return err
		}
		workers := make([]ergoflow.WorkerID, len(u.Workers))
		for i, id := range u.Workers {
			workers[i] = ergoflow.WorkerID(id)
		}
		if _, _, err := r.apply(sum, u.Used, ergoflow.Generation(u.Generation), workers); err != nil {
			return fmt.Errorf("update of step %d: %w", u.Step, err)
		}
		told(ergoflow.Mark{Generation: ergoflow.Generation(u.Generation), Step: ergoflow.Step(u.Step + 1)})
		if u.Behind == 0 {
			caughtUp()
		}
	}
}

// takeState reads what a stream begins with, in the place of ours. came hears when it
// is there.
func (r *replica) takeState(stream wire.Peer_FollowClient, came func(bytes int)) (ours, theirs ergoflow.Mark, err error) {
	part, err := stream.Recv()
	if err != nil {
		return ours, theirs, err
	}
	header := part.GetState()
	if header.GetSize() < 1 || header.GetSize() > ergoflow.MaxState {
		return ours, theirs, fmt.Errorf("a state of %d bytes, not 1 to %d", header.GetSize(), ergoflow.MaxState)
	}
	encoded, err := receiveData(stream, int(header.Size))
	if err != nil {
		return ours, theirs, err
	}
	came(len(encoded))
	st, err := state.Decode(encoded, r.experiment.Velocity().Layout())
	if err != nil {
		return ours, theirs, err
	}
	theirs = ergoflow.Mark{Generation: ergoflow.Generation(header.Made), Step: st.Step}
	r.mu.Lock()
	ours, held := r.mark(), r.held
	r.mu.Unlock()
	if held && ours.Compare(theirs) >= 0 {
		return ours, theirs, fmt.Errorf("it is at %s, this worker at %s", theirs, ours)
	}
	return ours, theirs, r.load(st, theirs.Generation)
}

// check refuses an update that is not the next.
func (r *replica) check(u *wire.FollowUpdate) error {
	at := r.at()
	switch {
	case u == nil:
		return errors.New("got something else instead of an update")
	case u.Step != int64(at) || at >= r.plan.Steps:
		return fmt.Errorf("got the update after step %d, at step %d of %d", u.Step, at, r.plan.Steps)
	case len(u.Used) != 2*r.plan.Shards:
		return fmt.Errorf("got an account of %d numbers, not %d", len(u.Used), 2*r.plan.Shards)
	case len(u.Workers) < 1 || len(u.Workers) > ergoflow.MaxWorld:
		return fmt.Errorf("got an update of %d workers", len(u.Workers))
	}
	return nil
}

// receiveData reads so many bytes, in whatever pieces they come.
func receiveData(stream wire.Peer_FollowClient, size int) ([]byte, error) {
	var data bytes.Buffer
	data.Grow(min(size, 64<<20)) // more than that is believed when it comes
	for data.Len() < size {
		part, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		piece := part.GetData()
		if len(piece) == 0 || data.Len()+len(piece) > size {
			return nil, fmt.Errorf("got %d bytes where %d are missing", len(piece), size-data.Len())
		}
		data.Write(piece)
	}
	return data.Bytes(), nil
}
