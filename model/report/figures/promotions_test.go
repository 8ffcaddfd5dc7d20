package figures

import (
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

func TestPaired(t *testing.T) {
	low, high := -0.2, 0.1
	p := Paired{Functions: []int{7, 8, 9}, Candidate: []float64{1, 2, 1e-9}, Champion: []float64{2, 2, 0.5}, Name: "W2", Unit: "units of x", Mean: -0.5, Low: &low, High: &high}
	f := PairedFigure(p)
	drawn(t, "comparison", closer, f.draw)
	all := lines(t, f.data)
	if len(all) != 4 || strings.Join(all[1], " ") != "7 1 2 -1" || strings.Join(all[3], " ") != "8 2 2 0" {
		t.Errorf("lines %q", all)
	}
	if !strings.Contains(f.caption, "1 values below 1e-5") {
		t.Errorf("caption %q", f.caption)
	}
	drawn(t, "comparison of one", further, PairedFigure(Paired{Functions: []int{1}, Candidate: []float64{3}, Champion: []float64{2}, Mean: 1}).draw)
	for name, bad := range map[string]Paired{
		"none":    {},
		"lengths": {Functions: []int{1, 2}, Candidate: []float64{1}, Champion: []float64{1, 2}},
		"NaN":     {Functions: []int{1}, Candidate: []float64{math.NaN()}, Champion: []float64{1}},
	} {
		if err := drawPaired(io.Discard, bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestPromotions(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 11, day, 2, 30, 0, 0, time.UTC) }
	low, high := 0.3, 0.6
	candidates := []Judged{
		{Time: at(9), Version: 2, Decision: "keep", Mean: 0.5},
		{Time: at(8), Version: 1, Decision: "promote", Mean: 0.4, Low: &low, High: &high},
		{Time: at(10), Decision: "refuse", Mean: 1e6},
	}
	f := PromotionsFigure(candidates, "W2", "units of x", 1)
	drawn(t, "promotions", vermilion, f.draw)
	all := lines(t, f.data)
	if len(all) != 4 || strings.Join(all[1], " ") != "2026-11-08T02:30:00Z 1 promote 0.4 0.3 0.6" || strings.Join(all[3], " ") != "2026-11-10T02:30:00Z  refuse 1e+06  " {
		t.Errorf("lines %q", all)
	}
	if candidates[0].Version != 2 {
		t.Error("the caller's candidates were sorted")
	}
	for name, some := range map[string][]Judged{"one": candidates[1:2], "only refused": candidates[2:], "negative": {{Time: at(1), Decision: "promote", Version: 1, Mean: -0.1}}} {
		if err := drawPromotions(io.Discard, some, "W2", "", 1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, bad := range map[string][]Judged{"none": nil, "NaN": {{Time: at(1), Mean: math.NaN()}}} {
		if err := drawPromotions(io.Discard, bad, "W2", "", 0); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Over any span of time there are some labels, and not too many.
func TestDateTicks(t *testing.T) {
	from := time.Date(2026, 10, 24, 23, 47, 0, 0, time.UTC)
	for span := 20 * time.Minute; span < 20*365*24*time.Hour; span = span * 5 / 4 {
		ticks := dateTicks(6).Ticks(float64(from.Unix()), float64(from.Add(span).Unix()))
		if len(ticks) < 1 || len(ticks) > 8 {
			t.Errorf("%v has %d ticks", span, len(ticks))
		}
		for _, tick := range ticks {
			if tick.Label == "" || tick.Value < float64(from.Unix()) || tick.Value > float64(from.Add(span).Unix()) {
				t.Errorf("%v: tick %+v", span, tick)
			}
		}
	}
}
