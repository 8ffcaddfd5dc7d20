package machine

import (
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/message"
)

// A clock that is set back, or forward between two ticks, costs no worker its session,
// and time continues from there. Messages that came while the coordinator was stopped
// may be handled before the first tick after that, or later.
func TestClockThatJumps(t *testing.T) {
	for _, c := range []struct {
		jump  time.Duration
		heard bool // before the first tick
	}{{-24 * time.Hour, false}, {-time.Second, false}, {time.Hour, false}, {8 * time.Second, true}} {
		jump := c.jump
		m := New(Config{}, Ledger{})
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
		step(Opened{Session: 1, Hello: message.Hello{Worker: message.Worker{ID: "a", DataAddress: "a:1"}}})
		for range 8 {
			now = now.Add(50 * time.Millisecond)
			step(Tick{})
		}
		now = now.Add(jump)
		if c.heard {
			step(Received{1, message.Heartbeat{}})
		}
		if got := step(Tick{}); strings.Contains(got, "close") {
			t.Errorf("clock jumps by %v: %s", jump, got)
		}
		step(Received{1, message.Heartbeat{}})
		var closed time.Duration
		for silence := time.Duration(0); silence < 10*time.Second && closed == 0; silence += 50 * time.Millisecond {
			now = now.Add(50 * time.Millisecond)
			if strings.Contains(step(Tick{}), "silent") {
				closed = silence
			}
		}
		if closed < time.Second || closed > 2*time.Second {
			t.Errorf("after a jump by %v, a silent worker is expelled after %v, want the ping time-out, 1.5 s", jump, closed)
		}
	}
}
