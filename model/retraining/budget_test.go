package retraining

import (
	"strings"
	"testing"
	"time"
)

func TestTrainUntil(t *testing.T) {
	at := func(text string) time.Time {
		v, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	const hour = Duration(time.Hour)
	for _, c := range []struct {
		name       string
		budget     Budget
		began, now string
		spent      time.Duration
		until, why string
	}{
		{"none", Budget{}, "2026-03-01T22:00:00Z", "2026-03-01T22:00:00Z", 0, "", ""},
		{"wall", Budget{Wall: 2 * hour}, "2026-03-01T22:00:00Z", "2026-03-01T22:00:00Z", 0, "2026-03-01T23:50:00Z", "the wall time of 2h0m0s"},
		{"wall of a second process", Budget{Wall: 2 * hour}, "2026-03-01T22:00:00Z", "2026-03-05T08:00:00Z", 90 * time.Minute, "2026-03-05T08:20:00Z", "the wall time"},
		{"wall that is spent", Budget{Wall: hour}, "2026-03-01T22:00:00Z", "2026-03-01T23:30:00Z", 90 * time.Minute, "2026-03-01T22:54:00Z", "the wall time"},
		{"deadline in the morning", Budget{Deadline: "06:00", Zone: "Europe/Berlin"}, "2026-03-01T22:00:00Z", "2026-03-01T22:00:00Z", 0, "2026-03-02T04:50:00Z", "the deadline 2026-03-02T06:00:00+01:00"},
		{"deadline of the day of the beginning", Budget{Deadline: "23:30", Zone: "UTC"}, "2026-03-01T22:00:00Z", "2026-03-02T01:00:00Z", 0, "2026-03-01T23:21:00Z", "the deadline"},
		{"deadline in summer time", Budget{Deadline: "06:00", Zone: "Europe/Berlin"}, "2026-03-28T22:00:00Z", "2026-03-28T22:00:00Z", 0, "2026-03-29T03:50:00Z", "the deadline"},
		{"deadline in the hour that does not exist", Budget{Deadline: "02:30", Zone: "Europe/Berlin"}, "2026-03-28T22:00:00Z", "2026-03-28T22:00:00Z", 0, "2026-03-29T01:20:00Z", "the deadline"},
		{"the earlier one", Budget{Wall: 10 * hour, Deadline: "23:00", Zone: "UTC"}, "2026-03-01T22:00:00Z", "2026-03-01T22:00:00Z", 0, "2026-03-01T22:54:00Z", "the deadline"},
		{"with a reserve", Budget{Wall: 2 * hour, Reserve: hour / 2}, "2026-03-01T22:00:00Z", "2026-03-01T22:00:00Z", 0, "2026-03-01T23:30:00Z", "the wall time"},
	} {
		until, why := c.budget.trainUntil(at(c.began), at(c.now), c.spent)
		if c.until == "" && !until.IsZero() || c.until != "" && !until.Equal(at(c.until)) || !strings.HasPrefix(why, c.why) {
			t.Errorf("%s: %v, %q", c.name, until, why)
		}
	}
}

func TestBudgetRefuses(t *testing.T) {
	for want, b := range map[string]Budget{
		"steps is -1":   {Steps: -1},
		"deadline is":   {Deadline: "25:00"},
		"zone: unknown": {Deadline: "06:00", Zone: "Europe/Atlantis"},
		"zone is":       {Zone: "Europe/Berlin"},
		"reserve is":    {Wall: 5, Reserve: 5},
	} {
		if err := b.validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", b, err, want)
		}
	}
}

// Fewer steps than wanted are a budget; more change nothing.
func TestBudgetOfSteps(t *testing.T) {
	if n, fewer := (Budget{Steps: 10}).steps(100); n != 10 || !fewer {
		t.Errorf("%d, %v", n, fewer)
	}
	if n, fewer := (Budget{Steps: 1000}).steps(100); n != 100 || fewer {
		t.Errorf("%d, %v", n, fewer)
	}
}
