package conduct

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/finitejson"
)

// Events calls each with the events that the coordinator keeps after a position, oldest first,
// and with follow also with those to come, until ctx ends or each fails.
func (c *Client) Events(ctx context.Context, after journal.Position, follow bool, each func([]journal.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const what = "ask the coordinator for its events"
	stream, err := c.Control.Events(ctx, &wire.EventsRequest{Start: after.Start, After: after.Number, Follow: follow})
	if err != nil {
		return rpcError(what, err)
	}
	for {
		reply, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return rpcError(what, err)
		}
		var events []journal.Event
		if err := finitejson.Unmarshal(reply.Json, &events); err != nil {
			return fmt.Errorf("read the coordinator's events: %w", err)
		}
		if err := each(events); err != nil {
			return err
		}
	}
}
