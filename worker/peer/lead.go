package peer

import (
	"encoding/binary"
	"errors"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/worker/replica"
)

// The side of the worker that is followed: see follow.go.

// Follow sends the training state and then every update, until the subscription
// ends. First comes a header of the state and its bytes, then for every update a
// header and the bytes of its sum.
func (s *Server) Follow(request *wire.FollowRequest, stream wire.Peer_FollowServer) error {
	r, err := s.of(request.Run)
	if err != nil {
		return err
	}
	st, generation, updates, err := r.Subscribe()
	if errors.Is(err, replica.ErrSubscriptions) {
		return status.Error(codes.ResourceExhausted, err.Error())
	}
	if err != nil {
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	defer r.Unsubscribe(updates)
	encoded, err := st.Encode()
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	header := &wire.FollowState{Made: uint64(generation), Size: int64(len(encoded))}
	if err := stream.Send(&wire.FollowPart{Part: &wire.FollowPart_State{State: header}}); err != nil {
		return err
	}
	if err := sendData(stream, encoded); err != nil {
		return err
	}
	for {
		select {
		case u, ok := <-updates:
			if !ok {
				return nil
			}
			if err := sendUpdate(stream, u, len(updates)); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// sendUpdate sends an update, behind which that many others wait.
func sendUpdate(stream wire.Peer_FollowServer, u *replica.Update, behind int) error {
	header := &wire.FollowUpdate{Step: int64(u.Step), Generation: uint64(u.Generation), Used: u.Used, Behind: uint32(behind)}
	for _, id := range u.Workers {
		header.Workers = append(header.Workers, string(id))
	}
	if err := stream.Send(&wire.FollowPart{Part: &wire.FollowPart_Update{Update: header}}); err != nil {
		return err
	}
	sum, err := binary.Append(nil, binary.LittleEndian, u.Sum)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return sendData(stream, sum)
}

func sendData(stream wire.Peer_FollowServer, data []byte) error {
	for part := range slices.Chunk(data, messageBytes) {
		if err := stream.Send(&wire.FollowPart{Part: &wire.FollowPart_Data{Data: part}}); err != nil {
			return err
		}
	}
	return nil
}
