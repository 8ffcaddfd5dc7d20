package allreduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/trust"
	"google.golang.org/grpc"
)

// cluster is servers that can reach each other.
type cluster struct {
	refusals chan error // where it is gRPC
	servers  []*Server
	peers    []string
}

func memoryCluster(_ testing.TB, world int) cluster {
	m := NewInProcess()
	return memoryClusterOn(m, world)
}

func memoryClusterOn(m *InProcess, world int) cluster {
	var c cluster
	for r := range world {
		c.listen(m, fmt.Sprintf("memory-%d", r))
	}
	return c
}

// hostsClusterOn has hosts with so many ranks each.
func hostsClusterOn(m *InProcess, each ...int) (c cluster) {
	for _, address := range hostAddresses(each...) {
		c.listen(m, address)
	}
	return c
}

func (c *cluster) listen(m *InProcess, address string) {
	c.servers = append(c.servers, m.Listen(address))
	c.peers = append(c.peers, address)
}

// grpcCluster has local sockets and plain text.
func grpcCluster(t testing.TB, world int) (c cluster) {
	for range world {
		c.serve(t, nil, true)
	}
	return c
}

// tcpCluster has a process for each of the credentials, connected by TCP.
func tcpCluster(t testing.TB, own ...*trust.Credentials) (c cluster) {
	for _, own := range own {
		c.serve(t, own, false)
	}
	return c
}

// serve adds a process.
func (c *cluster) serve(t testing.TB, own *trust.Credentials, local bool, opts ...grpc.ServerOption) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ""
	if local {
		address = l.Addr().String()
	}
	if c.refusals == nil {
		c.refusals = make(chan error, 64)
	}
	refusals := c.refusals
	s := NewServer(own)
	s.OnRefusal(func(from string, err error) { refusals <- err })
	g := grpc.NewServer(append(s.Options(), opts...)...)
	s.Register(g)
	done := make(chan error, 1)
	go func() { done <- s.Serve(g, l, address) }()
	t.Cleanup(func() {
		g.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	c.servers = append(c.servers, s)
	c.peers = append(c.peers, l.Addr().String())
}

// each runs f for every rank at once and returns their errors.
func each(world int, f func(rank int) error) []error {
	errs := make([]error, world)
	var wg sync.WaitGroup
	for r := range world {
		wg.Go(func() { errs[r] = f(r) })
	}
	wg.Wait()
	return errs
}

func (c cluster) join(ctx context.Context, g ergoflow.Generation, opts Options) ([]*Ring, error) {
	world := len(c.servers)
	rings := make([]*Ring, world)
	errs := each(world, func(r int) (err error) {
		rings[r], err = c.servers[r].Join(ctx, Identity{g, r, world}, c.peers, opts)
		return err
	})
	return rings, errors.Join(errs...)
}

func mustJoin(t testing.TB, c cluster, g ergoflow.Generation, opts Options) []*Ring {
	t.Helper()
	rings, err := c.join(t.Context(), g, opts)
	if err != nil {
		t.Fatal(err)
	}
	return rings
}

func closeAll(t testing.TB, rings []*Ring) {
	t.Helper()
	if err := errors.Join(each(len(rings), func(r int) error { return rings[r].Close() })...); err != nil {
		t.Error(err)
	}
}

// inputs are vectors whose sum cancels, so that a missing or doubled
// contribution cannot hide in a tolerance.
func inputs(world, n int, seed uint64) [][]float32 {
	rng := rand.New(rand.NewPCG(seed, uint64(world)))
	vs := make([][]float32, world)
	for r := range vs {
		vs[r] = make([]float32, n)
		for i := range vs[r] {
			vs[r][i] = float32(rng.NormFloat64())
		}
	}
	return vs
}

// checkSum compares got, by rank, with the float64 sum of in. Each of the W-1
// additions and, on a bfloat16 wire, roundings is off by at most half a unit in
// the last place of a partial sum, which Σ|x| bounds; on an int8 wire half a step
// of a block, with what was kept back before.
func checkSum(t testing.TB, in, got [][]float32, wire Wire) {
	t.Helper()
	unit, largest := 0x1p-24, 0.0
	switch wire {
	case BFloat16:
		unit = 0x1p-8
	case Int8: // half a step, which is 2/127 of the largest number at most
		unit = 1. / 127
		for i := range in[0] {
			var magnitude float64
			for r := range in {
				magnitude += math.Abs(float64(in[r][i]))
			}
			largest = max(largest, magnitude)
		}
	}
	for i := range in[0] {
		var sum, magnitude float64
		for r := range in {
			sum += float64(in[r][i])
			magnitude += math.Abs(float64(in[r][i]))
		}
		magnitude = max(magnitude, largest)
		if d := math.Abs(float64(got[0][i]) - sum); !(d <= unit*float64(len(in)+1)*magnitude) {
			t.Fatalf("world %d length %d element %d: got %v, want %v", len(in), len(in[0]), i, got[0][i], sum)
		}
		for r := range got {
			if math.Float32bits(got[r][i]) != math.Float32bits(got[0][i]) {
				t.Fatalf("world %d length %d element %d: rank %d has %v, rank 0 %v", len(in), len(in[0]), i, r, got[r][i], got[0][i])
			}
		}
	}
}

func clone(vs [][]float32) [][]float32 {
	out := make([][]float32, len(vs))
	for r := range vs {
		out[r] = append([]float32(nil), vs[r]...)
	}
	return out
}

func testSums(t *testing.T, rings []*Ring, sizes []int) {
	t.Helper()
	for step, n := range sizes {
		for bucket := range 2 {
			if bucket > 0 && n > 10_000 {
				break
			}
			in := inputs(len(rings), n, uint64(2*step+bucket))
			got := clone(in)
			errs := each(len(rings), func(r int) error { return rings[r].AllReduce(ergoflow.Step(step), got[r]) })
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			checkSum(t, in, got, rings[0].Wire())
		}
	}
}

func TestSumInMemory(t *testing.T) {
	for world := 1; world <= 9; world++ {
		for _, topology := range []Topology{Mesh, Circle, Doubling} {
			for _, wire := range []Wire{Float32, BFloat16, Int8} {
				t.Run(fmt.Sprintf("%d/%v/%v", world, topology, wire), func(t *testing.T) {
					rings := mustJoin(t, memoryCluster(t, world), 1, Options{Wire: wire, Topology: topology})
					sizes := lengths(world)
					switch { // the long ones take long under the race detector
					case wire != Float32 && world != 3, testing.Short() && world != 2 && world != 3 && world != 9:
						sizes = sizes[:len(sizes)-2]
					case world > 2, testing.Short():
						sizes = sizes[:len(sizes)-1]
					}
					testSums(t, rings, sizes)
					closeAll(t, rings)
				})
			}
		}
	}
}

func TestSumOverGRPC(t *testing.T) {
	for world := 2; world <= 4; world++ {
		for _, topology := range []Topology{Mesh, Circle, Doubling} {
			for _, wire := range []Wire{Float32, BFloat16, Int8} {
				t.Run(fmt.Sprintf("%d/%v/%v", world, topology, wire), func(t *testing.T) {
					rings := mustJoin(t, grpcCluster(t, world), 1, Options{Wire: wire, Topology: topology})
					sizes := lengths(world)
					if world == 3 || wire != Float32 || testing.Short() && world > 2 {
						sizes = sizes[:len(sizes)-1]
					}
					testSums(t, rings, sizes)
					closeAll(t, rings)
				})
			}
		}
	}
}

// Direct and ring, also where all are connected, add up in the same order.
func TestTopologiesAgree(t *testing.T) {
	for world := 3; world <= 5; world++ {
		in := inputs(world, circleBytes/4+3, 1)
		var got [3][][]float32
		for k, topology := range []Topology{Mesh, Circle, ByWorld} {
			rings := mustJoin(t, memoryCluster(t, world), 1, Options{Topology: topology})
			got[k] = clone(in)
			if err := errors.Join(each(world, func(r int) error { return rings[r].AllReduce(0, got[k][r]) })...); err != nil {
				t.Fatal(err)
			}
			closeAll(t, rings)
		}
		if err := errors.Join(sameBits(got[0][0], got[1][0]), sameBits(got[0][0], got[2][0])); err != nil {
			t.Errorf("world %d: %v", world, err)
		}
	}
}

// Sums of integers are exact, wrap around and do not depend on who has what.
func TestSumOfIntegers(t *testing.T) {
	for world := 1; world <= 5; world++ {
		for _, topology := range []Topology{Mesh, Circle, Doubling} {
			rings := mustJoin(t, memoryCluster(t, world), 1, Options{Wire: Int8, Topology: topology}) // the wire does not touch them
			for step, n := range []int{0, 1, 2048, 2049, 50_001} {
				rng := rand.New(rand.NewPCG(5, uint64(n)))
				want, got := make([]int64, n), make([][]int64, world)
				for r := range got {
					got[r] = make([]int64, n)
					for i := range want {
						got[r][i] = int64(rng.Uint64())
						want[i] += got[r][i]
					}
				}
				if err := errors.Join(each(world, func(r int) error { return rings[r].AllReduceInt64(ergoflow.Step(step), got[r]) })...); err != nil {
					t.Fatal(err)
				}
				for r := range got {
					if !slices.Equal(got[r], want) {
						t.Errorf("world %d %v, %d numbers: rank %d has another sum", world, topology, n, r)
					}
				}
			}
			closeAll(t, rings)
		}
	}
}

// The result has the same bits whatever carries it.
func TestTransportsAgree(t *testing.T) {
	const world, n = 3, 100_003
	in := inputs(world, n, 1)
	var got [2][][]float32
	for k, c := range []cluster{memoryCluster(t, world), grpcCluster(t, world)} {
		rings := mustJoin(t, c, 1, Options{})
		got[k] = clone(in)
		if err := errors.Join(each(world, func(r int) error { return rings[r].AllReduce(0, got[k][r]) })...); err != nil {
			t.Fatal(err)
		}
		closeAll(t, rings)
	}
	for i := range n {
		if math.Float32bits(got[0][0][i]) != math.Float32bits(got[1][0][i]) {
			t.Fatalf("element %d: %v in memory, %v over gRPC", i, got[0][0][i], got[1][0][i])
		}
	}
}

// Generations follow each other in one process without leaving anything
// behind (TestMain looks for goroutines), with and without a farewell.
func TestManyGenerations(t *testing.T) {
	c := grpcCluster(t, 3)
	for g := ergoflow.Generation(1); g <= 20; g++ {
		rings := mustJoin(t, c, g, Options{})
		testSums(t, rings, []int{1, 10_000})
		if g%2 == 0 {
			closeAll(t, rings)
		}
	}
}

// A rank that leaves right after its last AllReduce takes nothing with it: the
// others have all of it.
func TestCloseDeliversTheLastMessage(t *testing.T) {
	c := grpcCluster(t, 2)
	for g := ergoflow.Generation(1); g <= 20; g++ {
		rings := mustJoin(t, c, g, Options{})
		in := inputs(2, 50_000, uint64(g))
		got := clone(in)
		err := errors.Join(each(2, func(r int) error {
			if err := rings[r].AllReduce(0, got[r]); err != nil {
				return err
			}
			return rings[r].Close()
		})...)
		if err != nil {
			t.Fatal(err)
		}
		checkSum(t, in, got, Float32)
	}
}

// Where all ranks are on one host, a long sum does not go round a ring, and messages
// are longer.
func TestOneHostIsDirect(t *testing.T) {
	for _, test := range []struct {
		peers   []string
		opts    Options
		want    kind
		payload int
	}{
		{[]string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3"}, Options{}, direct, localChunkBytes},
		{[]string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.2:1"}, Options{}, circling, chunkBytes},
		{[]string{"[::1]:1", "[::1]:2", "[::1]:3"}, Options{}, direct, localChunkBytes},
		{[]string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3"}, Options{Topology: Circle}, circling, localChunkBytes},
		{slices.Repeat([]string{"10.0.0.1:1"}, MeshWorld+1), Options{}, circling, localChunkBytes},
	} {
		r := newRing(t.Context(), Identity{1, 0, len(test.peers)}, test.peers, test.opts)
		if kind := r.kind(circleBytes, format(Float32)); kind != test.want || r.payload != test.payload {
			t.Errorf("%v, %v: %v, %d", test.peers, test.opts.Topology, kind, r.payload)
		}
		r.cancel(nil)
	}
}
