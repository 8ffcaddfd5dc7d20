package worker

import (
	"encoding/binary"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// The side of a member that is followed: see follow.go.

const (
	maxFollowers = 8 // of one worker: each costs it the way of every sum
	// queueLength bounds the updates that wait for a follower. One that is further
	// behind than that is too slow.
	queueLength = 8
)

// An update is what takes a state to the next. It is shared and not to be changed.
type update struct {
	step       ergoflow.Step // updates applied before it
	generation ergoflow.Generation
	workers    []ergoflow.WorkerID
	used       ledger.Record
	sum        []float32
}

// lead copies the state and has the queue get every update after it.
func (r *replica) lead() (*state.State, ergoflow.Generation, chan *update, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.followers) == maxFollowers {
		return nil, 0, nil, status.Errorf(codes.ResourceExhausted, "followed by %d workers already", maxFollowers)
	}
	st, made, err := r.copyState()
	if err != nil {
		return nil, 0, nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	if r.followers == nil {
		r.followers = make(map[chan *update]bool)
	}
	queue := make(chan *update, queueLength)
	r.followers[queue] = true
	return st, made, queue, nil
}

// tell the followers of an update; mu is held.
func (r *replica) tell(step ergoflow.Step, g ergoflow.Generation, workers []ergoflow.WorkerID, used ledger.Record, sum []float32) {
	if len(r.followers) == 0 {
		return
	}
	u := &update{step, g, workers, slices.Clone(used), slices.Clone(sum)}
	for queue := range r.followers {
		select {
		case queue <- u:
		default:
			r.letGo(queue)
		}
	}
}

// letGo ends one follower's queue; mu is held.
func (r *replica) letGo(queue chan *update) {
	if r.followers[queue] {
		delete(r.followers, queue)
		close(queue)
	}
}

// dismiss ends all queues, after what is in them; mu is held.
func (r *replica) dismiss() {
	for queue := range r.followers {
		r.letGo(queue)
	}
}

// dismissAll is dismiss, at the end of a generation.
func (r *replica) dismissAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dismiss()
}

func (p *peerServer) Follow(request *wire.FollowRequest, stream wire.Peer_FollowServer) error {
	r := p.w.replica.Load()
	if r == nil || r.plan.Run != request.Run {
		return status.Errorf(codes.FailedPrecondition, "this worker holds no state of run %.12s", request.Run)
	}
	st, made, queue, err := r.lead()
	if err != nil {
		return err
	}
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.letGo(queue)
	}()
	data := func(piece []byte) error {
		return stream.Send(&wire.FollowPart{Part: &wire.FollowPart_Data{Data: piece}})
	}
	encoded, err := st.Encode()
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	header := &wire.FollowState{Made: uint64(made), Size: int64(len(encoded))}
	if err := stream.Send(&wire.FollowPart{Part: &wire.FollowPart_State{State: header}}); err != nil {
		return err
	}
	if err := inChunks(encoded, chunkBytes, data); err != nil {
		return err
	}
	for {
		select {
		case u, ok := <-queue:
			if !ok {
				return nil
			}
			if err := stream.Send(&wire.FollowPart{Part: &wire.FollowPart_Update{Update: u.header(len(queue))}}); err != nil {
				return err
			}
			sum, err := binary.Append(nil, binary.LittleEndian, u.sum)
			if err != nil {
				return status.Error(codes.Internal, err.Error())
			}
			if err := inChunks(sum, chunkBytes, data); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

func (u *update) header(behind int) *wire.FollowUpdate {
	h := &wire.FollowUpdate{Step: int64(u.step), Generation: uint64(u.generation), Used: u.used, Behind: uint32(behind)}
	for _, id := range u.workers {
		h.Workers = append(h.Workers, string(id))
	}
	return h
}
