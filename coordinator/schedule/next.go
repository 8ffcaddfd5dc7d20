package schedule

import "time"

// searched is how far Next looks: 29 February on a given day of the week comes within 40
// years, also across 2100, which is no leap year.
const searched = 45 // years

// lastYear is the last year that RFC 3339 writes.
const lastYear = 9999

// Next returns the first time after the given one, in the zone of the line. It is the zero
// time where none comes, which happens only at the end of the year 9999.
func (s Spec) Next(after time.Time) time.Time {
	if s.realTime {
		return s.nextReal(after)
	}
	// Times of the wall clock map to instants in order (instant). So those up to the clock's
	// reading at after are over.
	for w := s.nextWall(reading(after, s.zone)); !w.IsZero(); w = s.nextWall(w) {
		if t, exists := instant(w, s.zone); exists && t.After(after) {
			return t
		}
	}
	return time.Time{}
}

// nextReal is Next in real time: the line names readings of the clock, and an instant counts
// if the clock shows one of them.
func (s Spec) nextReal(after time.Time) time.Time {
	w := reading(after, s.zone)
	for at := after.In(s.zone); at.Year() <= after.Year()+searched; {
		_, offset := at.Zone()
		_, end := at.ZoneBounds()
		next := s.nextWall(w)
		if next.IsZero() {
			break
		}
		if t := next.Add(-seconds(offset)); end.IsZero() || t.Before(end) {
			return t.In(s.zone)
		}
		at = end.In(s.zone)
		w = reading(at, s.zone).Add(-1) // end itself counts
	}
	return time.Time{}
}

// nextWall returns the first time of the line after w, or the zero time. Both are readings of
// the wall clock, written as UTC.
func (s Spec) nextWall(w time.Time) time.Time {
	const far = 5 // years that robfig looks ahead
	for range searched / far {
		if next := s.wall.Next(w); next.Year() > lastYear {
			break
		} else if !next.IsZero() {
			return next
		}
		w = time.Date(w.Year()+far, time.December, 31, 23, 59, 59, 0, time.UTC)
	}
	return time.Time{}
}

// Between returns the times after the first and not after the second instant, in order, and
// at most so many.
func (s Spec) Between(after, until time.Time, atMost int) []time.Time {
	var times []time.Time
	for len(times) < atMost {
		after = s.Next(after)
		if after.IsZero() || after.After(until) {
			break
		}
		times = append(times, after)
	}
	return times
}

// Following returns the times after an instant, in order, and at most so many.
func (s Spec) Following(after time.Time, atMost int) []time.Time {
	end := time.Date(lastYear+2, time.January, 1, 0, 0, 0, 0, time.UTC) // in any zone
	return s.Between(after, end, atMost)
}

// Latest returns the last time after the first and not after the second instant, or the zero
// time. It bisects, so that a year of minutes costs no more than a day of hours.
func (s Spec) Latest(after, until time.Time) time.Time {
	last := s.Next(after)
	if last.IsZero() || last.After(until) {
		return time.Time{}
	}
	// Nothing comes in (hi, until]. Times are whole seconds.
	for hi := until; hi.Sub(last) >= time.Second; {
		middle := last.Add(hi.Sub(last) / 2)
		if next := s.Next(middle); next.IsZero() || next.After(until) {
			hi = middle
		} else {
			last = next
		}
	}
	return last
}
