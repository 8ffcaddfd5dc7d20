package allreduce_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/ergoflow/ergoflow/allreduce"
)

// Two ranks of generation 1 sum a vector over a network inside the process. Ranks of
// different processes use NewServer, a grpc.Server and Serve instead.
func Example() {
	network, peers := allreduce.NewInProcess(), []string{"a", "b"}
	servers := []*allreduce.Server{network.Listen("a"), network.Listen("b")}
	vectors := [][]float32{{1, 2, 3}, {10, 20, 30}}
	var ranks sync.WaitGroup
	for rank, server := range servers {
		ranks.Go(func() {
			ring, err := server.Join(context.Background(),
				allreduce.Identity{Generation: 1, Rank: rank, World: len(peers)}, peers, allreduce.Options{})
			if err != nil {
				log.Fatal(err)
			}
			if err := ring.AllReduce(0, vectors[rank]); err != nil {
				log.Fatal(err)
			}
			if err := ring.Close(); err != nil {
				log.Fatal(err)
			}
		})
	}
	ranks.Wait()
	fmt.Println(vectors[0], vectors[1])
	// Output: [11 22 33] [11 22 33]
}
