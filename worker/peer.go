package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// chunkBytes is how much state travels in one message.
const chunkBytes = 1 << 20

// peerServer hands this worker's training state to workers that lag behind.
type peerServer struct {
	wire.UnimplementedPeerServer
	w *worker
	// copies are states that are being encoded. When a generation forms many ask for
	// one at once: they share one copy.
	copies singleflight.Group
}

func (p *peerServer) State(request *wire.StateRequest, stream wire.Peer_StateServer) error {
	r := p.w.replica.Load()
	if r == nil || r.plan.Run != request.Run {
		return status.Errorf(codes.FailedPrecondition, "this worker holds no state of run %.12s", request.Run)
	}
	asked := ergoflow.Mark{Generation: ergoflow.Generation(request.Made), Step: ergoflow.Step(request.Step)}
	encoded, err, _ := p.copies.Do(fmt.Sprint(request.Run, asked), func() (any, error) { return r.encoded(asked) })
	if err != nil {
		return err
	}
	return inChunks(encoded.([]byte), chunkBytes, func(data []byte) error { return stream.Send(&wire.Chunk{Data: data}) })
}

// encoded is the state, if it is the one that is asked for. Its errors are gRPC's.
func (r *replica) encoded(asked ergoflow.Mark) ([]byte, error) {
	st, made, err := r.state()
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if have := (ergoflow.Mark{Generation: made, Step: ergoflow.Step(st.Step)}); have != asked {
		return nil, status.Errorf(codes.FailedPrecondition, "asked for %s, hold %s", asked, have)
	}
	encoded, err := st.Encode()
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return encoded, nil
}

// inChunks sends data in pieces of so many bytes.
func inChunks(data []byte, size int, send func([]byte) error) error {
	for len(data) > 0 {
		n := min(size, len(data))
		if err := send(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// window is how much of a state may be under way. All others wait for it, and
// gRPC's default, which begins with 64 KiB, takes twice as long on loopback.
const window = 4 * chunkBytes

func dialPeer(peer message.Member) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(peer.DataAddress, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window), grpc.WithReadBufferSize(chunkBytes/4))
	if err != nil {
		return nil, fmt.Errorf("dial peer %s at %s: %w", peer.ID, peer.DataAddress, err)
	}
	return conn, nil
}

// fetchFromPeer reads a state from another worker.
func fetchFromPeer(ctx context.Context, peer message.Member, r *replica, want ergoflow.Mark, log *slog.Logger) (*state.State, error) {
	began := time.Now()
	conn, err := dialPeer(peer)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stream, err := wire.NewPeerClient(conn).State(ctx, &wire.StateRequest{Run: r.plan.Run, Step: int64(want.Step), Made: uint64(want.Generation)})
	if err != nil {
		return nil, fmt.Errorf("state from peer %s: %w", peer.ID, err)
	}
	var encoded bytes.Buffer
	encoded.Grow(3*4*r.trainer.Size() + 1<<20) // three vectors, and most losses and ledgers
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("state from peer %s: %w", peer.ID, err)
		}
		switch {
		case len(chunk.Data) == 0: // of which any number could come
			return nil, fmt.Errorf("state from peer %s: an empty chunk after %d bytes", peer.ID, encoded.Len())
		case encoded.Len()+len(chunk.Data) > ergoflow.MaxState:
			return nil, fmt.Errorf("state from peer %s exceeds %d bytes", peer.ID, ergoflow.MaxState)
		}
		encoded.Write(chunk.Data)
	}
	logTransfer(log, "state", string(peer.ID), encoded.Len(), began)
	return state.Decode(encoded.Bytes(), r.experiment.Velocity().Layout())
}
