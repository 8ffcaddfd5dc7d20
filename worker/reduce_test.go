package worker

import (
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
)

// The wires that configurations name are those of the ring.
func TestWiresAreKnown(t *testing.T) {
	for _, w := range append(ergoflow.Wires(), "") {
		format, err := allreduce.ParseWire(string(w))
		if err != nil || w != "" && format.String() != string(w) {
			t.Errorf("%q: %v, %v", w, format, err)
		}
	}
}

// Whatever the wire, the loss and the number of samples come through unrounded,
// and replicas end with the same bits.
func TestCountsAreNotRounded(t *testing.T) {
	const size = 10_000
	for _, wire := range []allreduce.Wire{allreduce.Float32, allreduce.BFloat16, allreduce.Int8} {
		network, peers := allreduce.NewMemory(), []string{"a", "b", "c"}
		var servers []*allreduce.Server
		for _, p := range peers {
			servers = append(servers, network.Listen(p))
		}
		type outcome struct {
			sum []float32
			err error
		}
		outcomes := make(chan outcome)
		for rank := range peers {
			go func() {
				ring, err := servers[rank].Join(t.Context(), allreduce.Identity{Generation: 1, Rank: rank, World: len(peers)}, peers, allreduce.Options{Wire: wire})
				if err != nil {
					outcomes <- outcome{err: err}
					return
				}
				sum := make([]float32, size+2)
				for i := range sum {
					sum[i] = float32(rank) + 1/float32(i+3)
				}
				sum[size], sum[size+1] = 0.1, 4097
				err = reduce(ring, 5, sum)
				if err == nil {
					err = ring.Close()
				}
				outcomes <- outcome{sum, err}
			}()
		}
		var first []float32
		for range peers {
			o := <-outcomes
			if o.err != nil {
				t.Fatal(o.err)
			}
			if tenth := float32(0.1); o.sum[size] != tenth+tenth+tenth || o.sum[size+1] != 3*4097 {
				t.Errorf("%v: loss %v, %v samples", wire, o.sum[size], o.sum[size+1])
			}
			if first == nil {
				first = o.sum
			}
			for i := range first {
				if o.sum[i] != first[i] {
					t.Fatalf("%v: replicas differ at %d", wire, i)
				}
			}
		}
	}
}
