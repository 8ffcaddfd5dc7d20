package worker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// stallTimeout bounds how long an upload may make no progress: the coordinator may be
// gone.
const stallTimeout = time.Minute

// An uploader uploads checkpoints in the background, one at a time. While one is
// under way the next is skipped, so that the steps never wait.
type uploader struct {
	id     ergoflow.WorkerID
	secret uint64
	trust  *trust.Credentials // nil: plain text
	log    *slog.Logger
	meter  *meter
	slot   chan struct{} // holds one token while an upload is under way
}

func newUploader(id ergoflow.WorkerID, secret uint64, trust *trust.Credentials, log *slog.Logger, meter *meter) *uploader {
	return &uploader{id: id, secret: secret, trust: trust, log: log, meter: meter, slot: make(chan struct{}, 1)}
}

// A checkpoint is a state on its way to the coordinator.
type checkpoint struct {
	plan       ergoflow.Plan
	generation ergoflow.Generation // which made the last update
	state      *state.State
	final      bool // see protocol.Save
}

// start uploads a checkpoint in the background. The upload outlives its session
// and generation, because the checkpoint stays valid. It calls failed if the checkpoint
// does not arrive.
func (u *uploader) start(address string, c checkpoint, failed func(error)) {
	step := c.state.Step
	select {
	case u.slot <- struct{}{}:
	default:
		u.meter.count(func(c *counts) { c.uploads[uploadSkipped]++ })
		u.log.Warn("checkpoint skipped: the previous one is still being uploaded", "step", step)
		failed(errors.New("the previous checkpoint is still being uploaded"))
		return
	}
	go func() {
		defer func() { <-u.slot }()
		begin := time.Now()
		id, err := u.upload(address, c)
		u.meter.count(func(c *counts) {
			c.upload += time.Since(begin).Seconds()
			if err == nil {
				c.uploads[uploadSaved]++
			} else {
				c.uploads[uploadFailed]++
			}
		})
		if err != nil {
			u.log.Error("checkpoint not saved", "step", step, "error", err)
			failed(err)
			return
		}
		u.log.Info("checkpoint saved", "id", id, "step", step, "seconds", time.Since(begin).Seconds())
	}()
}

// busy reports whether an upload is under way.
func (u *uploader) busy() bool { return len(u.slot) > 0 }

// wait returns when no upload is under way, or ctx ends.
func (u *uploader) wait(ctx context.Context) error {
	select {
	case u.slot <- struct{}{}:
		<-u.slot
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// partBytes is how much of a checkpoint travels in one message. Each message tells
// the coordinator that the worker is alive: over 1 Mbit/s one takes half a second.
const partBytes = 64 << 10

// upload returns the checkpoint's ID. It fails after stallTimeout without progress.
// It has a connection of its own, so that heartbeats do not queue behind it and the
// end of the session does not end it.
func (u *uploader) upload(address string, c checkpoint) (string, error) {
	encoded, err := c.state.Encode()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	stall := time.AfterFunc(stallTimeout, func() { cancel(fmt.Errorf("no progress for %v", stallTimeout)) })
	defer stall.Stop()
	conn, err := secure.Client(address, secure.Dial(u.trust, trust.Coordinator))
	if err != nil {
		return "", fmt.Errorf("dial coordinator %s: %w", address, err)
	}
	defer conn.Close()
	id, err := send(ctx, wire.NewControlClient(conn), u.header(c, encoded), encoded, func() { stall.Reset(stallTimeout) })
	if err != nil {
		return "", cmp.Or(context.Cause(ctx), err)
	}
	return id, nil
}

func (u *uploader) header(c checkpoint, encoded []byte) *wire.CheckpointHeader {
	sum := sha256.Sum256(encoded)
	return &wire.CheckpointHeader{
		Run:        c.plan.Run,
		Experiment: c.plan.Experiment,
		Generation: uint64(c.generation),
		Step:       int64(c.state.Step),
		Loss:       recentLoss(c.state.Losses),
		Size:       int64(len(encoded)),
		Sha256:     sum[:],
		Final:      c.final,
		Worker:     string(u.id),
		Secret:     u.secret,
	}
}

// send sends a checkpoint and returns its ID. It calls moved before each part.
func send(ctx context.Context, control wire.ControlClient, header *wire.CheckpointHeader, encoded []byte, moved func()) (string, error) {
	stream, err := control.SaveCheckpoint(ctx)
	if err != nil {
		return "", err
	}
	err = stream.Send(&wire.CheckpointPart{Part: &wire.CheckpointPart_Header{Header: header}})
	for part := range slices.Chunk(encoded, partBytes) {
		if err != nil {
			break
		}
		moved()
		err = stream.Send(&wire.CheckpointPart{Part: &wire.CheckpointPart_Data{Data: part}})
	}
	if err != nil && !errors.Is(err, io.EOF) { // after EOF the reply has the reason
		return "", err
	}
	reply, err := stream.CloseAndRecv()
	return reply.GetId(), err
}

// recentWindow is over how many steps a checkpoint's loss is averaged, because the
// loss of one batch is noisy.
const recentWindow = 100

// recentLoss is the mean of the last losses. Checkpoints are ranked by it.
func recentLoss(losses []float64) float64 {
	if len(losses) == 0 {
		return 0
	}
	last := losses[max(0, len(losses)-recentWindow):]
	sum := 0.0
	for _, l := range last {
		sum += l
	}
	return sum / float64(len(last))
}
