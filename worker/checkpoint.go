package worker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/worker/protocol"
)

// saveTimeout bounds how long an upload may stand still; the coordinator may have gone.
const saveTimeout = time.Minute

// A saver uploads checkpoints beside the training loop, one at a time: while
// one is under way the next is left out rather than stopping the steps.
type saver struct {
	id     ergoflow.WorkerID
	secret uint64
	log    *slog.Logger
	slot   chan struct{} // holds one token while an upload is under way
}

func newSaver(id ergoflow.WorkerID, secret uint64, log *slog.Logger) *saver {
	return &saver{id: id, secret: secret, log: log, slot: make(chan struct{}, 1)}
}

// save takes a checkpoint of the present state without stopping the steps for
// longer than the copy takes.
func (s *session) save(ctx context.Context, order protocol.Save) {
	w := s.w
	r := w.replica.Load()
	if r == nil {
		return
	}
	failed := func(err error) {
		if order.Final {
			s.post(protocol.NotSaved{Err: err})
		}
	}
	if order.Final {
		if err := w.saver.wait(ctx); err != nil {
			failed(err)
			return
		}
	}
	st, made, err := r.state()
	if err != nil {
		w.log.Error("checkpoint not taken", "error", err)
		failed(err)
		return
	}
	w.saver.save(s.address, r.plan, made, st, order.Final, failed)
}

// save uploads the state in the background. The upload outlives the generation
// that took it: what it holds was true when it was taken. failed is called where
// nothing arrives.
func (s *saver) save(address string, plan ergoflow.Plan, made ergoflow.Generation, st *state.State, final bool, failed func(error)) {
	select {
	case s.slot <- struct{}{}:
	default:
		s.log.Warn("checkpoint left out: the last one is still being written", "step", st.Step)
		failed(errors.New("another is still being written"))
		return
	}
	go func() {
		defer func() { <-s.slot }()
		begin := time.Now()
		id, err := s.upload(address, plan, made, st, final)
		if err != nil {
			s.log.Error("checkpoint not saved", "step", st.Step, "error", err)
			failed(err)
			return
		}
		s.log.Info("checkpoint saved", "id", id, "step", st.Step, "seconds", time.Since(begin).Seconds())
	}()
}

// busy reports whether an upload is under way.
func (s *saver) busy() bool { return len(s.slot) > 0 }

// wait returns when no upload is under way, or ctx ends.
func (s *saver) wait(ctx context.Context) error {
	select {
	case s.slot <- struct{}{}:
		<-s.slot
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// partBytes is how much of a checkpoint goes up in one message. The coordinator knows
// by each that the worker is there: over 1 Mbit/s that is half a second.
const partBytes = 64 << 10

// upload returns the checkpoint's ID. It ends where nothing moves for saveTimeout.
// Its connection is its own: heartbeats do not queue behind it, and it goes on where
// the session ends.
func (s *saver) upload(address string, plan ergoflow.Plan, made ergoflow.Generation, st *state.State, final bool) (string, error) {
	encoded, err := st.Encode()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	still := time.AfterFunc(saveTimeout, func() { cancel(fmt.Errorf("nothing moved for %v", saveTimeout)) })
	defer still.Stop()
	failed := func(err error) (string, error) { return "", cmp.Or(context.Cause(ctx), err) }
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", fmt.Errorf("dial coordinator %s: %w", address, err)
	}
	defer conn.Close()
	stream, err := wire.NewControlClient(conn).SaveCheckpoint(ctx)
	if err != nil {
		return failed(err)
	}
	sum := sha256.Sum256(encoded)
	header := &wire.CheckpointHeader{
		Run:        plan.Run,
		Experiment: plan.Experiment,
		Generation: uint64(made),
		Step:       int64(st.Step),
		Loss:       recentLoss(st.Losses),
		Size:       int64(len(encoded)),
		Sha256:     sum[:],
		Final:      final,
		Worker:     string(s.id),
		Secret:     s.secret,
	}
	err = stream.Send(&wire.CheckpointPart{Part: &wire.CheckpointPart_Header{Header: header}})
	if err == nil {
		err = inChunks(encoded, partBytes, func(data []byte) error {
			still.Reset(saveTimeout)
			return stream.Send(&wire.CheckpointPart{Part: &wire.CheckpointPart_Data{Data: data}})
		})
	}
	if err != nil && !errors.Is(err, io.EOF) { // EOF: the reply says why
		return failed(err)
	}
	reply, err := stream.CloseAndRecv()
	if err != nil {
		return failed(err)
	}
	return reply.Id, nil
}

// fetchCheckpoint loads a checkpoint of the run from the coordinator.
func fetchCheckpoint(ctx context.Context, control wire.ControlClient, r *replica, want ergoflow.Mark, log *slog.Logger) (*state.State, error) {
	began := time.Now()
	stream, err := control.LoadCheckpoint(ctx, &wire.LoadRequest{Run: r.plan.Run, Step: int64(want.Step), Generation: uint64(want.Generation)})
	if err != nil {
		return nil, fmt.Errorf("load checkpoint: %w", err)
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, fmt.Errorf("load checkpoint: %w", err)
	}
	encoded, err := wire.ReadCheckpoint(first.GetHeader(), stream.Recv)
	if err != nil {
		return nil, fmt.Errorf("load checkpoint at %s: %w", want, err)
	}
	logTransfer(log, "checkpoint", "the coordinator", len(encoded), began)
	return state.Decode(encoded, r.experiment.Velocity().Layout())
}

// recentWindow is over how many steps the loss of a checkpoint is averaged: one
// batch's loss says little.
const recentWindow = 100

// recentLoss is the mean of the last losses, by which checkpoints are ranked.
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
