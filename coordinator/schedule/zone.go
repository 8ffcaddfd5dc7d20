package schedule

import "time"

// reading is what the wall clock of a zone shows at an instant, written as UTC.
func reading(t time.Time, zone *time.Location) time.Time {
	_, offset := t.In(zone).Zone()
	return t.UTC().Add(seconds(offset))
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// instant returns when the wall clock of a zone reads w, which is written as UTC: the first
// time if it does so twice, and the end of the gap if the clock was put forward past w. On a
// day that the zone left out it reports false.
//
// A zone is a sequence of periods with constant offsets. The first period that ends after w on
// its own clock has the instant, or follows the gap. So instant increases with w.
//
// Of ZoneBounds only the end is used: the start of the last period of the table can be that of
// the zone's rule, an hour before the table's (golang 1.26, Indiana/Winamac in March 2007).
func instant(w time.Time, zone *time.Location) (time.Time, bool) {
	const beyond = 26 * time.Hour // more than any offset
	const day = 24 * time.Hour
	at := w.Add(-beyond).In(zone) // where a period begins, after the first one
	var gap time.Time             // what the clock before would have shown then
	for {
		_, offset := at.Zone()
		_, end := at.ZoneBounds()
		if until := end.UTC().Add(seconds(offset)); !end.IsZero() && !w.Before(until) {
			at, gap = end.In(zone), until
			continue
		}
		if t := w.Add(-seconds(offset)).In(zone); !t.Before(at) {
			return t, true
		}
		midnight := w.Truncate(day) // Truncate counts from a midnight
		leftOut := !midnight.Before(gap) && !midnight.Add(day).After(reading(at, zone))
		return at, !leftOut
	}
}
