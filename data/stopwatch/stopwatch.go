// Package stopwatch times what packages measure of themselves, all in the same
// way: once to warm up, then some rounds, each whole.
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

// Measure does work once and then rounds times more, and completes m with what
// it took. Amount is how many units work does.
func Measure(ctx context.Context, m Measurement, rounds int, amount float64, work func(context.Context) error) (Measurement, error) {
	if rounds < 1 {
		return m, fmt.Errorf("%d rounds: at least one is needed", rounds)
	}
	times := make([]float64, 0, rounds)
	for round := range 1 + rounds {
		start := time.Now()
		if err := work(ctx); err != nil {
			return m, fmt.Errorf("%s %s, %s: %w", m.Engine, m.What, m.Size, err)
		}
		if round > 0 {
			times = append(times, time.Since(start).Seconds())
		}
		if err := ctx.Err(); err != nil {
			return m, err
		}
	}
	slices.Sort(times)
	m.Threads = runtime.GOMAXPROCS(0)
	m.Min = times[0]
	m.Median = (times[(rounds-1)/2] + times[rounds/2]) / 2
	m.Rate = amount / m.Median
	return m, nil
}
