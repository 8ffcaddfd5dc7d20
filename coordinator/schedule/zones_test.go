package schedule

import (
	"archive/zip"
	"fmt"
	"go/build"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"
)

// allZones returns the zones of the tz database that Go has, without second names of a zone.
func allZones(t *testing.T) map[string]*time.Location {
	archive, err := zip.OpenReader(filepath.Join(build.Default.GOROOT, "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Skip("no tz database:", err)
	}
	defer archive.Close()
	zones, seen := make(map[string]*time.Location), make(map[string]bool)
	for _, file := range archive.File {
		if strings.HasSuffix(file.Name, "/") {
			continue
		}
		r, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if seen[string(content)] {
			continue
		}
		seen[string(content)] = true
		zones[file.Name], err = time.LoadLocationFromTZData(file.Name, content)
		if err != nil {
			t.Fatal(file.Name, err)
		}
	}
	return zones
}

const (
	tick = 30 // seconds: Monrovia's offset had half minutes until 1972
	day  = 24 * 60 * 60
)

// dailyStarts returns when jobs at times of the day start, by the day, found by reading the
// clock in small steps: when it first shows the job's time of a day, or more after less. shown
// has the days that the clock shows. It knows nothing of periods, gaps and folds.
func dailyStarts(zone *time.Location, from, until int64, at []int64) (starts []map[int64]int64, shown map[int64]bool) {
	starts, shown = make([]map[int64]int64, len(at)), map[int64]bool{}
	for i := range at {
		starts[i] = map[int64]int64{}
	}
	read := func(t int64) int64 {
		_, offset := time.Unix(t, 0).In(zone).Zone()
		return t + int64(offset)
	}
	before := read(from)
	for t := from; t < until; {
		step := int64(15 * 60)
		now := read(t + step)
		even := now == before+step
		if !even { // the clock was moved: look closely
			step = tick
			now = read(t + step)
		}
		shown[now/day] = true
		for i := range at {
			for d := (before-at[i])/day + 1; d*day+at[i] <= now; d++ {
				if _, is := starts[i][d]; is {
					continue
				}
				starts[i][d] = t + step
				if even {
					starts[i][d] = t + d*day + at[i] - before
				}
			}
		}
		t, before = t+step, now
	}
	return starts, shown
}

// transitions finds the changes of a zone's offset from the beginning of one year to that of
// another, by looking twice a day, and bisecting.
func transitions(zone *time.Location, from, until int) (found []time.Time) {
	offset := func(t int64) int { _, o := time.Unix(t, 0).In(zone).Zone(); return o }
	const look = day / 2
	end := time.Date(until, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for t := time.Date(from, 1, 1, 0, 0, 0, 0, time.UTC).Unix(); t < end; t += look {
		if offset(t) == offset(t+look) {
			continue
		}
		after := sort.Search(look, func(n int) bool { return offset(t+int64(n)) != offset(t) })
		found = append(found, time.Unix(t+int64(after), 0))
	}
	return found
}

// A daily job starts exactly once every local day that exists, at every transition of every
// zone from 1970 to 2037; away from transitions a day has 24 hours. The times of day are those
// at the edges and in the middle of what is left out or comes twice.
func TestDailyJobInEveryZone(t *testing.T) {
	zones := allZones(t)
	count, total := 0, 0
	leftOut := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(zones)) {
		zone := zones[name]
		if testing.Short() && !strings.HasPrefix(name, "Pacific/") {
			continue
		}
		for _, change := range transitions(zone, 1970, 2038) {
			count++
			old := reading(change.Add(-time.Second), zone).Unix() + 1 // where the old clock ended
			low, high := old, reading(change, zone).Unix()
			if high < low {
				low, high = high, low
			}
			var at []int64
			for _, w := range []int64{low - 60, low, (low + high) / 2, high - 60, high} {
				at = append(at, w%day/60*60)
			}
			// Times of the days around the change; the clock is read from a day earlier on.
			first, last := low/day-1, high/day+1
			starts, shown := dailyStarts(zone, change.Unix()-3*day, change.Unix()+3*day, at)
			for i := range at {
				s, err := parseIn(fmt.Sprintf("%d %d * * *", at[i]/60%60, at[i]/3600), zone)
				if err != nil {
					t.Fatal(err)
				}
				var want []time.Time
				for d := first; d <= last; d++ {
					if shown[d] {
						want = append(want, time.Unix(starts[i][d], 0))
					} else {
						leftOut[name+" "+time.Unix(d*day, 0).UTC().Format(time.DateOnly)] = true
					}
				}
				got := s.Between(want[0].Add(-1), want[len(want)-1], 10)
				total += len(got)
				if !slices.EqualFunc(got, want, time.Time.Equal) {
					t.Errorf("%s, clock from %d to %d at %v, %q:\n%v\nwant\n%v", name, old, reading(change, zone).Unix(), change.UTC(), s, got, want)
				}
			}
		}
	}
	for missing := range leftOut {
		if date := missing[len(missing)-len(time.DateOnly):]; !slices.Contains([]string{"1993-08-21", "1994-12-31", "2011-12-30"}, date) {
			t.Error("left out:", missing)
		}
	}
	if !leftOut["Pacific/Apia 2011-12-30"] {
		t.Error("30 December 2011 existed in Samoa")
	}
	t.Logf("%d zones, %d transitions, %d starts; days that a zone left out: %q", len(zones), count, total, slices.Sorted(maps.Keys(leftOut)))
}

// An hourly job in real time starts whenever the clock shows a full hour, in every zone.
func TestHourlyJobInEveryZone(t *testing.T) {
	for name, zone := range allZones(t) {
		if testing.Short() && !strings.HasPrefix(name, "Pacific/") {
			continue
		}
		s, err := parseIn("0 * * * *", zone)
		if err != nil {
			t.Fatal(err)
		}
		changes := transitions(zone, 2005, 2030)
		for _, change := range changes {
			from, until := change.Add(-5*time.Hour), change.Add(5*time.Hour)
			var want []time.Time
			for at := from.Add(tick * time.Second); !at.After(until); at = at.Add(tick * time.Second) {
				if l := at.In(zone); l.Minute() == 0 && l.Second() == 0 {
					want = append(want, at)
				}
			}
			if got := s.Between(from, until, 100); !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Errorf("%s at %v: %v, want %v", name, change, got, want)
			}
		}
	}
}
