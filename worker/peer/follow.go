package peer

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
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/worker/replica"
)

// A worker that joins follows a member of the training group before it is admitted.
// It takes the member's state, and then applies every update that the members
// apply: the same sums, by the same program. When the next generation forms, it
// holds the members' state bit for bit, and nobody waits for a transfer. Following
// only saves time: a worker that could not follow, or fell behind, fetches the state
// when it is assigned.

const (
	// catchUpTimeout bounds how long a worker tries to catch up with the members
	// before it is admitted with an older state.
	catchUpTimeout = 10 * time.Second
	// followTime is how long it follows after that. A worker that the run can use is
	// admitted at once.
	followTime = 5 * time.Second
	// idleTime without an update means that the members make no steps.
	idleTime = time.Second
	// lastUpdateTimeout bounds the wait for the last update of a generation that has
	// ended: it is on its way.
	lastUpdateTimeout = 500 * time.Millisecond
)

// Following is the task of following a member. A nil Following has ended. Its methods
// are called one at a time.
type Following struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// Follow starts to follow the member, and returns when the replica has caught up,
// cannot follow, or ctx ends. Following continues after that, for followTime unless
// ctx has ended. onMark is called with every mark that the replica gets.
func Follow(ctx context.Context, rings *allreduce.Server, r *replica.Replica, member message.Member, log *slog.Logger, onMark func(ergoflow.Mark)) *Following {
	longer, cancel := context.WithTimeout(context.WithoutCancel(ctx), catchUpTimeout+followTime)
	f := &Following{cancel: cancel, done: make(chan struct{})}
	caughtUp := make(chan struct{})
	task := &follower{replica: r, onMark: onMark, caughtUp: sync.OnceFunc(func() { close(caughtUp) })}
	go func() {
		defer close(f.done)
		if err := task.follow(longer, rings, member, log); err != nil && longer.Err() == nil {
			log.Warn("cannot follow; the state will be fetched", "peer", member.ID, "error", err)
		}
	}()
	timer := time.NewTimer(catchUpTimeout)
	defer timer.Stop()
	select {
	case <-caughtUp:
		time.AfterFunc(followTime, cancel)
	case <-f.done:
	case <-timer.C:
	case <-ctx.Done():
		f.Stop()
	}
	return f
}

// Stop ends it at once.
func (f *Following) Stop() {
	if f != nil {
		f.cancel()
		<-f.done
	}
}

// Finish waits for the last update of the generation, up to lastUpdateTimeout, and
// ends it.
func (f *Following) Finish(ctx context.Context) {
	if f == nil {
		return
	}
	timer := time.NewTimer(lastUpdateTimeout)
	defer timer.Stop()
	select {
	case <-f.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	f.Stop()
}

// A follower applies to a replica what a member sends.
type follower struct {
	replica  *replica.Replica
	onMark   func(ergoflow.Mark)
	caughtUp func() // no update waits at the member
}

// follow takes the member's state, unless the replica's is newer, and applies the
// member's updates until the stream ends.
func (f *follower) follow(ctx context.Context, rings *allreduce.Server, member message.Member, log *slog.Logger) error {
	conn, err := dial(rings, member)
	if err != nil {
		return err
	}
	defer conn.Close()
	began := time.Now()
	stream, err := wire.NewPeerClient(conn).Follow(ctx, &wire.FollowRequest{Run: f.replica.Plan().Run})
	if err != nil {
		return err
	}
	encoded, generation, err := receiveState(stream)
	if err != nil {
		return err
	}
	LogTransfer(log, "state", string(member.ID), len(encoded), began)
	ours, theirs, err := f.load(encoded, generation)
	if err != nil {
		return err
	}
	log.Info("following", "peer", member.ID, "held", ours, "took", theirs)
	f.onMark(theirs)
	return f.applyUpdates(stream)
}

// load replaces the replica's state by a newer one.
func (f *follower) load(encoded []byte, generation ergoflow.Generation) (ours, theirs ergoflow.Mark, err error) {
	st, err := state.Decode(encoded, f.replica.Layout())
	if err != nil {
		return ours, theirs, err
	}
	theirs = ergoflow.Mark{Generation: generation, Step: st.Step}
	ours, hasState := f.replica.Mark()
	if hasState && ours.Compare(theirs) >= 0 {
		return ours, theirs, fmt.Errorf("it is at %s, this worker at %s", theirs, ours)
	}
	return ours, theirs, f.replica.Load(st, generation)
}

// applyUpdates applies the updates after the state, until the stream ends.
func (f *follower) applyUpdates(stream wire.Peer_FollowClient) error {
	defer time.AfterFunc(idleTime, f.caughtUp).Stop()
	sum := make([]float32, f.replica.SumLength())
	for {
		u, behind, err := f.receiveUpdate(stream, sum)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, _, err := f.replica.Apply(u); err != nil {
			return fmt.Errorf("update of step %d: %w", u.Step, err)
		}
		mark, _ := f.replica.Mark()
		f.onMark(mark)
		if behind == 0 {
			f.caughtUp()
		}
	}
}

// receiveUpdate reads the next update, its sum into the given vector, and how many
// others wait behind it. It is io.EOF where the stream ends between two updates.
func (f *follower) receiveUpdate(stream wire.Peer_FollowClient, sum []float32) (u replica.Update, behind uint32, err error) {
	part, err := stream.Recv()
	if err != nil {
		return u, 0, err
	}
	header := part.GetUpdate()
	if header == nil {
		return u, 0, errors.New("received something other than an update")
	}
	u = replica.Update{
		Step:       ergoflow.Step(header.Step),
		Generation: ergoflow.Generation(header.Generation),
		Workers:    make([]ergoflow.WorkerID, len(header.Workers)),
		Used:       header.Used,
		Sum:        sum,
	}
	for i, id := range header.Workers {
		u.Workers[i] = ergoflow.WorkerID(id)
	}
	if err := f.replica.CheckNext(u); err != nil {
		return u, 0, err
	}
	encoded, err := receiveData(stream, 4*len(sum))
	if err != nil {
		return u, 0, unexpected(err)
	}
	_, err = binary.Decode(encoded, binary.LittleEndian, sum)
	return u, header.Behind, err
}

// unexpected is an error where the stream must not end.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// receiveState reads the state that a stream begins with.
func receiveState(stream wire.Peer_FollowClient) (encoded []byte, generation ergoflow.Generation, err error) {
	part, err := stream.Recv()
	if err != nil {
		return nil, 0, err
	}
	header := part.GetState()
	if header.GetSize() < 1 || header.GetSize() > ergoflow.MaxState {
		return nil, 0, fmt.Errorf("a state of %d bytes, not 1 to %d", header.GetSize(), ergoflow.MaxState)
	}
	encoded, err = receiveData(stream, int(header.Size))
	return encoded, ergoflow.Generation(header.GetMade()), err
}

// receiveData reads that many bytes, in parts of any size.
func receiveData(stream wire.Peer_FollowClient, size int) ([]byte, error) {
	var data bytes.Buffer
	data.Grow(min(size, 64<<20)) // beyond that, memory is allocated as the data comes
	for data.Len() < size {
		part, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		piece := part.GetData()
		if len(piece) == 0 || data.Len()+len(piece) > size {
			return nil, fmt.Errorf("received %d bytes where %d are missing", len(piece), size-data.Len())
		}
		data.Write(piece)
	}
	return data.Bytes(), nil
}
