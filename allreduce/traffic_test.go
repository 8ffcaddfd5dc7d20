package allreduce

import (
	"fmt"
	"testing"
)

// Traffic is what the schedules say: in a circle 2(W−1)/W of the vector to the next rank, in a
// mesh 2/W to each. What one rank has sent to another, that one has received.
func TestTraffic(t *testing.T) {
	for _, topology := range []Topology{Circle, Mesh} {
		for world := 2; world <= 5; world++ {
			t.Run(fmt.Sprint(topology, world), func(t *testing.T) {
				n := 60_000 // a multiple of every world, and long
				rings := mustJoin(t, memoryCluster(t, world), 1, Options{Topology: topology})
				for range 3 {
					for _, err := range each(world, func(r int) error { return rings[r].AllReduce(rings[r].step+1, make([]float32, n)) }) {
						if err != nil {
							t.Fatal(err)
						}
					}
				}
				sent := make(map[[2]int]uint64)
				for r, ring := range rings {
					for _, link := range ring.Traffic() {
						sent[[2]int{r, link.Rank}] = link.Sent
					}
				}
				want := uint64(3 * 4 * 2 * n / world)
				if topology == Circle {
					want *= uint64(world - 1)
				}
				for r, ring := range rings {
					links := ring.Traffic()
					if most := world - 1; len(links) > most || topology == Circle && len(links) > 2 {
						t.Errorf("rank %d has %d links", r, len(links))
					}
					for _, link := range links {
						if link.Received != sent[[2]int{link.Rank, r}] {
							t.Errorf("rank %d has %d bytes of rank %d, which has sent %d", r, link.Received, link.Rank, sent[[2]int{link.Rank, r}])
						}
						if next := (r + 1) % world; (topology == Mesh || link.Rank == next) && link.Sent != want {
							t.Errorf("rank %d has sent %d bytes to rank %d, want %d", r, link.Sent, link.Rank, want)
						}
					}
				}
				for _, ring := range rings {
					ring.cancel(ErrClosed)
				}
			})
		}
	}
}
