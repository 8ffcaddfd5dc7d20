package coordinator

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/disk"
	"github.com/ergoflow/ergoflow/internal/safetensors"
)

const (
	partSize = 1 << 20 // bytes of a checkpoint in one message

	keptCheckpoints = 3 // newest of a run, beside the one of the lowest loss
)

// SaveCheckpoint implements wire.ControlServer. The machine is told when the checkpoint
// is durable; then older ones are pruned. An upload by a process that is no worker, or
// of anything but what its header announces, has no effect.
func (v *service) SaveCheckpoint(stream wire.Control_SaveCheckpointServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	h, from := first.GetHeader(), caller(stream.Context())
	if err := v.admitUpload(h, from); err != nil {
		return err
	}
	v.loop.uploading.Add(1)
	defer v.loop.uploading.Add(-1)
	data, err := v.receive(stream, h)
	if errors.Is(err, wire.ErrCheckpoint) {
		v.loop.do(func() { v.refuseUpload(from, err) })
		return storeError(err)
	}
	var info checkpoint.Info
	if err == nil {
		began := time.Now()
		info, err = v.loop.saved.Save(uploaded(h), data)
		if err == nil {
			err = v.loop.spread(stream.Context(), info, data)
		}
		took := time.Since(began)
		v.loop.tallies.wrote(took, err)
		v.loop.noteSaved(h, took, err)
	}
	if err != nil {
		if stream.Context().Err() == nil {
			v.loop.post(notSaved(h, v.loop.saved.Path(), err))
		}
		return storeError(err)
	}
	v.loop.archiving.offer(info.Run)
	tell := func() {
		v.loop.events.Add(time.Now(), journal.Checkpoint, false, fmt.Sprintf("the checkpoint at step %d of run %.12s is stored (%s)", h.Step, info.Run, disk.Size(info.Size)))
	}
	if h.Final {
		tell()
	} else {
		v.loop.stored.Do(tell)
	}
	v.loop.post(machine.Saved{Run: info.Run, State: info.Mark(), Final: h.Final})
	if _, err := v.loop.saved.Prune(keptCheckpoints, 1); err != nil {
		v.loop.about(journal.Checkpoint).Warn("cannot prune old checkpoints", "error", err)
	}
	return stream.SendAndClose(&wire.SaveReply{Id: info.ID})
}

// notSaved says why a checkpoint is not stored in a file, and on a full disk what it needs.
func notSaved(h *wire.CheckpointHeader, path string, err error) machine.NotSaved {
	e := machine.NotSaved{Run: h.Run, Step: ergoflow.Step(h.Step), Reason: err.Error()}
	if errors.Is(err, checkpoint.ErrSpace) {
		dir, need := filepath.Dir(path), checkpoint.Room(h.Size)
		e.Short = &machine.Shortage{Path: dir, Bytes: need, What: fmt.Sprintf("the checkpoint at step %d", h.Step)}
		e.Reason = fmt.Sprintf("the disk is full, it needs %s in %s", disk.Size(need), dir)
	}
	return e
}

// admitUpload returns why a checkpoint with this header may not be stored now.
func (v *service) admitUpload(h *wire.CheckpointHeader, from string) error {
	var refusal error
	open := v.loop.do(func() {
		if refusal = v.checkUpload(h); refusal != nil {
			v.refuseUpload(from, refusal)
		}
	})
	switch {
	case !open:
		return errEnding
	case refusal != nil:
		return status.Error(codes.FailedPrecondition, refusal.Error())
	}
	return nil
}

// refuseUpload lists a refused checkpoint. The loop calls it.
func (v *service) refuseUpload(from string, reason error) {
	v.loop.refused.add(from, "a checkpoint: "+reason.Error())
}

// aliveInterval is the time between two signs of life of a worker that uploads.
const aliveInterval = 200 * time.Millisecond

// receive returns the bytes of a checkpoint, which are those that its header announces.
// It tells the machine that parts come: they are signs of life.
func (v *service) receive(stream wire.Control_SaveCheckpointServer, h *wire.CheckpointHeader) ([]byte, error) {
	var told time.Time
	data, err := wire.ReadCheckpoint(h, func() (*wire.CheckpointPart, error) {
		part, err := stream.Recv()
		if now := time.Now(); err == nil && now.Sub(told) > aliveInterval {
			told = now
			v.loop.post(machine.Alive{Worker: ergoflow.WorkerID(h.Worker), Secret: h.Secret})
		}
		return part, err
	})
	if err != nil {
		return nil, err
	}
	return data, checkState(h, data)
}

// checkUpload asks the machine whether a checkpoint with this header may be stored. The
// loop calls it.
func (v *service) checkUpload(h *wire.CheckpointHeader) error {
	if h == nil {
		return errors.New("it does not begin with its header")
	}
	return v.loop.fleet.CheckUpload(machine.Upload{
		Worker: ergoflow.WorkerID(convert.Clip(h.Worker)), Secret: h.Secret, Run: h.Run,
		State: ergoflow.Mark{Generation: ergoflow.Generation(h.Generation), Step: ergoflow.Step(h.Step)},
	})
}

// stateFormat begins the name of every format of a training state (docs/formats.md).
const stateFormat = "ergoflow-state-"

// checkState checks that data is a training state, of the header's run and step. Workers
// that load it check that it fits the network.
func checkState(h *wire.CheckpointHeader, data []byte) error {
	file, err := safetensors.Decode(data)
	if err != nil {
		return fmt.Errorf("%w: %w", wire.ErrCheckpoint, err)
	}
	switch m := file.Metadata(); {
	case !strings.HasPrefix(m["format"], stateFormat):
		return fmt.Errorf("%w: its format is %.32q", wire.ErrCheckpoint, m["format"])
	case m["run"] != h.Run || m["step"] != strconv.FormatInt(h.Step, 10):
		return fmt.Errorf("%w: it is of run %.12q at step %.20q", wire.ErrCheckpoint, m["run"], m["step"])
	}
	return nil
}

// uploaded is a header as the description of a checkpoint.
func uploaded(h *wire.CheckpointHeader) checkpoint.Info {
	return checkpoint.Info{
		Run: h.Run, Experiment: convert.Clip(h.Experiment), Generation: ergoflow.Generation(h.Generation), Step: ergoflow.Step(h.Step),
		Loss: checkpoint.Loss(h.Loss), Size: h.Size, SHA256: hex.EncodeToString(h.Sha256),
	}
}

// LoadCheckpoint implements wire.ControlServer. It sends the run's checkpoint at a step,
// or the newest readable one.
func (v *service) LoadCheckpoint(r *wire.LoadRequest, stream wire.Control_LoadCheckpointServer) error {
	key := fmt.Sprint(r.GetRun(), " ", r.GetGeneration(), " ", r.GetStep())
	read, err, _ := v.reads.Do(key, func() (any, error) {
		info, data, err := v.find(r.GetRun(), ergoflow.Generation(r.GetGeneration()), ergoflow.Step(r.GetStep()))
		return found{info, data}, err
	})
	if err != nil {
		return storeError(err)
	}
	info, data := read.(found).info, read.(found).data
	if err := sendCheckpoint(stream.Send, info, data); err != nil {
		return storeError(err)
	}
	return nil
}

// found is a checkpoint with its bytes.
type found struct {
	info checkpoint.Info
	data []byte
}

// find reads the newest checkpoint of a run that a generation made at a step; zero: any.
// It tells the machine of damaged ones.
func (v *service) find(run string, made ergoflow.Generation, step ergoflow.Step) (checkpoint.Info, []byte, error) {
	all, err := v.loop.saved.Run(run)
	if err != nil {
		return checkpoint.Info{}, nil, err
	}
	var damage error
	var damaged ergoflow.Mark
	for _, listed := range all {
		if step != 0 && listed.Step != step || made != 0 && listed.Generation != made {
			continue
		}
		info, data, err := v.loop.saved.Read(listed.ID)
		if err == nil {
			return info, data, nil
		}
		v.loop.readable.CompareAndDelete(run, listed.ID) // it was whole at the last scan
		damage, damaged = errors.Join(damage, err), listed.Mark()
	}
	if damage != nil { // the machine must not choose it again
		v.loop.about(journal.Checkpoint).Warn("cannot read a checkpoint", "error", damage)
		info, ok := v.loop.newest(run)
		v.loop.post(machine.Unreadable{Run: run, Damaged: damaged, HasCheckpoint: ok, Checkpoint: info.Mark()})
		return checkpoint.Info{}, nil, damage
	}
	return checkpoint.Info{}, nil, fmt.Errorf("%w: run %.64q, step %d", checkpoint.ErrNotFound, run, step)
}

// Snapshot implements wire.ControlServer.
func (v *service) Snapshot(_ *wire.SnapshotRequest, stream wire.Control_SnapshotServer) error {
	if err := v.loop.saved.Snapshot(chunkWriter{stream}); err != nil {
		return storeError(err)
	}
	return nil
}

type chunkWriter struct {
	stream wire.Control_SnapshotServer
}

func (c chunkWriter) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		end := min(n+partSize, len(b))
		if err = c.stream.Send(&wire.Chunk{Data: b[n:end]}); err == nil {
			n = end
		}
	}
	return n, err
}

// storeError turns an error of the store into one with the gRPC code that callers check.
func storeError(err error) error {
	code := codes.Internal
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		code = codes.NotFound
	case errors.Is(err, checkpoint.ErrMismatch), errors.Is(err, wire.ErrCheckpoint):
		code = codes.InvalidArgument
	case errors.Is(err, checkpoint.ErrCorrupt):
		code = codes.DataLoss
	case errors.Is(err, checkpoint.ErrSpace):
		code = codes.ResourceExhausted
	case errors.Is(err, context.Canceled), status.Code(err) == codes.Canceled:
		code = codes.Canceled
	}
	return status.Error(code, err.Error())
}
