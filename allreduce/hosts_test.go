package allreduce

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ergoflow/ergoflow"
)

// Worlds that no mesh holds: sums by doubling, by host, and in a ring.
func TestSumInLargeWorlds(t *testing.T) {
	for name, each := range map[string][]int{
		"10": slices.Repeat([]int{1}, 10), "13": slices.Repeat([]int{1}, 13), "16": slices.Repeat([]int{1}, 16), "17": slices.Repeat([]int{1}, 17),
		"64": slices.Repeat([]int{1}, 64), "4x3": {3, 3, 3, 3}, "2x5": {5, 5}, "8x2": slices.Repeat([]int{2}, 8), "uneven": {4, 1, 5}, "one host": {11},
	} {
		for _, wire := range []Wire{Float32, BFloat16, Int8} {
			t.Run(fmt.Sprintf("%s/%v", name, wire), func(t *testing.T) {
				rings := mustJoin(t, hostsClusterOn(NewInProcess(), each...), 1, Options{Wire: wire})
				sizes := []int{0, 1, len(rings) - 1, len(rings) + 1, 4097, 50_003}
				if len(rings) < 20 && !testing.Short() {
					sizes = append(sizes, 300_007)
				}
				testSums(t, rings, sizes)
				closeAll(t, rings)
			})
		}
	}
}

// Ranks of a host that do not follow each other are found too.
func TestSumWhereHostsAlternate(t *testing.T) {
	m := NewInProcess()
	var c cluster
	for i := range 12 {
		c.listen(m, fmt.Sprintf("10.0.0.%d:%d", i%3, i))
	}
	rings := mustJoin(t, c, 1, Options{})
	if k := rings[0].kind(10, format(Float32)); k != byHost {
		t.Errorf("kind %d", k)
	}
	testSums(t, rings, []int{1, 5003})
	closeAll(t, rings)
}

// Integers sum to the same in every layout: training that is reproducible may use any.
func TestIntegersInLargeWorlds(t *testing.T) {
	var want []int64
	for _, hosts := range [][]int{{12}, {6, 6}, {3, 3, 3, 3}, {5, 4, 3}, slices.Repeat([]int{1}, 12)} {
		rings := mustJoin(t, hostsClusterOn(NewInProcess(), hosts...), 1, Options{Wire: Int8})
		got := make([][]int64, len(rings))
		for r := range got {
			got[r] = make([]int64, 9001)
			for i := range got[r] {
				got[r][i] = int64((r+1)*(i-4000)) << 40
			}
		}
		if err := errors.Join(each(len(rings), func(r int) error { return rings[r].AllReduceInt64(0, got[r]) })...); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got[0]
		}
		for r := range got {
			if !slices.Equal(got[r], want) {
				t.Errorf("%v: rank %d has another sum", hosts, r)
			}
		}
		closeAll(t, rings)
	}
}

// The links of a rank grow with the logarithm of the world, and the messages that it sends too.
func TestDoublingHasFewLinks(t *testing.T) {
	for _, world := range []int{9, 64, 1000, ergoflow.MaxWorld} {
		peers := hostAddresses(slices.Repeat([]int{1}, 250)...)
		for len(peers) < world {
			peers = append(peers, fmt.Sprintf("10.1.%d.%d:1", len(peers)/250, len(peers)%250))
		}
		id := Identity{1, 3, world}
		want := bits.Len(uint(world - 1))
		if got := len(Dials(id, peers[:world], Options{})); got != want {
			t.Errorf("world %d: %d links, want %d", world, got, want)
		}
		most := 0
		for _, o := range rounds(world) {
			s := layOut(doubling, 3, world, 4*world, format(Float32), chunkBytes)
			most += len(s.several(phaseReduce, (3+o.skip)%world, o.count))
		}
		if most > 2*want {
			t.Errorf("world %d: %d messages in a reduce-scatter", world, most)
		}
	}
}

// What rounding takes away comes back, and replicas stay equal, in worlds that no mesh holds.
func TestErrorFeedbackInLargeWorlds(t *testing.T) {
	for _, hosts := range [][]int{slices.Repeat([]int{1}, 10), {5, 5}} {
		const steps = 100
		rings := mustJoin(t, hostsClusterOn(NewInProcess(), hosts...), 1, Options{Wire: Int8})
		in := inputs(len(rings), 2*exchangeBytes/4, 3)
		total, largest := sumSteps(t, rings, in, steps)
		for i := range total {
			var want float64
			for r := range in {
				want += float64(in[r][i])
			}
			// Each rank keeps back half a step of 2·largest/127 at most.
			if d := total[i]/steps - want; max(d, -d) > float64(len(in))*2*largest/127/steps*2 {
				t.Fatalf("%v, number %d: off by %v", hosts, i, d)
			}
		}
		closeAll(t, rings)
	}
}

// A rank that vanishes ends all others at once, also those that it is not connected with.
func TestVanishedRankInLargeWorlds(t *testing.T) {
	for name, hosts := range map[string][]int{"doubling": slices.Repeat([]int{1}, 12), "hosts": {4, 4, 4}} {
		for _, n := range []int{100, 100_000} {
			for _, victim := range []int{0, 7} {
				t.Run(fmt.Sprintf("%s/%d/rank%d", name, n, victim), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { vanishFrom(t, hostsClusterOn(NewInProcess(), hosts...), ByWorld, n, victim, 3) })
				})
			}
		}
	}
}

// So does one from which nothing comes any more. Those that it sends to name it.
func TestSilenceInLargeWorlds(t *testing.T) {
	for name, hosts := range map[string][]int{"doubling": slices.Repeat([]int{1}, 10), "hosts": {5, 5}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const silent = 3
				var broken atomic.Bool
				m := NewInProcess()
				c := hostsClusterOn(m, hosts...)
				m.mute(c, func(from, to int) bool { return from == silent && broken.Load() })
				rings := mustJoin(t, c, 7, Options{})
				sum := func(step ergoflow.Step) []error {
					return each(len(rings), func(r int) error { return rings[r].AllReduce(step, make([]float32, 1000)) })
				}
				if err := errors.Join(sum(0)...); err != nil {
					t.Fatal(err)
				}
				broken.Store(true)
				began, named := time.Now(), 0
				for r, err := range sum(1) {
					if err == nil && r != silent {
						t.Errorf("rank %d has a sum", r)
					}
					if who := silentTo(err); len(who) > 0 {
						named++
						if !slices.Equal(who, []int{silent}) {
							t.Errorf("rank %d calls %v silent", r, who)
						}
					}
				}
				if d := time.Since(began); d > 2*time.Second || d < time.Second || named == 0 {
					t.Errorf("noticed after %v by %d ranks", d, named)
				}
			})
		})
	}
}

// A topology that the ranks' hosts do not allow is refused before anything is sent.
func TestImpossibleHostsAreRefused(t *testing.T) {
	for name, hosts := range map[string][]int{"uneven": {2, 1}, "more uneven": {4, 1, 1}, "one host": {4}, "one each": {1, 1}, "too many": {maxMesh + 1, maxMesh + 1}} {
		peers := hostAddresses(hosts...)
		for rank := range peers {
			if _, err := newServer(nil).Join(t.Context(), Identity{1, rank, len(peers)}, peers, Options{Topology: Hosts}); err == nil {
				t.Errorf("%s: rank %d has joined", name, rank)
			}
		}
	}
}
