package retraining

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
)

// Budget bounds a retraining. Zero values bound nothing.
type Budget struct {
	Wall  Duration `yaml:"wall"`  // of the whole retraining, over all its processes: "2h30m"
	Steps int      `yaml:"steps"` // of each training
	Disk  Size     `yaml:"disk"`  // of data and checkpoints: "20 GB"
	// Deadline is a time of day, "06:00": training ends before it comes next. Zone is its
	// time zone, "Europe/Berlin"; empty: this machine's.
	Deadline string `yaml:"deadline"`
	Zone     string `yaml:"zone"`
	// Reserve is kept of Wall and Deadline for evaluation, gate and report; 0: a tenth of the
	// whole time, and at most defaultReserve.
	Reserve Duration `yaml:"reserve"`
}

const defaultReserve = 10 * time.Minute

// Duration is a time.Duration in YAML and JSON, as "2h30m".
type Duration time.Duration

// UnmarshalText reads what time.ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("%.40q is no duration such as 2h30m", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes the shortest text that UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Size is a number of bytes in YAML, as "20 GB" or "512 MiB".
type Size uint64

// UnmarshalText reads a number with a unit.
func (s *Size) UnmarshalText(text []byte) error {
	v, err := humanize.ParseBytes(string(text))
	if err != nil {
		return fmt.Errorf("%.40q is no size such as 20 GB", text)
	}
	*s = Size(v)
	return nil
}

func (b Budget) validate() error {
	if b.Steps < 0 {
		return fmt.Errorf("steps is %d, want 0 or more", b.Steps)
	}
	if b.Wall > 0 && b.Reserve >= b.Wall {
		return fmt.Errorf("reserve is %v, as long as the whole budget of %v", time.Duration(b.Reserve), time.Duration(b.Wall))
	}
	if b.Zone != "" && b.Deadline == "" {
		return fmt.Errorf("zone is %q, but there is no deadline", b.Zone)
	}
	_, err := b.deadline(time.Now())
	return err
}

// deadline is the first time of the deadline after began; zero without one. A time that the
// zone skips on that day counts from the day's start, as if the clock had not been changed.
func (b Budget) deadline(began time.Time) (time.Time, error) {
	if b.Deadline == "" {
		return time.Time{}, nil
	}
	of, err := time.Parse("15:04", b.Deadline)
	if err != nil {
		return time.Time{}, fmt.Errorf("deadline is %.40q, want a time of day such as 06:00", b.Deadline)
	}
	zone := time.Local
	if b.Zone != "" {
		if zone, err = time.LoadLocation(b.Zone); err != nil {
			return time.Time{}, fmt.Errorf("zone: %w", err)
		}
	}
	local := began.In(zone)
	for day := 0; ; day++ {
		at := time.Date(local.Year(), local.Month(), local.Day()+day, of.Hour(), of.Minute(), 0, 0, zone)
		if at.After(began) {
			return at, nil
		}
	}
}

// trainUntil is when training must end, and which bound says so; the zero time if none does.
// began is when the retraining began, spent what it has used of its wall time before now.
func (b Budget) trainUntil(began, now time.Time, spent time.Duration) (until time.Time, why string) {
	if at, err := b.deadline(began); err == nil && !at.IsZero() {
		until, why = at.Add(-b.reserve(at.Sub(began))), fmt.Sprintf("the deadline %s", at.Format(time.RFC3339))
	}
	if wall := time.Duration(b.Wall); wall > 0 {
		at := now.Add(wall - b.reserve(wall) - spent)
		if until.IsZero() || at.Before(until) {
			until, why = at, fmt.Sprintf("the wall time of %v", wall)
		}
	}
	return until, why
}

// reserve is kept of the whole time that a bound gives.
func (b Budget) reserve(whole time.Duration) time.Duration {
	if b.Reserve > 0 {
		return time.Duration(b.Reserve)
	}
	return min(whole/10, defaultReserve)
}

// steps is the number of steps of a training within the budget, and whether that is fewer.
func (b Budget) steps(wanted int) (steps int, fewer bool) {
	if b.Steps > 0 && b.Steps < wanted {
		return b.Steps, true
	}
	return wanted, false
}
