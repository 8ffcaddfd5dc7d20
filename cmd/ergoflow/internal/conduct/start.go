package conduct

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

const (
	// partBytes is how much of a state travels in one message.
	partBytes = 256 << 10
	// stallTimeout bounds how long an upload may make no progress.
	stallTimeout = time.Minute
)

// saveStart stores the state at step 0 of a run that begins from an earlier state. To store it
// again changes nothing.
func (c *Client) saveStart(ctx context.Context, plan ergoflow.Plan, encoded []byte) error {
	what := "store the state from which " + plan.Experiment + " begins"
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(stallTimeout, func() { cancel(fmt.Errorf("%s: %w (no progress for %v)", what, ErrUnreachable, stallTimeout)) })
	defer stall.Stop()
	stream, err := c.Control.SaveStart(ctx)
	if err != nil {
		return rpcError(what, err)
	}
	sum := sha256.Sum256(encoded)
	err = stream.Send(&wire.CheckpointPart{Part: &wire.CheckpointPart_Header{Header: &wire.CheckpointHeader{
		Run: plan.Run, Experiment: plan.Experiment, Loss: math.NaN(), Size: int64(len(encoded)), Sha256: sum[:],
	}}})
	for part := range slices.Chunk(encoded, partBytes) {
		if err != nil {
			break
		}
		stall.Reset(stallTimeout)
		err = stream.Send(&wire.CheckpointPart{Part: &wire.CheckpointPart_Data{Data: part}})
	}
	if err == nil || errors.Is(err, io.EOF) { // after EOF the reply has the reason
		_, err = stream.CloseAndRecv()
	}
	if err != nil {
		return cmp.Or(context.Cause(ctx), rpcError(what, err))
	}
	return nil
}
