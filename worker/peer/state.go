package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/worker/replica"
)

// State sends the training state, if it has the mark that is asked for.
func (s *Server) State(request *wire.StateRequest, stream wire.Peer_StateServer) error {
	r, err := s.of(request.Run)
	if err != nil {
		return err
	}
	want := ergoflow.Mark{Generation: ergoflow.Generation(request.Made), Step: ergoflow.Step(request.Step)}
	encoded, err, _ := s.encodings.Do(fmt.Sprint(request.Run, want), func() (any, error) { return encode(r, want) })
	if err != nil {
		return err
	}
	for part := range slices.Chunk(encoded.([]byte), messageBytes) {
		if err := stream.Send(&wire.Chunk{Data: part}); err != nil {
			return err
		}
	}
	return nil
}

// encode encodes the training state, if it has that mark. Its errors are gRPC's.
func encode(r *replica.Replica, want ergoflow.Mark) ([]byte, error) {
	st, generation, err := r.State()
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if mark := (ergoflow.Mark{Generation: generation, Step: st.Step}); mark != want {
		return nil, status.Errorf(codes.FailedPrecondition, "asked for the state at %s, this worker's is at %s", want, mark)
	}
	encoded, err := st.Encode()
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return encoded, nil
}

// FetchState reads the training state with that mark from another worker. It fails with
// [allreduce.ErrSilent] where there is no way to that worker, or no more.
func FetchState(ctx context.Context, rings *allreduce.Server, member message.Member, r *replica.Replica, want ergoflow.Mark, log *slog.Logger) (*state.State, error) {
	encoded, err := fetch(ctx, rings, member, r, want, log)
	if err != nil {
		return nil, fmt.Errorf("state from peer %s: %w", member.ID, err)
	}
	return state.Decode(encoded, r.Layout())
}

func fetch(ctx context.Context, rings *allreduce.Server, member message.Member, r *replica.Replica, want ergoflow.Mark, log *slog.Logger) ([]byte, error) {
	began := time.Now()
	conn, err := dial(rings, member)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	ctx, watch := watchLink(ctx, rings, member)
	defer watch.end()
	stream, err := wire.NewPeerClient(conn).State(ctx, &wire.StateRequest{
		Run: r.Plan().Run, Step: int64(want.Step), Made: uint64(want.Generation),
	})
	if err != nil {
		return nil, watch.explain(err)
	}
	var encoded bytes.Buffer
	encoded.Grow(3*4*r.Size() + 1<<20) // three vectors, and room for most losses and ledgers
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, watch.explain(err)
		}
		watch.heard.Store(true)
		switch {
		case len(part.Data) == 0: // a peer could send any number of them
			return nil, fmt.Errorf("an empty part after %d bytes", encoded.Len())
		case encoded.Len()+len(part.Data) > ergoflow.MaxState:
			return nil, fmt.Errorf("it exceeds %d bytes", ergoflow.MaxState)
		}
		encoded.Write(part.Data)
	}
	LogTransfer(log, "state", string(member.ID), encoded.Len(), began)
	return encoded.Bytes(), nil
}
