// Package stopwatch times kernels for `ergoflow bench`, all in the same way: once to
// warm up, then some rounds, each long enough to be steady.
package stopwatch

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// Measurement is how fast an engine does one thing.
type Measurement struct {
	Engine  string  `json:"engine"` // instruction set or device
	What    string  `json:"what"`
	Size    string  `json:"size"`
	Threads int     `json:"threads"` // GOMAXPROCS
	Median  float64 `json:"median_s"`
	Min     float64 `json:"min_s"`
	Rate    float64 `json:"rate"` // units per second, by the median
	Unit    string  `json:"unit"`
}

// least is the shortest duration of a round.
const least = 200 * time.Millisecond

// Measure calls work once, then in each round as often as fits into least, and fills in
// m with the mean time per call in a round. amount is how many units one call does.
func Measure(ctx context.Context, m Measurement, rounds int, amount float64, work func(context.Context) error) (Measurement, error) {
	if rounds < 1 {
		return m, fmt.Errorf("%d rounds: at least one is needed", rounds)
	}
	times := make([]float64, 0, rounds)
	for round := range 1 + rounds {
		start := time.Now()
		elapsed, repeats := time.Duration(0), 0
		for repeats == 0 || round > 0 && elapsed < least {
			if err := work(ctx); err != nil {
				return m, fmt.Errorf("%s %s, %s: %w", m.Engine, m.What, m.Size, err)
			}
			if err := ctx.Err(); err != nil {
				return m, err
			}
			elapsed, repeats = time.Since(start), repeats+1
		}
		if round > 0 {
			times = append(times, elapsed.Seconds()/float64(repeats))
		}
	}
	slices.Sort(times)
	m.Threads = runtime.GOMAXPROCS(0)
	m.Min = times[0]
	m.Median = (times[(rounds-1)/2] + times[rounds/2]) / 2
	m.Rate = amount / m.Median
	return m, nil
}
