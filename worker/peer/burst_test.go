package peer

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// A worker measures its link from another one, which serves one at a time.
func TestMeasureRate(t *testing.T) {
	member := serve(t, &Server{Rings: plain})
	rate, err := MeasureRate(t.Context(), plain, member)
	if err != nil || rate < 1e6 {
		t.Errorf("%v bytes a second over loopback, %v", rate, err)
	}
	busy := &Server{Rings: plain}
	busy.bursting.Store(true)
	if _, err := MeasureRate(t.Context(), plain, serve(t, busy)); !errors.Is(err, ErrBusy) {
		t.Errorf("while another measures: %v", err)
	}
	if _, err := MeasureRate(t.Context(), plain, serve(t, wire.UnimplementedPeerServer{})); err == nil {
		t.Error("an older worker has a rate")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := MeasureRate(ctx, plain, member); err == nil {
		t.Error("no error after the end of the context")
	}
}

// A link is as fast as it is once a burst has risen: what a bucket of tokens lets pass at once does
// not count, nor does a slow beginning.
func TestReceiveBurst(t *testing.T) {
	for name, c := range map[string]struct {
		rate  func(bytes int) float64 // bytes a second after so many bytes
		want  float64
		bytes int // that a burst takes at most
	}{
		"even":     {func(int) float64 { return 100e6 }, 100e6, burstBytes},
		"a bucket": {func(n int) float64 { return choose(n < 256<<10, 1e9, 12.5e6) }, 12.5e6, 3 << 20},
		"a rise":   {func(n int) float64 { return choose(n < 256<<10, 1e6, 125e6) }, 125e6, burstBytes},
		"slow":     {func(int) float64 { return 3e6 }, 3e6, burstRise + enoughBytes},
	} {
		at, bytes := time.Unix(0, 0), 0
		rate, err := receiveBurst(func() (int, error) {
			at = at.Add(time.Duration(burstPart / c.rate(bytes) * float64(time.Second)))
			bytes += burstPart
			return burstPart, nil
		}, func() time.Time { return at })
		if err != nil || rate < 0.99*c.want || rate > 1.01*c.want || bytes > c.bytes {
			t.Errorf("%s: %v bytes a second after %d bytes, %v", name, rate, bytes, err)
		}
	}
}

func choose(first bool, a, b float64) float64 {
	if first {
		return a
	}
	return b
}

// A burst that ends early counts as far as it came; what is no burst is an error.
func TestShortBursts(t *testing.T) {
	run := func(parts []int, end error) (float64, error) {
		at := time.Unix(0, 0)
		return receiveBurst(func() (int, error) {
			if len(parts) == 0 {
				return 0, end
			}
			n := parts[0]
			parts = parts[1:]
			at = at.Add(time.Second)
			return n, nil
		}, func() time.Time { return at })
	}
	if rate, err := run([]int{1000, 1000, 1000}, io.EOF); err != nil || rate != 1000 {
		t.Errorf("three parts: %v, %v", rate, err)
	}
	for name, c := range map[string]struct {
		parts []int
		end   error
	}{
		"nothing":  {nil, io.EOF},
		"one part": {[]int{1000}, io.EOF},
		"empty":    {[]int{1000, 0}, io.EOF},
		"too long": {[]int{burstPart + 1}, io.EOF},
		"broken":   {[]int{1000, 1000}, errors.New("broken")},
	} {
		if rate, err := run(c.parts, c.end); err == nil {
			t.Errorf("%s: %v", name, rate)
		}
	}
}
