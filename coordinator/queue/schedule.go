package queue

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/schedule"
)

// defaultFailures in a row pause a schedule.
const defaultFailures = 5

// Schedule starts retrainings at times of a calendar.
type Schedule struct {
	Name   string `json:"name"`
	Spec   string `json:"spec"`   // as in a crontab
	Zone   string `json:"zone"`   // of the tz database
	Config string `json:"config"` // absolute path of the retraining's configuration
	schedule.Policy
	Priority int `json:"priority,omitempty"`
	// PauseAfter is the number of failures in a row after which the schedule pauses.
	PauseAfter int `json:"pause_after"`

	Added time.Time `json:"added"`
	schedule.State
	Forgotten time.Time `json:"forgotten,omitzero"` // the latest time whose run was pruned
	Why       string    `json:"why,omitempty"`      // it is paused

	Failures    int       `json:"failures,omitempty"` // in a row
	LastStarted time.Time `json:"last_started,omitzero"`
	LastDone    time.Time `json:"last_done,omitzero"`
	Last        *Result   `json:"last,omitempty"`    // the last run that ended after it began
	Skipped     *Result   `json:"skipped,omitempty"` // the last that did not begin
}

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
	if s.PauseAfter == 0 {
		s.PauseAfter = defaultFailures
	}
	return s
}

var scheduleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Validate reports the first field that is out of range. It does not parse the spec.
func (s Schedule) Validate() error {
	switch {
	case !scheduleName.MatchString(s.Name):
		return fmt.Errorf("the name %.80q of a schedule: want 1 to 64 letters, digits, dots, dashes and underscores, the first a letter or a digit", s.Name)
	case s.PauseAfter < 1:
		return errors.New("a schedule pauses after 1 failure in a row, or more")
	}
	if err := checkConfig(s.Config); err != nil {
		return err
	}
	if err := checkPriority(s.Priority); err != nil {
		return err
	}
	return s.Policy.Validate()
}

// checkConfig checks the name of a retraining's configuration: the coordinator reads it in
// another directory than the client.
func checkConfig(path string) error {
	if !filepath.IsAbs(path) || len(path) > maxPath {
		return fmt.Errorf("the configuration file %.80q is not an absolute path of at most %d bytes", path, maxPath)
	}
	return nil
}

// equalSettings reports whether two schedules agree in what a client gives.
func equalSettings(a, b Schedule) bool {
	return a.Name == b.Name && a.Spec == b.Spec && a.Zone == b.Zone && a.Config == b.Config &&
		a.Policy == b.Policy && a.Priority == b.Priority && a.PauseAfter == b.PauseAfter
}
