package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// A burst measures what a link carries in one direction. The traffic of a ring says that of its
// slowest link alone, since all links of a ring pass the same bytes in the same time, and nothing of
// the links that it does not use.

const (
	burstBytes = 4 << 20  // at most; 3 ms of 10 Gbit/s
	burstPart  = 64 << 10 // of one message
	// burstRise is how many bytes do not count: a connection begins slowly, and a rate that is
	// limited by a bucket of tokens begins fast.
	burstRise = 512 << 10
	// enoughBytes after the rise, or enoughTime, end a burst.
	enoughTime  = 200 * time.Millisecond
	enoughBytes = 512 << 10
	// burstTimeout ends it on a slow link.
	burstTimeout = 2 * time.Second
)

// ErrBusy: another worker measures its link from the same one.
var ErrBusy = errors.New("another worker measures at the same time")

// Burst sends bytes without a meaning to one worker at a time: two would halve each other's rate.
func (s *Server) Burst(_ *wire.BurstRequest, stream wire.Peer_BurstServer) error {
	if !s.bursting.CompareAndSwap(false, true) {
		return status.Error(codes.ResourceExhausted, ErrBusy.Error())
	}
	defer s.bursting.Store(false)
	part := &wire.Chunk{Data: make([]byte, burstPart)}
	for range burstBytes / burstPart {
		if err := stream.Send(part); err != nil {
			return err
		}
	}
	return nil
}

// MeasureRate measures how many bytes a second arrive from a worker, which takes 0.2 s, and up to
// 2 s on a slow link. It fails with ErrBusy where another worker measures.
func MeasureRate(ctx context.Context, rings *allreduce.Server, member message.Member) (rate float64, err error) {
	conn, err := dial(rings, member)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, burstTimeout)
	defer cancel()
	stream, err := wire.NewPeerClient(conn).Burst(ctx, &wire.BurstRequest{})
	if err != nil {
		return 0, fmt.Errorf("measure the link from %s: %w", member.ID, err)
	}
	rate, err = receiveBurst(func() (int, error) {
		part, err := stream.Recv()
		return len(part.GetData()), err
	}, time.Now)
	switch {
	case status.Code(err) == codes.ResourceExhausted:
		return 0, fmt.Errorf("measure the link from %s: %w", member.ID, ErrBusy)
	case err != nil:
		return 0, fmt.Errorf("measure the link from %s: %w", member.ID, err)
	}
	return rate, nil
}

// receiveBurst is the rate at which bytes come after the rise, by the clock now. next waits for some.
// Where a slow link has not passed the rise in time, all bytes after the first message count.
func receiveBurst(next func() (int, error), now func() time.Time) (rate float64, err error) {
	type point struct {
		at    time.Time
		bytes int
	}
	var first, risen, last point
	for last.bytes < burstBytes {
		n, err := next()
		if err != nil {
			if errors.Is(err, io.EOF) || status.Code(err) == codes.DeadlineExceeded {
				break
			}
			return 0, err
		}
		if n == 0 || n > burstPart {
			return 0, fmt.Errorf("a part of %d bytes, not 1 to %d", n, burstPart)
		}
		last = point{now(), last.bytes + n}
		if first.bytes == 0 {
			first = last
		}
		if risen.bytes == 0 && last.bytes >= burstRise {
			risen = last
		}
		if risen.bytes > 0 && last.bytes-risen.bytes >= enoughBytes && last.at.Sub(first.at) >= enoughTime {
			break
		}
	}
	from := risen
	if from.bytes == 0 || last.bytes == from.bytes {
		from = first
	}
	took := last.at.Sub(from.at).Seconds()
	if took <= 0 {
		return 0, fmt.Errorf("%d bytes are too few to measure", last.bytes)
	}
	return float64(last.bytes-from.bytes) / took, nil
}
