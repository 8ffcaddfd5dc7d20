package coordinator

import (
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// SaveStart implements wire.ControlServer. The state becomes the checkpoint at step 0 of its
// run, made by no generation, so any later checkpoint takes precedence. Storing it again
// changes nothing. Anything but the start of a warm start has no effect.
func (v *service) SaveStart(stream wire.Control_SaveStartServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	h := first.GetHeader()
	data, err := wire.ReadCheckpoint(h, stream.Recv)
	if err == nil {
		err = v.checkStart(h, data)
	}
	if errors.Is(err, wire.ErrCheckpoint) {
		v.loop.do(func() { v.refuseUpload(caller(stream.Context()), err) })
	}
	if err != nil {
		return storeError(err)
	}
	info := uploaded(h)
	info.Loss = checkpoint.Loss(math.NaN()) // it has none, and so is not the best one
	if info, err = v.loop.saved.Save(info, data); err == nil {
		err = v.loop.spread(stream.Context(), info, data)
	}
	if err != nil {
		return storeError(err)
	}
	v.loop.archiving.offer(info.Run)
	if !v.loop.post(machine.Saved{Run: info.Run, State: info.Mark()}) {
		return errEnding
	}
	return stream.SendAndClose(&wire.SaveReply{Id: info.ID})
}

// checkStart returns why the bytes are not the start of the run that the header names.
func (v *service) checkStart(h *wire.CheckpointHeader, data []byte) error {
	if v.planOfStart == nil {
		return fmt.Errorf("%w: this coordinator takes no state from which a run begins", wire.ErrCheckpoint)
	}
	plan, err := v.planOfStart(data)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", wire.ErrCheckpoint, err)
	case plan.Run != h.GetRun() || h.GetStep() != 0 || h.GetGeneration() != 0:
		return fmt.Errorf("%w: it is the start of run %.12s, not of run %.12q at %s", wire.ErrCheckpoint, plan.Run, h.GetRun(),
			ergoflow.Mark{Generation: ergoflow.Generation(h.GetGeneration()), Step: ergoflow.Step(h.GetStep())})
	}
	return nil
}
