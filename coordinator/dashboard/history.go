package dashboard

import (
	"time"

	"github.com/ergoflow/ergoflow/coordinator/machine"
)

// Bounds of what is kept of the past.
const (
	keptPoints = 600 // of a run
	keptRuns   = 8
)

// history is the course of a run, in columns of equal length. When it is full every second point
// goes, and points are added half as often. The page follows the same rule.
type history struct {
	Every   float64    `json:"every"` // seconds between points, at least
	Time    []float64  `json:"time"`  // Unix
	Step    []int64    `json:"step"`
	Loss    []*float64 `json:"loss"`
	Speed   []float64  `json:"speed"`   // samples per second
	Useful  []float64  `json:"useful"`  // seconds in useful steps so far
	Seconds []float64  `json:"seconds"` // all seconds so far
}

// add adds a point unless the last one is too near.
func (h *history) add(now time.Time, s machine.Status) {
	t := float64(now.UnixMilli()) / 1000
	if n := len(h.Time); n > 0 && t-h.Time[n-1] < h.Every {
		return
	}
	if len(h.Time) >= keptPoints {
		h.thin()
	}
	loss := s.Loss
	if loss != nil {
		v := short(*loss)
		loss = &v
	}
	useful, seconds := 0., 0.
	if g := s.Goodput; g != nil {
		useful, seconds = round(g.Useful), round(g.Seconds)
	}
	h.Time, h.Step, h.Loss = append(h.Time, t), append(h.Step, int64(s.Step)), append(h.Loss, loss)
	h.Speed, h.Useful, h.Seconds = append(h.Speed, short(s.SamplesPerSecond)), append(h.Useful, useful), append(h.Seconds, seconds)
}

func (h *history) thin() {
	h.Time, h.Step, h.Loss = second(h.Time), second(h.Step), second(h.Loss)
	h.Speed, h.Useful, h.Seconds = second(h.Speed), second(h.Useful), second(h.Seconds)
	h.Every *= 2
}

// second leaves out every second value, and keeps the first.
func second[T any](all []T) []T {
	n := 0
	for i := 0; i < len(all); i += 2 {
		all[n] = all[i]
		n++
	}
	return all[:n]
}

// round keeps hundredths of seconds.
func round(v float64) float64 { return float64(int64(v*100+0.5)) / 100 }

// past has the histories of the last runs, by their hashes.
type past map[string]*history

// note adds the present to the histories of the runs under way. It is called every interval.
func (p past) note(now time.Time, runs []Run, interval time.Duration) {
	for _, r := range runs {
		if r.Run == "" || r.State == machine.StateDone || r.State == machine.StateFailed || r.State == machine.StateGenerated {
			continue
		}
		h := p[r.Run]
		if h == nil {
			p.makeRoom()
			h = &history{Every: interval.Seconds() * 0.9} // a tick may come a little early
			p[r.Run] = h
		}
		h.add(now, r.Status)
	}
}

// makeRoom forgets the run that has had no point for the longest time.
func (p past) makeRoom() {
	if len(p) < keptRuns {
		return
	}
	oldest := ""
	for run, h := range p {
		if oldest == "" || h.last() < p[oldest].last() {
			oldest = run
		}
	}
	delete(p, oldest)
}

func (h *history) last() float64 { return h.Time[len(h.Time)-1] }
