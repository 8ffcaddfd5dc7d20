package conduct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/internal/flight/explain"
)

// maxDumps bounds the dumps that a coordinator sends: of a thousand workers and its own.
const maxDumps = 1025

// Flights asks the coordinator for the dumps of its workers and its own.
func (c *Client) Flights(ctx context.Context) (dumps []explain.Source, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	stream, err := c.Control.Flights(ctx, &wire.FlightsRequest{})
	if err != nil {
		return nil, rpcError("ask for the flight recorders", err)
	}
	left := int64(0) // bytes that follow of the last dump
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) && left == 0 {
			return dumps, nil
		}
		if err != nil {
			return dumps, rpcError("receive the flight recorders", err)
		}
		if h := part.GetHeader(); h != nil {
			if left != 0 || h.GetSize() <= 0 || h.GetSize() > flight.MaxDump || len(dumps) == maxDumps {
				return dumps, fmt.Errorf("receive the flight recorders: a dump of %d bytes after %d dumps", h.GetSize(), len(dumps))
			}
			dumps, left = append(dumps, explain.Source{Name: cmp.Or(h.GetWorker(), "the coordinator")}), h.GetSize()
			continue
		}
		if left -= int64(len(part.GetData())); left < 0 || len(part.GetData()) == 0 {
			return dumps, errors.New("receive the flight recorders: a part does not fit its header")
		}
		last := &dumps[len(dumps)-1]
		last.Encoded = append(last.Encoded, part.GetData()...)
	}
}
