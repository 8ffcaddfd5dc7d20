package peer

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/worker/replica"
)

// A Server answers other workers' calls from this worker's replica and its cache of shards.
type Server struct {
	wire.UnimplementedPeerServer
	Replica func() *replica.Replica // this worker's; returns nil if there is none
	Rings   *allreduce.Server       // connects to the data ports of others
	Shards  func() *shard.Dir       // copies of shards; returns nil if there are none. Nil: likewise
	readers atomic.Int32            // of shards
	// bursting: a worker measures its link from this one.
	bursting atomic.Bool
	// encodings are states that are being encoded. When a generation forms, many
	// workers ask for one state at once: they share one encoding.
	encodings singleflight.Group
}

// of is the replica of a run, or a gRPC error.
func (s *Server) of(run string) (*replica.Replica, error) {
	if r := s.Replica(); r != nil && r.Plan().Run == run {
		return r, nil
	}
	return nil, status.Errorf(codes.FailedPrecondition, "this worker holds no state of run %.12s", run)
}

// messageBytes is how much of a state travels in one message.
const messageBytes = 1 << 20

// window is how much of a state may be unacknowledged. gRPC's default begins at
// 64 KiB and takes twice as long on loopback, while all other workers wait.
const window = 4 * messageBytes

// dial connects to a worker's data port.
func dial(rings *allreduce.Server, member message.Member) (*grpc.ClientConn, error) {
	conn, err := rings.Client(member.DataAddress, member.Identity,
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window), grpc.WithReadBufferSize(messageBytes/4))
	if err != nil {
		return nil, fmt.Errorf("dial peer %s at %s: %w", member.ID, member.DataAddress, err)
	}
	return conn, nil
}

// LogTransfer logs how fast a state was received. Over the slower of two networks a
// recovery takes minutes, and nothing else shows the cause.
func LogTransfer(log *slog.Logger, what, from string, size int, began time.Time) {
	took := time.Since(began)
	log.Info(what+" received", "from", from, "bytes", size, "took", took.Round(time.Millisecond),
		"rate", fmt.Sprintf("%.3g MB/s", float64(size)/1e6/max(took.Seconds(), 1e-6)))
}
