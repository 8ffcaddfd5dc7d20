package schedule

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/robfig/cron/v3"
)

// The cases in which the libraries differ from one another and from Debian's cron
// (docs/decisions/cron.md).
func TestTable(t *testing.T) {
	for _, test := range []struct{ name, zone, line, from, want string }{
		{"gap", "Europe/Berlin", "30 2 * * *", "2026-03-27T12:00:00Z",
			"2026-03-28T02:30:00+01:00 2026-03-29T03:00:00+02:00 2026-03-30T02:30:00+02:00"},
		{"fold", "Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z",
			"2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00"},
		{"hourly in a fold", "Europe/Berlin", "0 * * * *", "2026-10-24T23:30:00Z",
			"2026-10-25T02:00:00+02:00 2026-10-25T02:00:00+01:00 2026-10-25T03:00:00+01:00"},
		{"hourly in a gap", "Europe/Berlin", "0 * * * *", "2026-03-28T23:30:00Z",
			"2026-03-29T01:00:00+01:00 2026-03-29T03:00:00+02:00"},
		{"midnight in a gap", "America/Sao_Paulo", "0 0 * * *", "2018-11-03T12:00:00Z",
			"2018-11-04T01:00:00-02:00 2018-11-05T00:00:00-02:00"},
		{"once a year beside a gap", "America/Sao_Paulo", "0 1 4 11 *", "2018-11-03T12:00:00Z",
			"2018-11-04T01:00:00-02:00 2019-11-04T01:00:00-03:00"},
		{"gap of 30 minutes", "Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00:00Z",
			"2026-10-04T02:30:00+11:00 2026-10-05T02:15:00+11:00"},
		{"fold of 30 minutes", "Australia/Lord_Howe", "45 1 * * *", "2026-04-04T00:00:00Z",
			"2026-04-05T01:45:00+11:00 2026-04-06T01:45:00+10:30"},
		{"day of month or of week", "UTC", "0 0 13 * 5", "2026-11-01T00:00:00Z",
			"2026-11-06T00:00:00Z 2026-11-13T00:00:00Z 2026-11-20T00:00:00Z 2026-11-27T00:00:00Z 2026-12-04T00:00:00Z 2026-12-11T00:00:00Z 2026-12-13T00:00:00Z"},
		{"a day that was left out", "Pacific/Apia", "30 2 * * *", "2011-12-28T13:00:00Z",
			"2011-12-29T02:30:00-10:00 2011-12-31T02:30:00+14:00 2012-01-01T02:30:00+14:00"},
		{"the hour before a day that was left out", "Pacific/Apia", "30 23 * * *", "2011-12-29T00:00:00Z",
			"2011-12-28T23:30:00-10:00 2011-12-29T23:30:00-10:00 2011-12-31T23:30:00+14:00"},
		{"several times in one gap are one start", "Europe/Berlin", "0,20,40 2,3 * * *", "2026-03-28T12:00:00Z",
			"2026-03-29T03:00:00+02:00 2026-03-29T03:20:00+02:00 2026-03-29T03:40:00+02:00"},
		{"a gap at the end of a day", "America/Scoresbysund", "30 23 * * *", "2025-03-29T12:00:00Z",
			"2025-03-30T00:00:00-01:00 2025-03-30T23:30:00-01:00"},
		{"a fold across midnight", "America/St_Johns", "0 0 * * *", "2006-10-28T12:00:00Z",
			"2006-10-29T00:00:00-02:30 2006-10-30T00:00:00-03:30"},
		{"the same in real time", "America/St_Johns", "*/30 0,23 * * *", "2006-10-29T02:20:00Z",
			"2006-10-29T00:00:00-02:30 2006-10-28T23:30:00-03:30 2006-10-29T00:00:00-03:30 2006-10-29T00:30:00-03:30"},
		{"real time in a gap", "Europe/Berlin", "*/30 2 * * *", "2026-03-28T12:00:00Z",
			"2026-03-30T02:00:00+02:00 2026-03-30T02:30:00+02:00"},
		{"real time in a fold", "Europe/Berlin", "*/30 2 * * *", "2026-10-24T12:00:00Z",
			"2026-10-25T02:00:00+02:00 2026-10-25T02:30:00+02:00 2026-10-25T02:00:00+01:00 2026-10-25T02:30:00+01:00 2026-10-26T02:00:00+01:00"},
		{"asked in the second hour of a fold", "Europe/Berlin", "10,30 2 * * *", "2026-10-25T01:20:00Z",
			"2026-10-26T02:10:00+01:00"},
		{"a fraction of a second before", "UTC", "0 0 * * *", "2026-11-24T23:59:59.999999999Z",
			"2026-11-25T00:00:00Z"},
		{"at the time itself", "UTC", "0 0 * * *", "2026-11-25T00:00:00Z",
			"2026-11-26T00:00:00Z"},
	} {
		s := mustParse(t, test.line, test.zone)
		at, err := time.Parse(time.RFC3339, test.from)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range strings.Fields(test.want) {
			at = s.Next(at)
			got = append(got, at.Format(time.RFC3339))
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: %q in %s\ngives %s\nwant  %s", test.name, test.line, test.zone, text, test.want)
		}
	}
}

// In UTC the rule adds nothing to robfig's.
func TestUTC(t *testing.T) {
	for _, line := range []string{"0 0 * * *", "*/7 3-5 * * 1-5", "15,45 */6 1,31 * *", "0 12 29 2 *", "59 23 31 12 *", "0 0 13 * 5", "@hourly"} {
		s := mustParse(t, line, "")
		theirs, err := cron.ParseStandard(line)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		for range 300 {
			at := time.Unix(rng.Int64N(3e9), rng.Int64N(1e9)).UTC()
			if got, want := s.Next(at), theirs.Next(at); !got.Equal(want) {
				t.Fatalf("%q after %v: %v, robfig %v", line, at, got, want)
			}
		}
	}
}

// Next increases strictly and depends on the instant alone; Between and Latest agree with it.
func TestProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	zones := []string{"UTC", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "America/St_Johns", "Asia/Kathmandu", "Antarctica/Troll"}
	lines := []string{"0 * * * *", "30 2 * * *", "*/13 1-4 * * *", "5,35 0,2,23 * * *", "0 0 1 * 1", "0-59 0-23 29-31 3,10,12 *", "0 3 29 2 *"}
	for _, line := range lines {
		for _, zone := range zones {
			s := mustParse(t, line, zone)
			for range 3 {
				from := time.Unix(rng.Int64N(2.2e9), rng.Int64N(1e9)).UTC()
				times := s.Between(from, from.AddDate(30, 0, 0), 20)
				last := from
				for _, at := range times {
					if !at.After(last) || at.Second() != 0 {
						t.Fatalf("%q in %s: %v after %v", line, zone, at, last)
					}
					if middle := last.Add(at.Sub(last) / 2); !s.Next(middle).Equal(at) {
						t.Fatalf("%q in %s: after %v comes %v, but after %v %v", line, zone, last, at, middle, s.Next(middle))
					}
					if before := at.Add(-1); !s.Next(before).Equal(at) {
						t.Fatalf("%q in %s: %v is not the next time a nanosecond before", line, zone, at)
					}
					last = at
				}
				for n, at := range times {
					until := at.Add(time.Duration(rng.Int64N(59e9)))
					if got := s.Latest(from, until); !got.Equal(at) {
						t.Fatalf("%q in %s: latest until %v is %v, want %v", line, zone, until, got, at)
					}
					if some := s.Between(from, at, 100); len(some) != n+1 {
						t.Fatalf("%q in %s: %d times until the one of number %d", line, zone, len(some), n)
					}
				}
			}
		}
	}
}

func TestLatestIsCheap(t *testing.T) {
	s := mustParse(t, "* * * * *", "Europe/Berlin")
	until := time.Date(2026, 6, 1, 12, 0, 30, 0, time.UTC)
	if got := s.Latest(time.Time{}, until); !got.Equal(until.Truncate(time.Minute)) {
		t.Error("latest of all minutes:", got)
	}
	if got := s.Latest(until, until.Add(29*time.Second)); !got.IsZero() {
		t.Error("a time between two minutes:", got)
	}
}

func TestEndOfTime(t *testing.T) {
	at := time.Date(lastYear, 12, 31, 23, 0, 0, 0, time.UTC)
	for _, line := range []string{"0 0 * * *", "*/5 0 * * *"} {
		if next := mustParse(t, line, "").Next(at); !next.IsZero() {
			t.Errorf("%q: %v", line, next)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, line := range []string{"30 2 * * *", "0 * * * *", "0 0 29 2 *"} {
		b.Run(line, func(b *testing.B) {
			s := mustParse(b, line, "Europe/Berlin")
			at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
			for b.Loop() {
				s.Next(at)
			}
		})
	}
}
