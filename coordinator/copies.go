package coordinator

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/consensus"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/upkeep"
)

const (
	// spreadTimeout bounds the copying of one checkpoint to another coordinator.
	spreadTimeout = time.Minute
	// gatherTimeout bounds an answer to the question which checkpoints another coordinator has.
	gatherTimeout = time.Second
	gatherPause   = 250 * time.Millisecond
)

// copies keeps the checkpoints of several coordinators together: each stored one is at a majority
// of them, and a coordinator that begins to lead fetches what it lacks.
type copies struct {
	node  *consensus.Node
	saved *checkpoint.Store
	dial  func(address string) (*grpc.ClientConn, error)
	log   func(what string, err error)
}

// majority is how many of n others must have something so that, with this one, most have it.
func majority(others int) int { return (others + 1) / 2 }

// spread stores a checkpoint at the others, and returns once a majority of all coordinators has
// it. Each copy runs by begin, and may go on longer.
func (c *copies) spread(ctx context.Context, info checkpoint.Info, data []byte, begin func(func(context.Context))) error {
	others, err := c.node.Others()
	if err != nil {
		return err
	}
	results := make(chan error, len(others))
	for _, m := range others {
		begin(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, spreadTimeout)
			defer cancel()
			results <- c.store(ctx, m.Address, info, data)
		})
	}
	var failed error
	for stored, answered := 0, 0; stored < majority(len(others)); answered++ {
		if answered == len(others) {
			return fmt.Errorf("%d of %d coordinators have the checkpoint: %w", stored+1, len(others)+1, failed)
		}
		select {
		case err := <-results:
			if err == nil {
				stored++
			}
			failed = errors.Join(failed, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// store stores a checkpoint at one coordinator.
func (c *copies) store(ctx context.Context, address string, info checkpoint.Info, data []byte) error {
	conn, err := c.dial(address)
	if err != nil {
		return fmt.Errorf("coordinator %s: %w", address, err)
	}
	defer conn.Close()
	stream, err := wire.NewCoordinatorsClient(conn).StoreCheckpoint(ctx)
	if err == nil {
		err = sendCheckpoint(stream.Send, info, data)
	}
	if err == nil || errors.Is(err, io.EOF) { // CloseAndRecv has the reason
		_, err = stream.CloseAndRecv()
	}
	if err != nil {
		return fmt.Errorf("coordinator %s: store the checkpoint %s: %w", address, info.ID, err)
	}
	return nil
}

// gather fetches the newest checkpoint of each run that another coordinator has, and this one
// has not. It tries until a majority has answered, so that it finds every one that spread has
// returned for.
func (c *copies) gather(ctx context.Context) error {
	asked := make(map[string]bool) // IDs of members that have answered
	return upkeep.Until(ctx, gatherPause, func() (final bool, err error) {
		others, err := c.node.Others()
		if err != nil || len(others) == 0 {
			return false, err
		}
		answered := 0
		for _, m := range others {
			if !asked[m.ID] {
				if failed := c.fetch(ctx, m.Address); failed != nil {
					err = errors.Join(err, failed)
					continue
				}
				asked[m.ID] = true
			}
			if answered++; answered == majority(len(others)) {
				return false, nil
			}
		}
		return false, err
	}, func(err error) {
		c.log("waiting for a majority of coordinators to say which checkpoints they have", err)
	})
}

// fetch fetches what another coordinator has and this one lacks.
func (c *copies) fetch(ctx context.Context, address string) error {
	conn, err := c.dial(address)
	if err != nil {
		return fmt.Errorf("coordinator %s: %w", address, err)
	}
	defer conn.Close()
	client := wire.NewCoordinatorsClient(conn)
	asking, cancel := context.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	reply, err := client.Checkpoints(asking, &wire.CheckpointsRequest{})
	if err != nil {
		return fmt.Errorf("coordinator %s: %w", address, err)
	}
	for _, theirs := range reply.GetCheckpoints() {
		run, mark := theirs.GetRun(), ergoflow.Mark{Generation: ergoflow.Generation(theirs.GetGeneration()), Step: ergoflow.Step(theirs.GetStep())}
		own, err := c.saved.Run(run)
		if err != nil {
			return err
		}
		if len(own) > 0 && own[0].Mark().Compare(mark) >= 0 {
			continue
		}
		if err := c.read(ctx, client, theirs.GetId()); err != nil {
			return fmt.Errorf("coordinator %s: fetch the checkpoint %.64q: %w", address, theirs.GetId(), err)
		}
	}
	return nil
}

// read copies one checkpoint of another coordinator.
func (c *copies) read(ctx context.Context, client wire.CoordinatorsClient, id string) error {
	ctx, cancel := context.WithTimeout(ctx, spreadTimeout)
	defer cancel()
	stream, err := client.ReadCheckpoint(ctx, &wire.ReadCheckpointRequest{Id: id})
	if err != nil {
		return err
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	return storeCopy(c.saved, first.GetHeader(), stream.Recv)
}

// storeCopy stores a checkpoint that another coordinator sends.
func storeCopy(saved *checkpoint.Store, h *wire.CheckpointHeader, receive func() (*wire.CheckpointPart, error)) error {
	data, err := wire.ReadCheckpoint(h, receive)
	if err == nil {
		err = checkState(h, data)
	}
	if err == nil {
		_, err = saved.Save(uploaded(h), data)
	}
	if err == nil {
		_, err = saved.Prune(keptCheckpoints, 1)
	}
	return err
}

// sendCheckpoint sends a checkpoint: a header, then its bytes.
func sendCheckpoint(send func(*wire.CheckpointPart) error, info checkpoint.Info, data []byte) error {
	sum, err := hex.DecodeString(info.SHA256)
	if err != nil {
		return fmt.Errorf("%w: checkpoint %s: %w", checkpoint.ErrCorrupt, info.ID, err)
	}
	err = send(&wire.CheckpointPart{Part: &wire.CheckpointPart_Header{Header: &wire.CheckpointHeader{
		Run: info.Run, Experiment: info.Experiment, Generation: uint64(info.Generation), Step: int64(info.Step),
		Loss: float64(info.Loss), Size: info.Size, Sha256: sum,
	}}})
	for len(data) > 0 && err == nil {
		n := min(len(data), partSize)
		err = send(&wire.CheckpointPart{Part: &wire.CheckpointPart_Data{Data: data[:n]}})
		data = data[n:]
	}
	return err
}

// newestOfRuns are the newest checkpoints of all runs.
func newestOfRuns(saved *checkpoint.Store) ([]*wire.CheckpointName, error) {
	all, err := saved.List()
	if err != nil {
		return nil, err
	}
	newest := make(map[string]checkpoint.Info)
	for _, info := range all {
		if had, ok := newest[info.Run]; !ok || info.Mark().Compare(had.Mark()) > 0 {
			newest[info.Run] = info
		}
	}
	var names []*wire.CheckpointName
	for _, info := range newest {
		names = append(names, &wire.CheckpointName{Id: info.ID, Run: info.Run, Generation: uint64(info.Generation), Step: int64(info.Step)})
	}
	return names, nil
}

// spread has other coordinators store a checkpoint, where there are any.
func (l *loop) spread(ctx context.Context, info checkpoint.Info, data []byte) error {
	if l.copies == nil {
		return nil
	}
	var err error
	begin := func(f func(context.Context)) {
		if !l.do(func() { l.help(f) }) {
			err = errEnding
		}
	}
	if failed := l.copies.spread(ctx, info, data, begin); err == nil {
		err = failed
	}
	return err
}
