package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

const (
	maxReaders = 8               // of a worker's shards at a time
	maxAsked   = 16              // workers that Read asks for a shard
	answerTime = 2 * time.Second // within which a worker begins to send
)

// Shard sends the data of a shard that this worker has in its cache. Nothing of the request
// becomes part of a path before the cache has checked it.
func (s *Server) Shard(request *wire.ShardRequest, stream wire.Peer_ShardServer) error {
	if s.readers.Add(1) > maxReaders {
		s.readers.Add(-1)
		return status.Errorf(codes.ResourceExhausted, "%d others read shards of this worker", maxReaders)
	}
	defer s.readers.Add(-1)
	data, err := s.open(request)
	if err != nil {
		return status.Error(codes.NotFound, err.Error())
	}
	defer data.Close()
	buffer := make([]byte, messageBytes)
	for {
		n, err := data.Read(buffer)
		if n > 0 {
			if err := stream.Send(&wire.Chunk{Data: buffer[:n]}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return status.Error(codes.Internal, err.Error())
		}
	}
}

// open opens the data at the request's offset.
func (s *Server) open(request *wire.ShardRequest) (*os.File, error) {
	var dir *shard.Dir
	if s.Shards != nil {
		dir = s.Shards()
	}
	if dir == nil {
		return nil, errors.New("this worker has no copies of shards")
	}
	m, _, data, err := dir.Copy(request.Dataset, int(request.Shard))
	if err != nil {
		return nil, err
	}
	switch {
	case m.SHA256 != request.Sha256:
		err = errors.New("this worker has another shard of that number")
	case request.Offset < 0 || request.Offset > m.Bytes:
		err = fmt.Errorf("it has %d bytes, not %d", m.Bytes, request.Offset)
	default:
		_, err = data.Seek(request.Offset, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, data.Close())
	}
	return data, nil
}

// Copies reads shards from the caches of other workers. Connections stay until Close.
type Copies struct {
	rings  *allreduce.Server
	others func() []message.Member // workers, but for this one

	mu    sync.Mutex
	conns map[string]*grpc.ClientConn // by the data address
	none  map[string]bool             // addresses at which nobody answered
}

// NewCopies reads from the workers that others names at each time.
func NewCopies(rings *allreduce.Server, others func() []message.Member) *Copies {
	return &Copies{rings: rings, others: others, conns: make(map[string]*grpc.ClientConn), none: make(map[string]bool)}
}

// Close ends the connections.
func (c *Copies) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for _, conn := range c.conns {
		err = errors.Join(err, conn.Close())
	}
	return err
}

// Read begins to read a shard's data from an offset on, at a worker that has them. It fails with
// shard.ErrNotFound where none of those that it asks has.
func (c *Copies) Read(ctx context.Context, m shard.Manifest, offset int64) (io.ReadCloser, error) {
	others := c.others()
	for i := range min(len(others), maxAsked) {
		member := others[(i+m.Shard)%len(others)] // each shard begins at another worker
		if r, err := c.ask(ctx, member, m, offset); err == nil {
			return r, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return nil, fmt.Errorf("shard %d of %.12s at other workers: %w", m.Shard, m.Dataset, shard.ErrNotFound)
}

func (c *Copies) conn(member message.Member) (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.none[member.DataAddress] {
		return nil, fmt.Errorf("%s did not answer", member.DataAddress)
	}
	if conn := c.conns[member.DataAddress]; conn != nil {
		return conn, nil
	}
	conn, err := dial(c.rings, member)
	if err == nil {
		c.conns[member.DataAddress] = conn
	}
	return conn, err
}

// ask asks one worker, and waits for its first bytes.
func (c *Copies) ask(ctx context.Context, member message.Member, m shard.Manifest, offset int64) (io.ReadCloser, error) {
	conn, err := c.conn(member)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(answerTime, cancel)
	stream, err := wire.NewPeerClient(conn).Shard(ctx, &wire.ShardRequest{Dataset: m.Dataset, Shard: uint32(m.Shard), Sha256: m.SHA256, Offset: offset})
	var first *wire.Chunk
	if err == nil {
		first, err = stream.Recv()
	}
	if !late.Stop() || status.Code(err) == codes.Unavailable {
		c.mu.Lock()
		c.none[member.DataAddress] = true
		c.mu.Unlock()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return &incoming{stream: stream, cancel: cancel, rest: first.Data}, nil
}

var _ depot.Peers = (*Copies)(nil)

// incoming is the data that a worker sends.
type incoming struct {
	stream wire.Peer_ShardClient
	cancel context.CancelFunc
	rest   []byte
}

func (i *incoming) Read(b []byte) (int, error) {
	for len(i.rest) == 0 {
		chunk, err := i.stream.Recv()
		if err != nil {
			return 0, err
		}
		if len(chunk.Data) == 0 { // a peer could send any number of them
			return 0, errors.New("an empty part of a shard")
		}
		i.rest = chunk.Data
	}
	n := copy(b, i.rest)
	i.rest = i.rest[n:]
	return n, nil
}

// Close ends the call.
func (i *incoming) Close() error {
	i.cancel()
	return nil
}
