package queue

import (
	"errors"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"regexp"
	"time"
)

// Missed is what becomes of scheduled times at which the coordinator did not run.
type Missed string

const (
	MissedLast Missed = "last" // the newest is started, the others are skipped
	MissedSkip Missed = "skip" // all are skipped
	MissedAll  Missed = "all"  // the newest MaxCatchUp are started, one after the other
)

// Overlap is what becomes of a scheduled time that comes while a run of its schedule is
// waiting or under way.
type Overlap string

const (
	OverlapQueue   Overlap = "queue"   // it waits; where one waits already, it is skipped
	OverlapSkip    Overlap = "skip"    // it is skipped
	OverlapReplace Overlap = "replace" // the earlier run ends, and it begins
)

// MaxCatchUp bounds the runs that MissedAll starts.
const MaxCatchUp = 100

// defaultFailures in a row pause a schedule.
const defaultFailures = 5

// Schedule starts retrainings at times of a calendar.
type Schedule struct {
	Name     string  `json:"name"`
	Spec     string  `json:"spec"`                       // as in a crontab
	Zone     string  `json:"zone"`                       // of the tz database
	Config   string  `json:"config"`                     // absolute path of the retraining's configuration
	Jitter   Seconds `json:"jitter_seconds,omitempty"`   // runs start up to that late, each schedule by a fixed part of it
	Deadline Seconds `json:"deadline_seconds,omitempty"` // a run that has not begun so long after its time is skipped; 0: none
	Missed   Missed  `json:"missed"`
	Overlap  Overlap `json:"overlap"`
	Priority int     `json:"priority,omitempty"`
	// PauseAfter is the number of failures in a row after which the schedule pauses.
	PauseAfter int `json:"pause_after"`

	Added     time.Time `json:"added"`
	Handled   time.Time `json:"handled"`            // times up to this one were started or skipped
	Forgotten time.Time `json:"forgotten,omitzero"` // the latest time whose run was pruned
	Paused    bool      `json:"paused,omitempty"`
	Why       string    `json:"why,omitempty"` // it is paused

	Failures    int       `json:"failures,omitempty"` // in a row
	LastStarted time.Time `json:"last_started,omitzero"`
	LastDone    time.Time `json:"last_done,omitzero"`
	Last        *Result   `json:"last,omitempty"`    // the last run that ended after it began
	Skipped     *Result   `json:"skipped,omitempty"` // the last that did not begin
}

// Seconds is a duration in whole seconds.
type Seconds int64

func (s Seconds) duration() time.Duration { return time.Duration(s) * time.Second }

// Result is what became of a scheduled time.
type Result struct {
	Run       ID        `json:"id"`
	Scheduled time.Time `json:"scheduled,omitzero"` // zero: a person started it
	Ended     time.Time `json:"ended"`
	Outcome   Outcome   `json:"outcome"`
	Reason    string    `json:"reason,omitempty"`
}

// withDefaults fills in what a client left open.
func (s Schedule) withDefaults() Schedule {
	if s.Zone == "" {
		s.Zone = "UTC"
	}
	if s.Missed == "" {
		s.Missed = MissedLast
	}
	if s.Overlap == "" {
		s.Overlap = OverlapQueue
	}
	if s.PauseAfter == 0 {
		s.PauseAfter = defaultFailures
	}
	return s
}

// Bounds of a schedule.
const (
	maxJitter   Seconds = 24 * 3600
	maxDeadline Seconds = 366 * 24 * 3600
)

var scheduleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Validate reports the first field that is out of range. It does not look at the spec,
// which a Calendar parses.
func (s Schedule) Validate() error {
	switch {
	case !scheduleName.MatchString(s.Name):
		return fmt.Errorf("the name %.80q of a schedule: want 1 to 64 letters, digits, dots, dashes and underscores, the first a letter or a digit", s.Name)
	case len(s.Spec) > maxName || len(s.Zone) > maxName:
		return fmt.Errorf("a spec of %d and a zone of %d bytes, more than %d", len(s.Spec), len(s.Zone), maxName)
	case !filepath.IsAbs(s.Config) || len(s.Config) > maxPath:
		return fmt.Errorf("the configuration file %.80q is no absolute path", s.Config)
	case s.Jitter < 0 || s.Jitter > maxJitter:
		return fmt.Errorf("a jitter of %v, not 0 to %v", s.Jitter.duration(), maxJitter.duration())
	case s.Deadline < 0 || s.Deadline > maxDeadline:
		return fmt.Errorf("a start deadline of %v, not 0 (none) to %v", s.Deadline.duration(), maxDeadline.duration())
	case s.Missed != MissedLast && s.Missed != MissedSkip && s.Missed != MissedAll:
		return fmt.Errorf("the policy %.40q for missed times, not last, skip or all", s.Missed)
	case s.Overlap != OverlapQueue && s.Overlap != OverlapSkip && s.Overlap != OverlapReplace:
		return fmt.Errorf("the policy %.40q for overlap, not queue, skip or replace", s.Overlap)
	case s.Priority < -MaxPriority || s.Priority > MaxPriority:
		return fmt.Errorf("the priority %d, not %d to %d", s.Priority, -MaxPriority, MaxPriority)
	case s.PauseAfter < 1:
		return errors.New("a schedule pauses after 1 failure in a row, or more")
	}
	return nil
}

// offset is the schedule's part of its jitter: a hash of its name, so that schedules of one
// time are spread.
func (s Schedule) offset() time.Duration {
	if s.Jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(s.Name))
	return Seconds(h.Sum64() % uint64(s.Jitter)).duration()
}

// equalSettings reports whether two schedules agree in what a client gives.
func equalSettings(a, b Schedule) bool {
	return a.Name == b.Name && a.Spec == b.Spec && a.Zone == b.Zone && a.Config == b.Config &&
		a.Jitter == b.Jitter && a.Deadline == b.Deadline && a.Missed == b.Missed && a.Overlap == b.Overlap &&
		a.Priority == b.Priority && a.PauseAfter == b.PauseAfter
}
