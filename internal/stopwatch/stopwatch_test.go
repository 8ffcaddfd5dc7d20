package stopwatch

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// In a bubble time passes only where work sleeps: what Measure says is exact.
func TestMeasure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		durations := []time.Duration{time.Hour, 4, 1, 3, 2} // seconds; the first warms up
		round := 0
		m, err := Measure(t.Context(), Measurement{Engine: "go"}, 4, 10, func(context.Context) error {
			<-time.After(durations[round] * time.Second)
			round++
			return nil
		})
		if err != nil || round != 5 {
			t.Fatalf("%d rounds, error %v", round, err)
		}
		want := Measurement{Engine: "go", Threads: runtime.GOMAXPROCS(0), Median: 2.5, Min: 1, Rate: 4}
		if m != want {
			t.Errorf("%+v, want %+v", m, want)
		}
	})
}

// Short work is repeated until a round is steady: here three times.
func TestMeasureRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		m, err := Measure(t.Context(), Measurement{}, 2, 1, func(context.Context) error {
			<-time.After(80 * time.Millisecond)
			calls++
			return nil
		})
		if err != nil || calls != 1+2*3 || m.Median != 0.08 || m.Min != 0.08 || m.Rate != 12.5 {
			t.Errorf("%d calls, %+v, error %v", calls, m, err)
		}
	})
}

func TestMeasureFails(t *testing.T) {
	broken := errors.New("broken")
	if _, err := Measure(t.Context(), Measurement{}, 3, 1, func(context.Context) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if _, err := Measure(t.Context(), Measurement{}, 0, 1, nil); err == nil {
		t.Error("no rounds are an error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err := Measure(ctx, Measurement{}, 100, 1, func(context.Context) error { calls++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d calls, error %v", calls, err)
	}
}
