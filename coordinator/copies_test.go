package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/consensus"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

// keeper is another coordinator, which stores checkpoints or hangs.
type keeper struct {
	wire.UnimplementedCoordinatorsServer
	saved *checkpoint.Store // nil: it hangs
	began atomic.Int32      // copies
	asked chan struct{}     // gets one for a question that hangs; one that stores answers after it
	given chan error        // why a question was given up that it did not answer
}

func (k *keeper) Checkpoints(ctx context.Context, r *wire.CheckpointsRequest) (*wire.CheckpointsReply, error) {
	if k.saved == nil {
		k.asked <- struct{}{}
		<-ctx.Done()
		k.given <- ctx.Err()
		return nil, ctx.Err()
	}
	<-k.asked
	names, err := newestOf(k.saved, r.GetRun())
	return &wire.CheckpointsReply{Checkpoints: names}, err
}

func (k *keeper) ReadCheckpoint(r *wire.ReadCheckpointRequest, stream wire.Coordinators_ReadCheckpointServer) error {
	info, data, err := k.saved.Read(r.GetId())
	if err != nil {
		return err
	}
	return sendCheckpoint(stream.Send, info, data)
}

func (k *keeper) StoreCheckpoint(stream wire.Coordinators_StoreCheckpointServer) error {
	k.began.Add(1)
	if k.saved == nil {
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if err := storeCopy(k.saved, first.GetHeader(), stream.Recv); err != nil {
		return err
	}
	return stream.SendAndClose(&wire.SaveReply{})
}

// serveKeeper serves one until the test ends.
func serveKeeper(t *testing.T, k *keeper) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	wire.RegisterCoordinatorsServer(server, k)
	go server.Serve(l)
	t.Cleanup(server.Stop)
	return l.Addr().String()
}

// Of three coordinators one hangs. Every checkpoint is stored all the same, and at the one that
// hangs at most one copy is on its way.
func TestCopiesDoNotPileUp(t *testing.T) {
	var stores [2]*checkpoint.Store
	for i := range stores {
		s, err := checkpoint.Open(CheckpointPath(t.TempDir()), false)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stores[i] = s
	}
	asked := make(chan struct{})
	good, hangs := &keeper{saved: stores[1], asked: asked}, &keeper{asked: asked, given: make(chan error, 1)}
	members := []consensus.Member{{ID: "hangs", Address: serveKeeper(t, hangs)}, {ID: "good", Address: serveKeeper(t, good)}}
	c := &copies{saved: stores[0], log: slog.New(slog.DiscardHandler), turns: make(map[string]*semaphore.Weighted),
		others: func() ([]consensus.Member, error) { return members, nil },
		dial: func(address string) (*grpc.ClientConn, error) {
			return secure.Client(address, insecure.NewCredentials())
		}}
	ctx, cancel := context.WithCancel(t.Context())
	var copying sync.WaitGroup
	begin := func(f func(context.Context)) { copying.Go(func() { f(ctx) }) }
	const count = 5
	for step := range int64(count) {
		data := stateAt(step + 1)
		info, err := stores[0].Save(uploaded(&wire.CheckpointHeader{Run: plan.Run, Step: step + 1, Generation: 1, Size: int64(len(data))}), data)
		if err == nil {
			err = c.spread(ctx, info, data, begin)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if all, err := stores[1].Run(plan.Run); err != nil || len(all) == 0 || all[0].Step != count {
		t.Errorf("the other one has %v (%v)", all, err)
	}
	until(t, "one copy is on its way", func() bool { return hangs.began.Load() > 0 })
	cancel()
	copying.Wait()
	if hangs.began.Load() != 1 || good.began.Load() != count {
		t.Errorf("%d copies were sent to the one that hangs, and %d to the other", hangs.began.Load(), good.began.Load())
	}

	// One that hangs does not hold up who asks for checkpoints, while another answers.
	behind, err := checkpoint.Open(CheckpointPath(t.TempDir()), false)
	if err != nil {
		t.Fatal(err)
	}
	defer behind.Close()
	c.saved = behind
	if err := c.gather(t.Context(), plan.Run, begin); err != nil {
		t.Error(err)
	}
	if err := <-hangs.given; !errors.Is(err, context.Canceled) {
		t.Errorf("the question to the one that hangs ended with %v", err)
	}
	if all, err := behind.Run(plan.Run); err != nil || len(all) == 0 || all[0].Step != count {
		t.Errorf("fetched: %v (%v)", all, err)
	}

	// Where the one that hangs is needed, the checkpoint does not count as stored.
	members = members[:1]
	ctx, cancel = context.WithCancel(t.Context())
	failed := make(chan error, 1)
	data := stateAt(1)
	info, err := stores[0].Save(uploaded(&wire.CheckpointHeader{Run: plan.Run, Step: 1, Generation: 2, Size: int64(len(data))}), data)
	if err != nil {
		t.Fatal(err)
	}
	go func() { failed <- c.spread(ctx, info, data, begin) }()
	until(t, "the copy is on its way", func() bool { return hangs.began.Load() == 2 })
	cancel()
	if err := <-failed; err == nil {
		t.Error("a checkpoint counts as stored that no majority has")
	}
	copying.Wait()
}
