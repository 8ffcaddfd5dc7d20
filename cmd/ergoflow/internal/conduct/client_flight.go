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
	for {
		first, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return dumps, nil
		}
		if err != nil {
			return dumps, rpcError("receive the flight recorders", err)
		}
		if len(dumps) == maxDumps {
			return dumps, fmt.Errorf("receive the flight recorders: more than %d dumps", maxDumps)
		}
		h := first.GetHeader()
		encoded, err := wire.ReadFlight(h, flight.MaxDump, stream.Recv)
		if err != nil {
			return dumps, rpcError("receive the flight recorders", err)
		}
		dumps = append(dumps, explain.Source{Name: cmp.Or(h.GetWorker(), "the coordinator"), Encoded: encoded})
	}
}
