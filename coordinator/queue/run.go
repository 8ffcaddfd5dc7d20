package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
)

// ID numbers the runs of a coordinator from 1. A number is never used again.
type ID uint64

// Kind is what a run does.
type Kind string

const (
	Generate Kind = "generate" // the data of an experiment
	Train    Kind = "train"    // data where they are missing, then training
	Retrain  Kind = "retrain"  // a process of `ergoflow retrain`
)

// State of a run.
type State string

const (
	Waiting  State = "waiting"
	Running  State = "running"
	Stopping State = "stopping" // a retraining's process was told to end
	Ended    State = "ended"
)

// Outcome of a run that has ended.
type Outcome string

const (
	Done      Outcome = "done"
	Failed    Outcome = "failed"
	Cancelled Outcome = "cancelled" // by a person
	Replaced  Outcome = "replaced"  // by another run
	Skipped   Outcome = "skipped"   // it was never started
)

// Run is an entry of the queue.
type Run struct {
	ID        ID                    `json:"id"`
	Kind      Kind                  `json:"kind"`
	State     State                 `json:"state"`
	Name      string                `json:"name"`               // the experiment, or the configuration file
	Run       string                `json:"run,omitempty"`      // hash of the configuration; empty for a retraining
	Plan      *ergoflow.Plan        `json:"plan,omitempty"`     // until it has ended
	Config    string                `json:"config,omitempty"`   // file of a retraining
	Parent    ID                    `json:"parent,omitempty"`   // the retraining that submitted it
	Priority  int                   `json:"priority,omitempty"` // larger is earlier
	Place     int64                 `json:"place"`              // in the queue
	Workers   ergoflow.WorkerBounds `json:"workers,omitzero"`   // that it uses; absent: all
	Schedule  string                `json:"schedule,omitempty"` // that it belongs to
	Scheduled time.Time             `json:"scheduled,omitzero"` // nominal time
	// Through and Times belong to skipped times of a schedule: how many there are from
	// Scheduled to Through. Uncounted means that there are more.
	Through   time.Time `json:"through,omitzero"`
	Times     int       `json:"times,omitempty"`
	Uncounted bool      `json:"uncounted,omitempty"`
	Deadline  time.Time `json:"deadline,omitzero"` // it is skipped if it has not begun by then
	Submitted time.Time `json:"submitted"`
	Requests  []string  `json:"requests,omitempty"`  // names of those that submitted it, the last maxRequests
	Started   time.Time `json:"started,omitzero"`    // the first time
	Ended     time.Time `json:"ended,omitzero"`      // or skipped
	Attempt   int       `json:"attempt,omitempty"`   // how often it began; more than once after restarts
	Crashes   int       `json:"crashes,omitempty"`   // how often its process was killed
	NotBefore time.Time `json:"not_before,omitzero"` // it begins again, after that
	Outcome   Outcome   `json:"outcome,omitempty"`   // where stopping: what it will be
	Reason    string    `json:"reason,omitempty"`    // of the outcome
}

// usesWorkers reports whether a run of the kind needs workers of its own.
func (k Kind) usesWorkers() bool { return k != Retrain }

func (r *Run) isLive() bool { return r.State != Ended }

// isUnderWay reports whether the run has begun and not ended.
func (r *Run) isUnderWay() bool { return r.State == Running || r.State == Stopping }

func (r *Run) String() string {
	if r.Schedule != "" {
		return fmt.Sprintf("run %d (%s of schedule %s)", r.ID, r.Kind, r.Schedule)
	}
	return fmt.Sprintf("run %d (%s %s)", r.ID, r.Kind, r.Name)
}

// Bounds of what a client may submit, in bytes.
const (
	maxName   = 256
	maxPath   = 4096
	maxReason = 1024
	// maxRequest bounds the name of a request, and maxRequests those that a run has.
	maxRequest  = 128
	maxRequests = 16
)

// MaxPriority bounds priorities on both sides of 0.
const MaxPriority = 1000

func checkPriority(p int) error {
	if p < -MaxPriority || p > MaxPriority {
		return fmt.Errorf("the priority is %d, not in %d…%d", p, -MaxPriority, MaxPriority)
	}
	return nil
}

// places is how many earlier runs one level of priority passes.
const places = 100

func placeOf(id ID, priority int) int64 { return int64(id) - places*int64(priority) }

// Validate reports values that no machine persists.
func (r *Run) Validate() error {
	switch {
	case r.ID == 0:
		return errors.New("a run has the number 0")
	case r.Kind != Generate && r.Kind != Train && r.Kind != Retrain:
		return fmt.Errorf("run %d has the kind %.40q", r.ID, r.Kind)
	case r.State != Waiting && r.State != Running && r.State != Stopping && r.State != Ended:
		return fmt.Errorf("run %d has the state %.40q", r.ID, r.State)
	case r.isLive() && r.Kind.usesWorkers() && r.Plan == nil:
		return fmt.Errorf("run %d has no plan", r.ID)
	case r.State == Ended && r.Outcome == "":
		return fmt.Errorf("run %d has ended without an outcome", r.ID)
	case len(r.Name) > maxPath || len(r.Config) > maxPath || len(r.Schedule) > maxName || len(r.Reason) > maxReason:
		return fmt.Errorf("run %d has a text that is too long", r.ID)
	}
	if len(r.Requests) > maxRequests || slices.ContainsFunc(r.Requests, func(name string) bool { return name == "" || len(name) > maxRequest }) {
		return fmt.Errorf("run %d has %d requests, or one without a name of 1 to 128 bytes", r.ID, len(r.Requests))
	}
	if r.Plan != nil {
		if err := r.Plan.Validate(); err != nil {
			return fmt.Errorf("run %d: %w", r.ID, err)
		}
	}
	if err := r.Workers.Validate(); err != nil {
		return fmt.Errorf("run %d: %w", r.ID, err)
	}
	return nil
}

func checkRequest(name string) error {
	if len(name) > maxRequest {
		return fmt.Errorf("the name of the request has %d bytes, more than %d", len(name), maxRequest)
	}
	return nil
}

// clip bounds a reason, which may come from a worker or a process.
func clip(s string) string {
	if len(s) <= maxReason {
		return s
	}
	return s[:maxReason-3] + "..."
}
