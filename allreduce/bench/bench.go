// Package bench times all-reduce as training uses it: one vector after another
// on one ring. Run every rank in a process of its own; ranks that share a
// process share its scheduler and measure that.
package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
)

// Result is one vector size, as this rank saw it.
type Result struct {
	World  int     `json:"world"`
	Bytes  int     `json:"bytes"` // of the vector as float32
	Wire   string  `json:"wire"`
	Median float64 `json:"median_ms"`
	P99    float64 `json:"p99_ms"`
	// BusBandwidth is 2(W-1)/W · bytes / median in 10⁹ bytes per second of
	// float32, the rate at which a ring would keep each link busy: comparable
	// between world sizes. .
	BusBandwidth float64 `json:"busbw_gbps"`
}

// warmUp is the share of rounds, and the least number, that go before timing.
const warmUpShare, warmUpLeast = 10, 3

// Between these, as many rounds as move that much are made where no number is
// given.
const (
	leastRounds, mostRounds = 10, 1000
	movedBytes              = 256_000_000
)

// Measure all-reduces rounds vectors of each size in bytes back to back, after
// a warm-up whose first sum it checks; zero rounds are as many as suit the size.
// All ranks must call it with the same sizes and rounds on a ring that has not
// been used.
func Measure(ctx context.Context, ring *allreduce.Ring, sizes []int, rounds int) ([]Result, error) {
	if rounds < 0 {
		return nil, fmt.Errorf("%d rounds", rounds)
	}
	id := ring.Identity()
	results := make([]Result, 0, len(sizes))
	var step ergoflow.Step
	for _, bytes := range sizes {
		if bytes < 4 || bytes%4 != 0 {
			return nil, fmt.Errorf("%d bytes are not a whole number of float32", bytes)
		}
		rounds := rounds
		if rounds == 0 {
			rounds = min(max(movedBytes/bytes, leastRounds), mostRounds)
		}
		v := make([]float32, bytes/4)
		times := make([]time.Duration, 0, rounds)
		warm := max(warmUpLeast, rounds/warmUpShare)
		for round := range warm + rounds {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			if round == 0 {
				for i := range v {
					v[i] = float32(id.Rank + 1)
				}
			}
			start := time.Now()
			if err := ring.AllReduce(step, v); err != nil {
				return nil, err
			}
			if round >= warm {
				times = append(times, time.Since(start))
			}
			step++
			if round == 0 {
				if err := check(v, id.World); err != nil {
					return nil, err
				}
				clear(v) // zeros cannot overflow
			}
		}
		slices.Sort(times)
		median := quantile(times, 0.5)
		results = append(results, Result{
			World: id.World, Bytes: bytes, Wire: ring.Wire().String(),
			Median: median * 1e3, P99: quantile(times, 0.99) * 1e3,
			BusBandwidth: 2 * float64(id.World-1) / float64(id.World) * float64(bytes) / median / 1e9,
		})
	}
	return results, nil
}

// check wants 1 + 2 + … + W everywhere, to a bfloat16 rounding per hop.
func check(v []float32, world int) error {
	want := float64(world*(world+1)) / 2
	for i, x := range v {
		if math.Abs(float64(x)-want) > want*float64(world)/256 {
			return fmt.Errorf("%d bytes: element %d is %v, want %v", 4*len(v), i, x, want)
		}
	}
	return nil
}

// quantile is the smallest of sorted times that q of them do not exceed, in
// seconds.
func quantile(sorted []time.Duration, q float64) float64 {
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[max(i, 0)].Seconds()
}
