package schedule

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

func mustParse(t testing.TB, line, zone string) Spec {
	t.Helper()
	s, err := Parse(line, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct{ line, zone, why string }{
		{"", "", "must have five fields, not 0:"},
		{"* * * *", "", "must have five fields, not 4:"},
		{"0 0 0 1 1 *", "", "must have five fields, not 6:"},
		{"60 * * * *", "", `minute field "60": 60 is not in 0…59`},
		{"* 24 * * *", "", `hour field "24"`},
		{"* * 0 * *", "", "0 is not in 1…31"},
		{"* * * 13 *", "", `month field "13"`},
		{"* * * * 8", "", "8 is not in 0…7"},
		{"* * * june *", "", `"june" is neither a number nor one of jan, feb`},
		{"jan * * * *", "", `"jan" is no number`},
		{"1,,2 * * * *", "", `"" is not *`},
		{"1, * * * *", "", `"" is not *`},
		{"? * * * *", "", `"?" is not *`},
		{"* * L * *", "", `"L" is no number`},
		{"* * * * 1#2", "", `"1#2" is not *`},
		{"-5 * * * *", "", `"-5" is not *`},
		{"+5 * * * *", "", `"+5" is not *`},
		{"5/15 * * * *", "", "needs a range: 5-59/15"},
		{"*/0 * * * *", "", "not in 1…59"},
		{"*/90 * * * *", "", "not in 1…59"}, // cron would take it for once an hour
		{"* 22-4 * * *", "", "ends before it begins"},
		{"* * * * fri-sun", "", "ends before it begins"},
		{"0 0 30 2 *", "", "never comes"},
		{"0 0 31 2,4,6,9,11 *", "", "never comes"},
		{"0 0 30-31 feb */2", "", "never comes"},
		{"@every 5m", "", "write times, such as */10"},
		{"@reboot", "", "@reboot is no time"},
		{"@Daily", "", "must be @hourly"},
		{"@daily 1", "", "must be @hourly"},
		{"TZ=UTC 0 0 * * *", "", "must have five fields, not 6:"},
		{"TZ=UTC", "", "must have five fields, not 1:"}, // robfig panics
		{"CRON_TZ=UTC", "", "must have five fields, not 0:"},
		{"CRON_TZ= 0 0 * * *", "", "names no zone"},
		{"CRON_TZ=UTC 0 0 * * *", "Europe/Berlin", "give one of them"},
		{"0 0 * * *", "Europe/Atlantis", "unknown"},
		{"0 0 * * *", "../../etc/passwd", "unknown"},
		{"0 0 * * *", "Local", "differs between machines"},
		{"0 0 * * *", "right/UTC", `use "UTC"`},
		{"0 0 * * *", strings.Repeat("x", 100), "limit is 64"},
		{strings.Repeat("1,", 200) + "1 * * * *", "", "limit is 256"},
		{"0\u00a00 * * *\x00", "", `field`},
	} {
		_, err := Parse(test.line, test.zone)
		if !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%q in %q: %v, want %q", test.line, test.zone, err, test.why)
		}
	}
}

// 1 March 2026 is a Sunday.
func TestDialect(t *testing.T) {
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		line string
		want string // days of month of the next times, or hour:minute
	}{
		{"0 0 13 * 5", "6 13 20 27 3"},      // 13 March is a Friday: OR
		{"0 0 14 * 5", "6 13 14 20 27"},     // OR
		{"0 0 */2 * 5", "13 27 3 17 1"},     // day of month begins with *: odd days AND Fridays
		{"0 0 13 * */2", "13 13 13 13 13"},  // Sun, Tue, Thu, Sat AND the 13th: from June on
		{"0 0 2 * */7", "2 2 2 2 2"},        // Sundays AND the 2nd
		{"0 0 * * 7", "8 15 22 29 5"},       // 7 is Sunday
		{"0 0 * * 5-7", "6 7 8 13 14"},      // and ends ranges
		{"0 0 * * 1-7/3", "2 5 8 9 12"},     // 1, 4, 7
		{"0 0 * * 0-7/2", "3 5 7 8 10"},     // 0, 2, 4, 6
		{"0 0 * * fri,SAT", "6 7 13 14 20"}, // names
		{"0 0 1 jan-mar/2 *", "1 1 1 1 1"},
		{"0 0 5,* * 1", "2 3 4 5 6"}, // not begun by *: day of month OR Monday
		{"@weekly", "8 15 22 29 5"},
		{"@monthly", "1 1 1 1 1"},
	} {
		at, got := from, []string(nil)
		s := mustParse(t, test.line, "")
		for range 5 {
			at = s.Next(at)
			got = append(got, at.Format("2"))
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%q: days %s, want %s", test.line, text, test.want)
		}
	}
	// 29 February on a Sunday comes every 28 years; 2100 is no leap year.
	at := from
	for _, year := range []int{2032, 2060, 2088, 2128} {
		at = mustParse(t, "0 0 29 2 */7", "").Next(at)
		if want := time.Date(year, 2, 29, 0, 0, 0, 0, time.UTC); !at.Equal(want) {
			t.Errorf("29 February on a Sunday: %v, want %v", at, want)
		}
	}
}

func TestString(t *testing.T) {
	for line, zone := range map[string]string{"30  2 * * *": "Europe/Berlin", "CRON_TZ=America/New_York @daily": "", "*/5\t* * * 1-5": "", "0 0 1 1 *": "UTC"} {
		s := mustParse(t, line, zone)
		again := mustParse(t, s.String(), "")
		if again.String() != s.String() || again.Zone().String() != s.Zone().String() || again.Line() != s.Line() {
			t.Errorf("%q in %q: %q is read as %q", line, zone, s, again)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{"*/15 0-23/2 1,15 jan-jun 5-7", "@daily", "CRON_TZ=Asia/Tokyo 0 0 * * sun", "TZ=0", "0 0 30 2 *", "5/15 * * * *", "@every 1s"} {
		f.Add(line, "Europe/Berlin")
		f.Add(line, "")
	}
	f.Fuzz(func(t *testing.T, line, zone string) {
		s, err := Parse(line, zone)
		if err != nil {
			if !errors.Is(err, ErrSpec) {
				t.Fatal(err)
			}
			return
		}
		from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		first := s.Next(from)
		second := s.Next(first)
		if !first.After(from) || !second.After(first) {
			t.Fatalf("%q: %v, then %v", s, first, second)
		}
		again, err := Parse(s.String(), "")
		if err != nil || !again.Next(from).Equal(first) {
			t.Fatalf("%q: %v", s.String(), err)
		}
		// robfig agrees where it reads the line and has the same rule for days.
		if s.zone != time.UTC || strings.Contains(line, "CRON_TZ") {
			return
		}
		fields := strings.Fields(s.line)
		if len(fields) == 5 && (strings.Contains(fields[2], "*") && fields[2] != "*" || strings.Contains(fields[4], "*") && fields[4] != "*") {
			return
		}
		if theirs, err := cron.ParseStandard(s.line); err == nil {
			if want := theirs.Next(from); !want.IsZero() && !want.Equal(first) {
				t.Fatalf("%q: %v, robfig %v", s, first, want)
			}
		}
	})
}
