package allreduce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/ergoflow/ergoflow"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
)

// Tests over real connections do not measure how soon a rank learns of an end: a busy
// machine may take a second. The kind of error says how it learned: of a stream that broke
// (ErrPeerLost), or of silence (ErrSilent), which comes 1.75 s later. Over the in-process
// network TestVanishedRankEndsAllAtOnce checks the times.

// relay forwards one connection to target until limit bytes have passed, then
// closes fault. What follows is up to it: cut breaks the connection, otherwise
// it stays open and nothing is read any more.
type relay struct {
	address string
	fault   chan struct{}
}

func newRelay(t *testing.T, target string, limit int64, cut bool) relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := relay{l.Addr().String(), make(chan struct{})}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		defer l.Close()
		from, err := l.Accept()
		if err != nil {
			return
		}
		defer from.Close()
		to, err := net.Dial("tcp", target)
		if err != nil {
			t.Error(err)
			return
		}
		defer to.Close()
		wg.Go(func() { io.Copy(from, to) })
		io.CopyN(to, from, limit)
		close(r.fault)
		if !cut {
			<-stop
		}
	})
	t.Cleanup(func() {
		l.Close()
		close(stop)
		wg.Wait()
	})
	return r
}

// joinThrough connects rank 0 to rank 1 through the relay.
func joinThrough(t *testing.T, ctx context.Context, c cluster, r relay) []*Ring {
	t.Helper()
	rings := make([]*Ring, len(c.servers))
	if err := errors.Join(each(len(rings), func(rank int) (err error) {
		peers := append([]string(nil), c.peers...)
		if rank == 0 {
			peers[1] = r.address
		}
		rings[rank], err = c.servers[rank].Join(ctx, Identity{1, rank, len(rings)}, peers, Options{})
		return err
	})...); err != nil {
		t.Fatal(err)
	}
	return rings
}

// A connection that breaks in the middle of a chunk ends the all-reduce of both
// its ends and of those behind them.
func TestBrokenConnection(t *testing.T) {
	const world, n = 3, 2_000_000
	c := grpcCluster(t, world)
	relay := newRelay(t, c.peers[1], 3*chunkBytes+1000, true)
	rings := joinThrough(t, t.Context(), c, relay)
	errs := each(world, func(r int) error { return train(rings[r], n, 100) })
	<-relay.fault
	for r, err := range errs {
		if !errors.Is(err, ErrPeerLost) && !errors.Is(err, ErrFenced) {
			t.Errorf("rank %d: %v", r, err)
		}
	}
	for r, peer := range map[int]int{0: 1, 1: 0} {
		if e, ok := errors.AsType[*Error](errs[r]); ok && e.Peer != peer {
			// The third rank's end may have been first to arrive.
			if e.Peer != 2 {
				t.Errorf("rank %d blames rank %d: %v", r, e.Peer, e)
			}
		}
	}
}

// A peer that stops reading and answering blocks the ring; cancelling the
// context frees every rank, with its vector, before the others notice the silence.
func TestCancelWhileAPeerIsSilent(t *testing.T) {
	const world, n = 3, 2_000_000
	c := grpcCluster(t, world)
	relay := newRelay(t, c.peers[1], 3*chunkBytes+1000, false)
	ctx, cancel := context.WithCancelCause(t.Context())
	rings := joinThrough(t, ctx, c, relay)
	reason := errors.New("the coordinator says so")
	go func() {
		<-relay.fault
		cancel(reason)
	}()
	vs := inputs(world, n, 1) // made before: the cancellation comes early
	errs := each(world, func(r int) error { return rings[r].AllReduce(0, vs[r]) })
	for r, err := range errs {
		// The cancellation may reach a neighbour as the end of a stream first.
		if !errors.Is(err, reason) && !errors.Is(err, ErrPeerLost) {
			t.Errorf("rank %d: %v", r, err)
		}
		if err := rings[r].Close(); err != nil {
			t.Errorf("closing a failed ring: %v", err)
		}
	}
}

// bytesCodec sends what a well-behaved peer would not.
type bytesCodec struct{}

func (bytesCodec) Name() string { return codecName }
func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func stranger(t *testing.T, address string) grpc.ClientStream {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, linkMethod, grpc.ForceCodecV2(bytesCodec{}))
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func greetingBytes(h hello) []byte {
	var head [headerBytes]byte
	h.header(phaseHello).put(&head)
	return append(head[:], h.payload()...)
}

// What does not begin with a greeting is refused, whatever it is.
func TestStrangersAreRefused(t *testing.T) {
	c := grpcCluster(t, 1)
	good := greetingBytes(hello{id: Identity{1, 0, 2}, opts: Options{Topology: Mesh, Plan: "run", Numerics: "0.1"}})
	change := func(at int, to byte) []byte {
		b := append([]byte(nil), good...)
		b[at] = to
		return b
	}
	for name, test := range map[string]struct {
		message []byte
		kind    error
	}{
		"empty":           {nil, ErrProtocol},
		"short":           {good[:20], ErrProtocol},
		"text":            {[]byte(strings.Repeat("GET / HTTP/1.1", 9)), ErrProtocol},
		"magic":           {change(headerBytes, 'X'), ErrProtocol},
		"version":         {change(headerBytes+4, 9), ErrRefused},
		"wire format":     {change(headerBytes+6, 9), ErrProtocol},
		"topology":        {change(headerBytes+7, 0), ErrProtocol},
		"label too long":  {change(headerBytes+16, 200), ErrProtocol},
		"label cut off":   {change(headerBytes+17, 4), ErrProtocol},
		"label of bytes":  {change(headerBytes+helloBytes, 7), ErrProtocol},
		"rank":            {change(headerBytes+8, 7), ErrProtocol},
		"world":           {change(headerBytes+14, 1), ErrProtocol},
		"generation zero": {change(0, 0), ErrProtocol},
		"not a greeting":  {change(22, byte(phaseReduce)), ErrProtocol},
		"above 256 KiB":   {make([]byte, localChunkBytes+headerBytes+1), ErrProtocol},
		"above 4 MiB":     {make([]byte, 4<<20+1), ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			stream := stranger(t, c.peers[0])
			if err := stream.SendMsg(test.message); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			var answer []byte
			if err := fromStatus(stream.RecvMsg(&answer)); !errors.Is(err, test.kind) {
				t.Errorf("answer %q, error %v; want %v", answer, err, test.kind)
			}
			// gRPC itself answers what is too large, before the server hears of it.
			if err := <-c.refusals; !errors.Is(err, test.kind) {
				t.Errorf("%v reported, want %v", err, test.kind)
			}
		})
	}
	if n := len(c.refusals); n > 0 {
		t.Errorf("%d more refusals reported, the first of them %v", n, <-c.refusals)
	}
}

// A greeting of a generation that is over is refused. It is reported, too, unless it is
// of the one before: its members may not have heard yet.
func TestReplaysAreReported(t *testing.T) {
	c := grpcCluster(t, 1)
	ring, err := c.servers[0].Join(t.Context(), Identity{7, 0, 1}, c.peers, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	for _, g := range []ergoflow.Generation{6, 5, 1} {
		stream := stranger(t, c.peers[0])
		if err := stream.SendMsg(greetingBytes(hello{id: Identity{g, 0, 2}, opts: Options{Topology: Mesh}})); err != nil {
			t.Fatal(err)
		}
		var answer []byte
		if err := fromStatus(stream.RecvMsg(&answer)); !errors.Is(err, ErrFenced) {
			t.Errorf("generation %d: answer %q, error %v", g, answer, err)
		}
	}
	for _, g := range []string{"5", "1"} {
		if err := <-c.refusals; !errors.Is(err, ErrFenced) || !strings.Contains(err.Error(), "generation "+g+" is over") {
			t.Errorf("%v reported, want generation %s", err, g)
		}
	}
	if n := len(c.refusals); n > 0 {
		t.Errorf("%d more reported, the first of them %v", n, <-c.refusals)
	}
}

// A neighbour with the right greeting and then nonsense ends the ring, no more.
func TestNonsenseAfterTheGreeting(t *testing.T) {
	for name, message := range map[string][]byte{
		"short":       {1, 2, 3},
		"oversized":   make([]byte, localChunkBytes+headerBytes+1),
		"above 4 MiB": make([]byte, 4<<20+1),
	} {
		t.Run(name, func(t *testing.T) {
			c := grpcCluster(t, 2)
			// Rank 1 is real, rank 0 is a stranger's stream and a real listener.
			accepted := make(chan *Ring)
			go func() {
				ring, err := c.servers[1].Join(t.Context(), Identity{1, 1, 2}, c.peers, Options{})
				if err != nil {
					t.Error(err)
				}
				accepted <- ring
			}()
			host := newRing(t.Context(), Identity{1, 0, 2}, c.peers, Options{})
			defer host.cancel(nil)
			if err := c.servers[0].enter(host); err != nil {
				t.Fatal(err)
			}
			stream := stranger(t, c.peers[1])
			if err := stream.SendMsg(greetingBytes(hello{id: Identity{1, 0, 2}, opts: Options{Topology: Mesh}})); err != nil {
				t.Fatal(err)
			}
			ring := <-accepted
			if err := stream.SendMsg(message); err != nil {
				t.Fatal(err)
			}
			err := ring.AllReduce(0, make([]float32, 100))
			if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrProtocol) || e.Peer != 0 {
				t.Errorf("all-reduce: %v", err)
			}
		})
	}
}

// Other services on the same listener keep their codec.
func TestOtherServicesAreUntouched(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(nil)
	g := grpc.NewServer(s.Options()...)
	s.Register(g)
	grpc_health_v1.RegisterHealthServer(g, health.NewServer())
	done := make(chan error)
	go func() { done <- g.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || reply.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", reply, err)
	}
	conn.Close()
	g.Stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A refused connection fails the join at once and names the address.
func TestJoinWhereNothingListens(t *testing.T) {
	c := grpcCluster(t, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nowhere := l.Addr().String()
	l.Close()
	_, err = c.servers[0].Join(t.Context(), Identity{1, 0, 2}, []string{c.peers[0], nowhere}, Options{})
	if !errors.Is(err, ErrPeerLost) || !strings.Contains(fmt.Sprint(err), nowhere) {
		t.Errorf("%v", err)
	}
	if e, ok := errors.AsType[*Error](err); !ok || e.Peer != 1 || e.Step != ergoflow.Step(-1) {
		t.Errorf("%+v", err)
	}
}

// networks are those of a ring's outgoing connections.
func networks(r *Ring) (all []string) {
	for _, to := range r.sinks {
		for _, c := range to.out.(*streamOutgoing).raw {
			all = append(all, c.RemoteAddr().Network())
		}
	}
	return all
}
