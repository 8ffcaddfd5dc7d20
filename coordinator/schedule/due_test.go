package schedule

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func at(text string) time.Time {
	t, err := time.Parse(time.DateTime, text)
	if err != nil {
		panic(err)
	}
	return t
}

// show writes a decision as hours and minutes of day, such as "start 02:00; 3 × 23:00…01:00 missed".
func show(d Decision) string {
	var parts []string
	for _, t := range d.Start {
		parts = append(parts, "start "+t.UTC().Format("02 15:04"))
	}
	for _, p := range d.Passed {
		reason, _, _ := strings.Cut(p.Reason, ":")
		parts = append(parts, fmt.Sprintf("%d from %s to %s %s", p.Times, p.First.UTC().Format("02 15:04"), p.Last.UTC().Format("02 15:04"), reason))
	}
	return strings.Join(parts, "; ")
}

func TestDue(t *testing.T) {
	for _, test := range []struct {
		name, line   string
		policy       Policy
		decided, now string
		paused       bool
		want         string
	}{
		{"nothing yet", "0 * * * *", Policy{}, "2026-11-25 10:00:00", "2026-11-25 10:59:59", false, ""},
		{"in time", "0 * * * *", Policy{}, "2026-11-25 10:00:00", "2026-11-25 11:00:00", false, "start 25 11:00"},
		{"in time, skip", "0 * * * *", Policy{Missed: MissedSkip}, "2026-11-25 10:00:00", "2026-11-25 11:01:00", false, "start 25 11:00"},
		{"down for the night", "0 * * * *", Policy{}, "2026-11-24 22:00:00", "2026-11-25 06:30:00", false, "start 25 06:00; 7 from 24 23:00 to 25 05:00 missed"},
		{"down for the night, skip", "0 * * * *", Policy{Missed: MissedSkip}, "2026-11-24 22:00:00", "2026-11-25 06:30:00", false, "8 from 24 23:00 to 25 06:00 too late"},
		{"down, back in time, skip", "0 * * * *", Policy{Missed: MissedSkip}, "2026-11-24 22:00:00", "2026-11-25 06:00:30", false, "start 25 06:00; 7 from 24 23:00 to 25 05:00 too late"},
		{"down for the night, all", "0 * * * *", Policy{Missed: MissedAll, CatchUp: 3}, "2026-11-24 22:00:00", "2026-11-25 06:30:00", false,
			"start 25 04:00; start 25 05:00; start 25 06:00; 5 from 24 23:00 to 25 03:00 missed"},
		{"all, and fewer than the bound", "0 * * * *", Policy{Missed: MissedAll}, "2026-11-25 04:30:00", "2026-11-25 06:30:00", false, "start 25 05:00; start 25 06:00"},
		{"deadline", "0 2 * * *", Policy{DeadlineSeconds: 3600}, "2026-11-24 02:00:00", "2026-11-25 03:00:01", false, "1 from 25 02:00 to 25 02:00 too late"},
		{"deadline to the second", "0 2 * * *", Policy{DeadlineSeconds: 3600}, "2026-11-24 02:00:00", "2026-11-25 03:00:00", false, "start 25 02:00"},
		{"all within the deadline", "0 * * * *", Policy{Missed: MissedAll, DeadlineSeconds: 7200}, "2026-11-24 22:00:00", "2026-11-25 06:30:00", false,
			"start 25 05:00; start 25 06:00; 6 from 24 23:00 to 25 04:00 too late"},
		{"paused", "0 * * * *", Policy{Missed: MissedAll}, "2026-11-24 22:00:00", "2026-11-25 06:30:00", true, "8 from 24 23:00 to 25 06:00 paused"},
		{"a clock an hour back", "*/10 * * * *", Policy{}, "2026-11-25 10:00:00", "2026-11-25 09:00:00", false, ""},
		{"a clock a year ahead", "* * * * *", Policy{Missed: MissedAll, CatchUp: 2}, "2025-11-25 10:00:00", "2026-11-25 10:00:00", false,
			"start 25 09:59; start 25 10:00; 1000 from 25 10:01 to 25 09:58 missed"},
	} {
		if err := test.policy.Validate(); err != nil {
			t.Fatal(test.name, err)
		}
		s := mustParse(t, test.line, "")
		st := State{Decided: at(test.decided), Paused: test.paused}
		next, d := s.Due("nightly", test.policy, st, at(test.now))
		if got := show(d); got != test.want || d.Warning != "" {
			t.Errorf("%s: %q, want %q (warning %q)", test.name, got, test.want, d.Warning)
		}
		if !d.Next.After(at(test.now)) || !d.Wake.Equal(d.Next) || !d.Next.Equal(s.Next(next.Decided)) {
			t.Errorf("%s: next %v, wake %v", test.name, d.Next, d.Wake)
		}
		if _, again := s.Due("nightly", test.policy, next, at(test.now)); show(again) != "" {
			t.Errorf("%s: asked again: %s", test.name, show(again))
		}
	}
}

// A clock that was a year ahead blocks nothing when it is right again, and starts nothing
// twice, neither then nor when the year is over.
func TestClockAhead(t *testing.T) {
	s, st := mustParse(t, "0 2 * * *", ""), State{Decided: at("2026-11-24 12:00:00")}
	starts := map[string]int{}
	ask := func(now string) Decision {
		t.Helper()
		var d Decision
		st, d = s.Due("nightly", Policy{}, st, at(now))
		for _, at := range d.Start {
			starts[at.UTC().Format(time.DateTime)]++
		}
		return d
	}
	ask("2026-11-25 02:00:00")
	if got := show(ask("2027-11-25 12:00:00")); got != "start 25 02:00; 364 from 26 02:00 to 24 02:00 missed" {
		t.Error("a year ahead:", got)
	}
	if d := ask("2026-11-25 12:00:00"); d.Warning == "" || len(d.Start) != 0 || !d.Next.Equal(at("2026-11-26 02:00:00")) {
		t.Error("right again:", show(d), d.Warning, d.Next)
	}
	for day := at("2026-11-26 02:00:05"); day.Before(at("2027-12-01 00:00:00")); day = day.AddDate(0, 0, 1) {
		ask(day.Format(time.DateTime))
	}
	if len(starts) != 371 {
		t.Errorf("%d starts in 371 days", len(starts))
	}
	for time, n := range starts {
		if n != 1 {
			t.Errorf("%s was started %d times", time, n)
		}
	}
}

// A clock that wakes in 1970 and is set right starts nothing again that it had started.
func TestClockLost(t *testing.T) {
	p := Policy{Missed: MissedAll, CatchUp: 5}
	s, st := mustParse(t, "0 * * * *", ""), State{Decided: at("2026-11-24 12:30:00")}
	st, d := s.Due("hourly", p, st, at("2026-11-24 15:10:00"))
	if show(d) != "start 24 13:00; start 24 14:00; start 24 15:00" {
		t.Fatal(show(d))
	}
	st, d = s.Due("hourly", p, st, at("1970-01-01 00:00:10"))
	if show(d) != "" || d.Warning == "" {
		t.Error("1970:", show(d), d.Warning)
	}
	for range 10 {
		st, _ = s.Due("hourly", p, st, st.Decided.Add(time.Hour))
	}
	_, d = s.Due("hourly", p, st, at("2026-11-24 16:00:00"))
	if len(d.Start) != 2 || !d.Start[0].Equal(at("2026-11-24 12:00:00")) || !d.Start[1].Equal(at("2026-11-24 16:00:00")) {
		t.Error("right again:", show(d)) // 12:00 was before the schedule was added
	}
	if !strings.HasSuffix(show(d), "started before") {
		t.Error("right again:", show(d))
	}
}

// Asked at any times, a schedule decides about each of its times exactly once and in order,
// starts none before its time, and the state survives JSON.
func TestDueDecidesOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	policies := []Policy{{}, {Missed: MissedSkip}, {Missed: MissedAll, CatchUp: 4}, {DeadlineSeconds: 5400}, {JitterSeconds: 7200}, {Missed: MissedAll, JitterSeconds: 600, DeadlineSeconds: 9000}}
	for n, line := range []string{"*/20 * * * *", "30 2 * * *", "0 * * * *", "15,45 1-3 * * 0,6"} {
		s := mustParse(t, line, "Europe/Berlin")
		for k, p := range policies {
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
			begin := at("2026-10-20 00:00:00")
			st, now := State{Decided: begin}, begin
			decided := map[int64]int{}
			for range 200 {
				now = now.Add(time.Duration(rng.ExpFloat64() * float64(2*time.Hour)))
				if rng.IntN(10) == 0 {
					now = now.Add(-time.Hour) // the clock goes back
				}
				var d Decision
				st, d = s.Due("x", p, st, now)
				for _, at := range d.Start {
					decided[at.Unix()]++
					if at.Add(p.Delay("x", at)).After(now) {
						t.Fatalf("%q, policy %d: %v started at %v", line, k, at, now)
					}
				}
				for _, row := range d.Passed {
					for _, at := range s.Between(row.First.Add(-1), row.Last, MaxCounted) {
						decided[at.Unix()]++
					}
				}
				if len(d.Start) > p.atOnce() || !d.Wake.After(now) && !now.Before(st.Decided) {
					t.Fatalf("%q, policy %d: %d starts, wake %v at %v", line, k, len(d.Start), d.Wake, now)
				}
				encoded, err := json.Marshal(st)
				if err != nil {
					t.Fatal(err)
				}
				st = State{}
				if err := json.Unmarshal(encoded, &st); err != nil {
					t.Fatal(err)
				}
			}
			all := s.Between(begin, st.Decided, 1e5)
			if len(decided) != len(all) || len(all) < 10 {
				t.Errorf("%q, policy %d: %d of %d times are decided", line, k, len(decided), len(all))
			}
			for _, at := range all {
				if decided[at.Unix()] != 1 {
					t.Errorf("%d %q, policy %d: %v is decided %d times", n, line, k, at, decided[at.Unix()])
				}
			}
		}
	}
}

func TestDelay(t *testing.T) {
	p := Policy{JitterSeconds: 600}
	sum, n := time.Duration(0), 2000
	for i := range n {
		at := time.Unix(int64(i)*3600, 0)
		d := p.Delay("nightly", at)
		if d < 0 || d >= 10*time.Minute || d != p.Delay("nightly", at.UTC()) {
			t.Fatal(d)
		}
		sum += d
	}
	if mean := sum / time.Duration(n); mean < 280*time.Second || mean > 320*time.Second { // 300 ± 4 s
		t.Error("mean delay", mean)
	}
	if now := time.Unix(1.8e9, 0); p.Delay("a", now) == p.Delay("b", now) && p.Delay("c", now) == p.Delay("d", now) {
		t.Error("the delay does not depend on the name")
	}
	// Golden: a new version must not move the starts of schedules.
	if got := p.Delay("nightly", time.Unix(1.8e9, 0)); got != golden {
		t.Errorf("delay %v, want %v", got, golden)
	}
}

const golden = 9*time.Minute + 26*time.Second

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		policy Policy
		why    string
	}{
		{Policy{Missed: "never"}, `missed is "never": must be`},
		{Policy{Overlap: "kill"}, `overlap is "kill": must be`},
		{Policy{CatchUp: 3}, "missed is not all"},
		{Policy{Missed: MissedAll, CatchUp: 101}, "not in 1…100"},
		{Policy{Missed: MissedAll, CatchUp: -1}, "not in 1…100"},
		{Policy{JitterSeconds: -1}, "jitter"},
		{Policy{JitterSeconds: 86401}, "jitter"},
		{Policy{DeadlineSeconds: -5}, "deadline"},
		{Policy{DeadlineSeconds: 600, JitterSeconds: 600}, "times would pass before they start"},
		{Policy{DeadlineSeconds: 59}, "deadline"},
	} {
		if err := test.policy.Validate(); err == nil || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%+v: %v, want %q", test.policy, err, test.why)
		}
	}
	if encoded, _ := json.Marshal(Policy{}); string(encoded) != "{}" {
		t.Errorf("the default policy is %s", encoded)
	}
}

func BenchmarkDue(b *testing.B) {
	s := mustParse(b, "30 2 * * *", "Europe/Berlin")
	now := at("2026-11-25 12:00:00")
	st := State{Decided: at("2026-11-25 02:30:00")}
	for b.Loop() {
		s.Due("nightly", Policy{}, st, now)
	}
}

func BenchmarkDueAfterAYearOfMinutes(b *testing.B) {
	s := mustParse(b, "* * * * *", "Europe/Berlin")
	now := at("2026-11-25 12:00:00")
	st := State{Decided: at("2025-11-25 02:30:00")}
	for b.Loop() {
		s.Due("nightly", Policy{}, st, now)
	}
}
