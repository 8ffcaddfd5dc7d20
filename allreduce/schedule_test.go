package allreduce

import (
	"fmt"
	"slices"
	"testing"
)

// lengths of vectors that cut badly, on both sides of the exchange limit.
func lengths(world int) []int {
	return []int{0, 1, 2, world - 1, world, world + 1, 4093, 4096, 4097, 5003, 32760*world + 1, 1_000_003}
}

func TestScheduleSendsWhatTheSuccessorExpects(t *testing.T) {
	for world := 2; world <= 9; world++ {
		for _, n := range lengths(world) {
			for rank := range world {
				mine := layOut(circling, rank, world, n, format(Float32), chunkBytes)
				next := layOut(circling, (rank+1)%world, world, n, format(Float32), chunkBytes)
				if mine.messages() != next.messages() || mine.depth() != next.depth() {
					t.Fatalf("world %d length %d: ranks disagree on the number of messages", world, n)
				}
				for i := range mine.messages() {
					if m, _ := mine.sent(i); m != next.received(i) {
						t.Fatalf("world %d length %d message %d: rank %d sends %+v, successor expects %+v",
							world, n, i, rank, m, next.received(i))
					}
				}
			}
		}
	}
}

// Running the schedule on sets of contributions instead of numbers: no
// contribution is counted twice, none is missing, nothing is sent before it has
// been received, only whole sums are published.
func TestScheduleSumsEveryContributionOnce(t *testing.T) {
	for world := 2; world <= 9; world++ {
		for _, n := range []int{5003, 32760*world*2 + 1} {
			holds := make([]map[[2]int]uint64, world) // (segment, chunk) → set of ranks
			plans := make([]schedule, world)
			for r := range world {
				plans[r] = layOut(circling, r, world, n, format(Float32), chunkBytes)
				holds[r] = make(map[[2]int]uint64)
			}
			s := plans[0]
			at := func(r, segment, chunk int) uint64 {
				if set, ok := holds[r][[2]int{segment, chunk}]; ok {
					return set
				}
				return 1 << r
			}
			all := uint64(1)<<world - 1
			wire := make([][]uint64, world) // payloads by sender, in order
			send := func(r, i int) {
				m, how := plans[r].sent(i)
				set := at(r, m.segment, m.chunk)
				if (how == contribute) != (m.phase == phaseReduce) || how != contribute && set != all {
					t.Fatalf("world %d: rank %d sends %+v as %d, which is %b", world, r, m, how, set)
				}
				wire[r] = append(wire[r], set)
			}
			for r := range world {
				for i := range s.depth() {
					send(r, i)
				}
			}
			for j := range s.messages() {
				for r := range world {
					m := plans[r].received(j)
					got := wire[(r+world-1)%world][j]
					key := [2]int{m.segment, m.chunk}
					switch m.phase {
					case phaseReduce:
						own := at(r, m.segment, m.chunk)
						if own&got != 0 {
							t.Fatalf("world %d: rank %d counts a contribution twice", world, r)
						}
						holds[r][key] = own | got
					case phaseGather:
						holds[r][key] = got
					}
				}
				for r := range world {
					if j+s.depth() < s.messages() {
						send(r, j+s.depth())
					}
				}
			}
			for r := range world {
				for segment := range world {
					for chunk := range s.chunks {
						if got := at(r, segment, chunk); got != all {
							t.Fatalf("world %d rank %d segment %d chunk %d: summed %b", world, r, segment, chunk, got)
						}
					}
				}
			}
		}
	}
}

func TestSpansTileTheVector(t *testing.T) {
	for world := 2; world <= 9; world++ {
		for _, kind := range []kind{exchanging, direct, circling} {
			for _, n := range lengths(world) {
				for f := format(Float32); f <= formatInt64; f++ {
					payload := []int{chunkBytes, localChunkBytes}[n%2]
					name := fmt.Sprintf("world %d kind %d length %d %v payload %d", world, kind, n, f, payload)
					s := layOut(kind, 0, world, n, f, payload)
					segments, end := world, 0
					if s.kind == exchanging {
						segments = 1
					}
					for segment := range segments {
						for chunk := range s.chunks {
							m := s.move(phaseReduce, segment, chunk)
							lo, hi := m.lo, m.hi
							if lo != end || hi < lo || f.bytes(hi-lo) > payload {
								t.Fatalf("%s: segment %d chunk %d is [%d, %d) after %d", name, segment, chunk, lo, hi, end)
							}
							end = hi
						}
					}
					if end != n {
						t.Fatalf("%s: spans end at %d", name, end)
					}
				}
			}
		}
	}
}

// The rule of docs/decisions/allreduce.md and topology.md.
func TestScheduleFollowsTheRule(t *testing.T) {
	for _, test := range []struct {
		hosts, each int // ranks on each host
		bytes       int
		topology    Topology
		format      format
		want        kind
	}{
		{2, 1, 64 << 20, ByWorld, format(Float32), exchanging},
		{4, 1, exchangeBytes, ByWorld, format(BFloat16), exchanging},
		{4, 1, exchangeBytes + 4, ByWorld, format(BFloat16), direct},
		{4, 1, circleBytes - 4, ByWorld, format(Float32), direct},
		{4, 1, circleBytes, ByWorld, format(Float32), circling},
		{4, 1, circleBytes, ByWorld, formatInt64, circling},
		{1, 4, circleBytes, ByWorld, formatInt64, direct},
		{MeshWorld, 1, 64 << 20, ByWorld, format(Int8), direct},
		{MeshWorld + 1, 1, 4, ByWorld, format(Float32), doubling},
		{1, MeshWorld + 1, 4, ByWorld, format(Float32), doubling},
		{1, MeshWorld + 1, 64 << 20, ByWorld, format(Float32), circling},
		{MeshWorld + 1, 1, 64 << 20, ByWorld, format(Float32), circling},
		{MeshWorld + 1, 1, 64 << 20, Doubling, format(Float32), doubling},
		{64, 1, 1_600_000, ByWorld, format(Float32), doubling},
		{2, 4, 4, ByWorld, format(Float32), exchanging},
		{2, 4, exchangeBytes, ByWorld, format(Float32), byHost},
		{2, 4, 64 << 20, ByWorld, format(Int8), byHost},
		{2, 4, 64 << 20, Mesh, format(Float32), direct},
		{5, 2, 4, ByWorld, format(Int8), byHost},
		{5, 2, 64 << 20, ByWorld, format(Float32), byHost},
		{2, MeshWorld + 1, 4, ByWorld, format(Float32), doubling}, // too many links within a host
		{5, 2, 4, Doubling, format(Float32), doubling},
		{4, 1, 4, Circle, format(Float32), circling},
		{16, 1, 64 << 20, Mesh, format(Float32), direct},
	} {
		size := 4
		if test.format == formatInt64 {
			size = 8
		}
		peers := hostAddresses(slices.Repeat([]int{test.each}, test.hosts)...)
		r := newRing(t.Context(), Identity{1, 0, len(peers)}, peers, Options{Topology: test.topology})
		if k := r.kind(test.bytes/size, test.format); k != test.want {
			t.Errorf("%+v: kind %d", test, k)
		}
		r.cancel(nil)
	}
}

// hostAddresses are of ranks on hosts with so many each.
func hostAddresses(each ...int) []string {
	var addresses []string
	for host, n := range each {
		for port := range n {
			addresses = append(addresses, fmt.Sprintf("10.0.0.%d:%d", host+1, port+1))
		}
	}
	return addresses
}

// Where hosts have different numbers of ranks, long vectors go round the ring, which leaves each
// host once.
func TestUnevenHostsUseBoth(t *testing.T) {
	peers := hostAddresses(4, 4, 3)
	r := newRing(t.Context(), Identity{1, 0, len(peers)}, peers, Options{})
	defer r.cancel(nil)
	if short, long := r.kind(1000, format(Float32)), r.kind(1<<20, format(Float32)); short != doubling || long != circling {
		t.Errorf("kinds %d and %d", short, long)
	}
}

// A rank never has so much in flight that its links could all be full.
func TestDepthStaysBelowTheWindow(t *testing.T) {
	if inFlight := 2 * maxDepth * (localChunkBytes + headerBytes + 5); inFlight >= streamWindow || streamWindow > connWindow {
		t.Fatalf("%d bytes in flight, stream window %d, connection window %d", inFlight, streamWindow, connWindow)
	}
}
