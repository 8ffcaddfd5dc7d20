package replica

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
)

// The ring has every wire format that a configuration can name.
func TestWiresAreKnown(t *testing.T) {
	for _, w := range append(ergoflow.Wires(), "") {
		format, err := allreduce.ParseWire(string(w))
		if err != nil || w != "" && format.String() != string(w) {
			t.Errorf("%q: %v, %v", w, format, err)
		}
	}
}

// No wire format rounds the loss and the number of samples, and all ranks get
// bitwise identical sums.
func TestCountsAreNotRounded(t *testing.T) {
	const size = 10_000
	for _, format := range []allreduce.Wire{allreduce.Float32, allreduce.BFloat16, allreduce.Int8} {
		network, peers := allreduce.NewInProcess(), []string{"a", "b", "c"}
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
				ring, err := servers[rank].Join(t.Context(), allreduce.Identity{Generation: 1, Rank: rank, World: len(peers)}, peers, allreduce.Options{Wire: format})
				if err != nil {
					outcomes <- outcome{err: err}
					return
				}
				sum := make([]float32, size+2)
				for i := range sum {
					sum[i] = float32(rank) + 1/float32(i+3)
				}
				sum[size], sum[size+1] = 0.1, 4097
				err = reduce(ring, 5, sum, true)
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
				t.Errorf("%v: loss %v, %v samples", format, o.sum[size], o.sum[size+1])
			}
			if first == nil {
				first = o.sum
			}
			for i := range first {
				if o.sum[i] != first[i] {
					t.Fatalf("%v: replicas differ at %d", format, i)
				}
			}
		}
	}
}

// A long sum goes over the ring in buckets, which are separate arrays on a device
// with its own memory. Two ranks, one on such a device, compute the same batch: both
// get twice the gradient of a single rank.
func TestSumInBuckets(t *testing.T) {
	b := backendtest.Fast(t)
	device := *b
	device.OwnMemory = true
	wide := func(b *backend.Backend) *Replica {
		return trainableOn(t, b, dataReplicaOf(t, "vn1d", "model.deeponet.trunk_width=1100"))
	}
	alone := wide(b)
	ctx, cancel := context.WithCancel(t.Context())
	batches := alone.Batches(ctx, []int{0})
	defer batches.Wait()
	defer cancel()
	batch, err := batches.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = alone.gradient(ctx, 0, batch); err != nil {
		t.Fatal(err)
	}
	if err := alone.trainer.TakeSum(alone.sum); err != nil {
		t.Fatal(err)
	}

	replicas := []*Replica{wide(&device), wide(b)}
	for i, want := range []int{2, 1} {
		if arrays := replicas[i].trainer.Arrays(alone.sum); len(arrays) != want {
			t.Fatalf("rank %d: %d numbers are in %d arrays, want %d", i, len(alone.sum), len(arrays), want)
		}
	}
	for _, format := range []allreduce.Wire{allreduce.Float32, allreduce.BFloat16} {
		network, peers := allreduce.NewInProcess(), []string{"a", "b"}
		servers := []*allreduce.Server{network.Listen("a"), network.Listen("b")}
		errs := make(chan error)
		for i, replica := range replicas {
			go func() {
				errs <- func() error {
					ring, err := servers[i].Join(ctx, allreduce.Identity{Generation: 1, Rank: i, World: 2}, peers, allreduce.Options{Wire: format})
					if err != nil {
						return err
					}
					if _, _, err := replica.Compute(ctx, ring, batch, NewStopwatch()); err != nil {
						return err
					}
					return ring.Close()
				}()
			}()
		}
		if err := errors.Join(<-errs, <-errs); err != nil {
			t.Fatal(err)
		}
		for _, replica := range replicas {
			for i, got := range replica.sum {
				want := 2 * alone.sum[i]
				tolerance := 0.0
				if format == allreduce.BFloat16 && i < len(replica.sum)-2 {
					tolerance = 0x1p-7 * math.Abs(float64(want)) // each contribution and their sum are rounded
				}
				if !(math.Abs(float64(got-want)) <= tolerance) {
					t.Fatalf("%v: number %d of the sum is %v, want %v", format, i, got, want)
				}
			}
		}
	}
}

// The end of a generation does not wait for the end of a long step.
func TestGradientEndsBetweenMicroBatches(t *testing.T) {
	r := trainableOn(t, backendtest.Fast(t), dataReplicaOf(t, "vn1d"))
	ctx, cancel := context.WithCancelCause(t.Context())
	batches := r.Batches(ctx, []int{0, 1, 2})
	defer batches.Wait()
	over := errors.New("generation 1 is over")
	defer cancel(over)
	batch, err := batches.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	used, err := r.gradient(ctx, 0, batch)
	if err != nil || slices.Max(used) == 0 {
		t.Fatalf("used %v, %v", used, err)
	}
	cancel(over)
	if used, err := r.gradient(ctx, 0, batch); !errors.Is(err, over) || slices.Max(used) != 0 {
		t.Errorf("after the end of its generation: used %v, %v", used, err)
	}
}
