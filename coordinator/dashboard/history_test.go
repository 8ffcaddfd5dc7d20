package dashboard

import (
	"fmt"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/machine"
)

// The history has a bounded number of points, from the first to the last.
func TestHistory(t *testing.T) {
	p := make(past)
	begin := time.Unix(1_700_000_000, 0)
	for i := range 100_000 {
		p.note(begin.Add(time.Duration(i)*time.Second), synthetic(1, i).Runs, interval)
	}
	h := p["run1"]
	n := len(h.Time)
	if n > keptPoints || n < keptPoints/2 || h.Step[0] != 0 || float64(100_000-h.Step[n-1]) > h.Every+1 {
		t.Errorf("%d points every %g s, from step %d to %d", n, h.Every, h.Step[0], h.Step[n-1])
	}
	for i := range n {
		if i > 0 && h.Time[i] <= h.Time[i-1] || h.Time[i] != float64(begin.Unix()+h.Step[i]) {
			t.Fatalf("point %d is at %g, step %d", i, h.Time[i], h.Step[i])
		}
	}
	for i := range 20 {
		s := synthetic(1, 1)
		s.Runs[0].Run = fmt.Sprint("other", i)
		p.note(begin.Add(200_000*time.Second+time.Duration(i)*time.Second), s.Runs, interval)
	}
	if len(p) != keptRuns || p["run1"] != nil || p["other19"] == nil {
		t.Errorf("%d runs are kept", len(p))
	}
	done := synthetic(1, 5)
	done.Runs[0].Run, done.Runs[0].State = "over", machine.StateDone
	if p.note(begin, done.Runs, interval); p["over"] != nil {
		t.Error("a run that has ended has a history")
	}
}
