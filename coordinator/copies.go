package coordinator

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
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
	others func() ([]consensus.Member, error) // the other members
	saved  *checkpoint.Store
	dial   func(address string) (*grpc.ClientConn, error)
	log    *slog.Logger

	mu    sync.Mutex
	turns map[string]*semaphore.Weighted // by ID of a member
}

// majority is how many of n others must have something so that, with this one, most have it.
func majority(others int) int { return (others + 1) / 2 }

// spread stores a checkpoint at the others, and returns once a majority of all coordinators has
// it. Each copy runs by begin, and may go on longer. A coordinator gets one at a time: to one that
// hangs no copies pile up, since those that wait for it are given up when spread returns.
func (c *copies) spread(ctx context.Context, info checkpoint.Info, data []byte, begin func(func(context.Context))) error {
	others, err := c.others()
	if err != nil {
		return err
	}
	wanted, enough := context.WithCancel(ctx)
	defer enough()
	results := make(chan error, len(others))
	for _, m := range others {
		turn := c.turn(m.ID)
		begin(func(ctx context.Context) {
			if err := turn.Acquire(wanted, 1); err != nil {
				results <- fmt.Errorf("coordinator %s is still busy with an earlier copy: %w", m.Address, err)
				return
			}
			defer turn.Release(1)
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

// turn lets one copy at a time go to a member.
func (c *copies) turn(member string) *semaphore.Weighted {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turns[member] == nil {
		c.turns[member] = semaphore.NewWeighted(1)
	}
	return c.turns[member]
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

// gather fetches the newest checkpoint of a run that another coordinator has, and this one has not;
// without a run those of all. It tries until a majority has answered, so that it finds every one that spread has
// returned for. Then it spreads those of its own that no majority has: one that was stored while
// its coordinator lost the leadership would otherwise be relied on, and lost with one disk. Copies
// run by begin.
func (c *copies) gather(ctx context.Context, run string, begin func(func(context.Context))) error {
	have := make(map[string]int)   // ID of a checkpoint → other members that have it
	asked := make(map[string]bool) // IDs of members that have answered
	return upkeep.Until(ctx, gatherPause, func() (final bool, err error) {
		others, err := c.others()
		if err != nil || len(others) == 0 {
			return false, err
		}
		wanted := majority(len(others))
		var rest []consensus.Member
		for _, m := range others {
			if !asked[m.ID] && len(asked) < wanted {
				rest = append(rest, m)
			}
		}
		answers, enough := c.ask(ctx, run, rest)
		defer enough()
		for range rest {
			a := <-answers
			if a.err == nil {
				a.err = c.fetch(ctx, a.from.Address, a.have)
			}
			if a.err != nil {
				err = errors.Join(err, fmt.Errorf("coordinator %s: %w", a.from.Address, a.err))
				continue
			}
			asked[a.from.ID] = true
			for _, name := range a.have {
				have[name.GetId()]++
			}
			if len(asked) == wanted {
				break
			}
		}
		if len(asked) < wanted {
			return false, err
		}
		return false, c.spreadOwn(ctx, run, have, wanted, begin)
	}, func(err error) {
		c.log.Warn("waiting for a majority of coordinators to say which checkpoints they have", "error", err)
	})
}

// spreadOwn spreads the newest checkpoint of a run, or of all, that fewer than so many others have.
func (c *copies) spreadOwn(ctx context.Context, run string, have map[string]int, enough int, begin func(func(context.Context))) error {
	newest, err := newestOf(c.saved, run)
	if err != nil {
		return err
	}
	for _, name := range newest {
		if have[name.GetId()] >= enough {
			continue
		}
		info, data, err := c.saved.Read(name.GetId())
		if errors.Is(err, checkpoint.ErrCorrupt) {
			continue // nobody begins with it
		}
		if err == nil {
			err = c.spread(ctx, info, data, begin)
		}
		if err != nil {
			return err
		}
		have[name.GetId()] = enough
	}
	return nil
}

// An answer says which checkpoints a coordinator has.
type answer struct {
	from consensus.Member
	have []*wire.CheckpointName
	err  error
}

// ask asks coordinators side by side which checkpoints they have: one of them may be silent, and the
// others answer at once. The channel gets an answer of each. enough ends what is still asked.
func (c *copies) ask(ctx context.Context, run string, members []consensus.Member) (answers <-chan answer, enough func()) {
	ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
	all := make(chan answer, len(members))
	var asking sync.WaitGroup
	for _, m := range members {
		asking.Go(func() {
			have, err := c.list(ctx, m.Address, run)
			all <- answer{m, have, err}
		})
	}
	return all, func() { cancel(); asking.Wait() }
}

// list is which checkpoints another coordinator has.
func (c *copies) list(ctx context.Context, address, run string) ([]*wire.CheckpointName, error) {
	conn, err := c.dial(address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	reply, err := wire.NewCoordinatorsClient(conn).Checkpoints(ctx, &wire.CheckpointsRequest{Run: run})
	return reply.GetCheckpoints(), err
}

// fetch fetches those of another coordinator's checkpoints that this one lacks, which are rarely any.
func (c *copies) fetch(ctx context.Context, address string, have []*wire.CheckpointName) error {
	for _, theirs := range have {
		mark := ergoflow.Mark{Generation: ergoflow.Generation(theirs.GetGeneration()), Step: ergoflow.Step(theirs.GetStep())}
		own, err := c.saved.Run(theirs.GetRun())
		if err != nil {
			return err
		}
		if len(own) > 0 && own[0].Mark().Compare(mark) >= 0 {
			continue
		}
		if err := c.read(ctx, address, theirs.GetId()); err != nil {
			return fmt.Errorf("fetch the checkpoint %.64q: %w", theirs.GetId(), err)
		}
	}
	return nil
}

// read copies one checkpoint of another coordinator.
func (c *copies) read(ctx context.Context, address, id string) error {
	conn, err := c.dial(address)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, spreadTimeout)
	defer cancel()
	stream, err := wire.NewCoordinatorsClient(conn).ReadCheckpoint(ctx, &wire.ReadCheckpointRequest{Id: id})
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

// newestOf are the newest checkpoint of a run, or those of all runs.
func newestOf(saved *checkpoint.Store, run string) ([]*wire.CheckpointName, error) {
	all, err := saved.List()
	if err != nil {
		return nil, err
	}
	newest := make(map[string]checkpoint.Info)
	for _, info := range all {
		if had, ok := newest[info.Run]; (run == "" || info.Run == run) && (!ok || info.Mark().Compare(had.Mark()) > 0) {
			newest[info.Run] = info
		}
	}
	var names []*wire.CheckpointName
	for _, info := range newest {
		names = append(names, &wire.CheckpointName{Id: info.ID, Run: info.Run, Generation: uint64(info.Generation), Step: int64(info.Step)})
	}
	slices.SortFunc(names, func(a, b *wire.CheckpointName) int { return strings.Compare(a.GetRun(), b.GetRun()) })
	return names, nil
}

// spread has other coordinators store a checkpoint, where there are any.
func (l *loop) spread(ctx context.Context, info checkpoint.Info, data []byte) error {
	if l.copies == nil {
		return nil
	}
	if err := l.copies.spread(ctx, info, data, l.beside); err != nil {
		return err
	}
	return l.term.Verify() // otherwise the next leader may have asked a majority before the copy came
}

// gather brings the checkpoints of a run at several coordinators together, before the machine hears
// of any; without a run those of all. It fails with ctx alone.
func (l *loop) gather(ctx context.Context, run string) error {
	if l.copies == nil {
		return nil
	}
	return l.copies.gather(ctx, run, l.beside)
}

// beside runs f as help does, for callers outside the loop.
func (l *loop) beside(f func(context.Context)) {
	if !l.do(func() { l.help(f) }) {
		ended, end := context.WithCancel(context.Background())
		end()
		f(ended)
	}
}
