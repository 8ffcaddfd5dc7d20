package allreduce

import "testing"

// lengths of vectors that cut badly, on both sides of the exchange limit.
func lengths(world int) []int {
	return []int{0, 1, 2, world - 1, world, world + 1, 4093, 4096, 4097, 5003, 32768*world + 1, 1_000_003}
}

func TestScheduleSendsWhatTheSuccessorExpects(t *testing.T) {
	for world := 2; world <= 9; world++ {
		for _, n := range lengths(world) {
			for rank := range world {
				mine := newSchedule(rank, world, n, 4)
				next := newSchedule((rank+1)%world, world, n, 4)
				if mine.messages() != next.messages() || mine.depth() != next.depth() {
					t.Fatalf("world %d length %d: ranks disagree on the number of messages", world, n)
				}
				for i := range mine.messages() {
					if mine.sent(i) != next.received(i) {
						t.Fatalf("world %d length %d message %d: rank %d sends %+v, successor expects %+v",
							world, n, i, rank, mine.sent(i), next.received(i))
					}
				}
			}
		}
	}
}

// Running the schedule on sets of contributions instead of numbers: no
// contribution is counted twice, none is missing, nothing is sent before it has
// been received.
func TestScheduleSumsEveryContributionOnce(t *testing.T) {
	for world := 2; world <= 9; world++ {
		for _, n := range []int{5003, 32768*world*2 + 1} {
			holds := make([]map[[2]int]uint64, world) // (segment, chunk) → set of ranks
			plans := make([]schedule, world)
			for r := range world {
				plans[r] = newSchedule(r, world, n, 4)
				holds[r] = make(map[[2]int]uint64)
			}
			s := plans[0]
			at := func(r, segment, chunk int) uint64 {
				if set, ok := holds[r][[2]int{segment, chunk}]; ok {
					return set
				}
				return 1 << r
			}
			wire := make([][]uint64, world) // payloads by sender, in order
			send := func(r, i int) {
				m := plans[r].sent(i)
				wire[r] = append(wire[r], at(r, m.segment, m.chunk))
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
						if want := uint64(1)<<world - 1; s.last(j) && holds[r][key] != want {
							t.Fatalf("world %d: last(%d) but the sum of %v is %b", world, j, key, holds[r][key])
						}
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
						if got, want := at(r, segment, chunk), uint64(1)<<world-1; got != want {
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
		for _, n := range lengths(world) {
			for _, size := range []int{2, 4} {
				s := newSchedule(0, world, n, size)
				if s.exchange {
					continue
				}
				end := 0
				for segment := range world {
					for chunk := range s.chunks {
						lo, hi := s.span(move{phaseReduce, segment, chunk})
						if lo != end || hi < lo || (hi-lo)*size > chunkBytes {
							t.Fatalf("world %d length %d: segment %d chunk %d is [%d, %d) after %d", world, n, segment, chunk, lo, hi, end)
						}
						end = hi
					}
				}
				if end != n {
					t.Fatalf("world %d: spans end at %d of %d", world, end, n)
				}
			}
		}
	}
}

// A rank never has so much in flight that its link could be full while all
// others are.
func TestDepthStaysBelowTheWindow(t *testing.T) {
	if inFlight := maxDepth * (chunkBytes + headerBytes + 5); inFlight >= streamWindow || streamWindow > connWindow {
		t.Fatalf("%d bytes in flight, stream window %d, connection window %d", inFlight, streamWindow, connWindow)
	}
}
