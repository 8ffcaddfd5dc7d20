package machine

import (
	"strings"
	"testing"
	"time"
)

// A clock that is set back, or forward between two ticks, costs nobody the
// session, and time goes on from there.
func TestClockThatJumps(t *testing.T) {
	for _, jump := range []time.Duration{-24 * time.Hour, -time.Second, time.Hour} {
		m := New(Config{Version: "v1"}, Ledger{})
		now := time.Unix(1_000_000, 0)
		step := func(e Event) string {
			effects, reason := m.Step(now, e)
			for _, e := range effects {
				if c, ok := e.(Close); ok {
					reason += "; close " + c.Reason
				}
			}
			return reason
		}
		step(Start{})
		step(Hello{Session: 1, Worker: Worker{ID: "a", Version: "v1", DataAddress: "a:1"}})
		for range 8 {
			now = now.Add(50 * time.Millisecond)
			step(Tick{})
		}
		now = now.Add(jump)
		if got := step(Tick{}); strings.Contains(got, "close") {
			t.Errorf("clock jumps by %v: %s", jump, got)
		}
		step(Heartbeat{Session: 1})
		var closed time.Duration
		for silence := time.Duration(0); silence < 10*time.Second && closed == 0; silence += 50 * time.Millisecond {
			now = now.Add(50 * time.Millisecond)
			if strings.Contains(step(Tick{}), "silent") {
				closed = silence
			}
		}
		if closed < 2*time.Second || closed > 4*time.Second {
			t.Errorf("after a jump by %v, a silent worker is let go after %v; it should be the ping time-out, 3 s", jump, closed)
		}
	}
}
