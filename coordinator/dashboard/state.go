package dashboard

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
)

// Source is what the page shows, and what its buttons do. The functions are for any goroutine.
type Source struct {
	// State takes a snapshot; with false of the runs alone. It returns false when the
	// coordinator ends.
	State  func(whole bool) (State, bool)
	Events *journal.Journal
	// Drain has a worker leave in order.
	Drain func(worker ergoflow.WorkerID, by string) error
	// Change hands a request to the queue: Cancel, RunSchedule, PauseSchedule, ResumeSchedule.
	Change func(queue.Event) (queue.ID, error)
	Models *Models // nil: the coordinator knows no registry
	Access Access
	Log    *slog.Logger
}

// State is the document of GET /api/state.
type State struct {
	Version    string `json:"version"`
	PID        int    `json:"pid"`
	Runs       []Run  `json:"runs"`        // that a machine has: those under way, and the last that ended
	GossipAddr string `json:"gossip_addr"` // where workers join in plain text

	Workers   []Worker               `json:"workers"`
	Queue     []queue.Run            `json:"queue"` // under way, the next that wait, the last that ended
	Waiting   int                    `json:"waiting"`
	Schedules []queue.ScheduleStatus `json:"schedules"` // the first of them by name
	Scheduled int                    `json:"scheduled"` // all schedules

	Checkpoints       []checkpoint.Info `json:"checkpoints"`                  // the newest first
	CheckpointProblem string            `json:"checkpoint_problem,omitempty"` // why they cannot be read
	Registry          Registry          `json:"registry"`
	Security          Security          `json:"security"`
}

// Run is a run that a machine has. It has the fields of `ergoflow status --json`.
type Run struct {
	Entry uint64 `json:"id"` // in the queue; 0: none
	machine.Status
	Workers int `json:"workers"` // their number, in place of their list
}

// Worker is a session, with what the page shows of it.
type Worker struct {
	ID     ergoflow.WorkerID `json:"id"`
	Run    string            `json:"run,omitempty"` // hash; absent: none
	Rank   int               `json:"rank"`          // −1: not in the generation
	PID    int               `json:"pid"`
	Addr   string            `json:"addr"`
	Device string            `json:"device"`
	Shards int               `json:"shards"`
	Step   ergoflow.Step     `json:"step"`
	State  string            `json:"state"`
	Reason string            `json:"reason,omitempty"`
	Doing  string            `json:"doing,omitempty"`
	Pace   float64           `json:"pace"`
	Slow   bool              `json:"slow,omitempty"`
	// Phases are the seconds of the parts of its step: data, gradient, copy, ring, wait, update,
	// other. Absent: it has made none.
	Phases []float64 `json:"phases,omitempty"`
}

// WorkerOf is what the page shows of a worker.
func WorkerOf(w machine.WorkerStatus) Worker {
	out := Worker{ID: w.ID, Run: w.Run, Rank: w.Rank, PID: w.PID, Addr: w.Addr, Device: w.Device, Shards: len(w.Shards), Step: w.Step,
		State: w.State, Reason: w.Reason, Doing: w.Doing, Pace: short(w.Pace), Slow: w.Slow}
	if t := w.Timing; t.Step > 0 {
		out.Phases = []float64{short(t.Data), short(t.Gradient), short(t.Copy), short(t.Ring), short(t.Wait), short(t.Update), short(t.Other)}
	}
	return out
}

// short rounds to three digits that count: nobody sees more on a page.
func short(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	scale := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// Security is what protects the cluster.
type Security struct {
	Secured   bool      `json:"secured"`
	Authority string    `json:"authority,omitempty"` // "here" or "elsewhere"
	Expires   time.Time `json:"expires,omitzero"`    // of the coordinator's certificate
	Plaintext []string  `json:"plaintext"`           // workers without a certificate
	Accepts   bool      `json:"accepts_plaintext"`
	Refusals  int       `json:"refusals"` // all since the start
	Refused   []Refusal `json:"refused"`  // the last ones, the newest last
}

// Refusal is what the coordinator has refused.
type Refusal struct {
	Time   time.Time `json:"time"`
	From   string    `json:"from"`
	Reason string    `json:"reason"`
	Count  int       `json:"count"`
}

// Registry is what a registry of models has.
type Registry struct {
	Known   bool    `json:"known"` // the coordinator was told of one
	Models  []Model `json:"models"`
	Problem string  `json:"problem,omitempty"` // why it cannot be read
}

// Model is a model of the registry.
type Model struct {
	Name     string    `json:"name"`
	Champion int       `json:"champion"`       // 0: none
	Versions []Version `json:"versions"`       // the newest first
	More     int       `json:"more,omitempty"` // versions that are not in the list
}

// Version is one of a model.
type Version struct {
	Number   int       `json:"number"`
	Created  time.Time `json:"created"`
	Step     int64     `json:"step"`
	Aliases  []string  `json:"aliases"`
	Decision string    `json:"decision,omitempty"` // of the gate
	Metrics  string    `json:"metrics,omitempty"`  // in a line
}

// Models is a registry of models.
type Models struct {
	List     func(context.Context) ([]Model, error)
	Promote  func(ctx context.Context, model string, version int, by, reason string) error
	Rollback func(ctx context.Context, model, by string) (version int, err error)
}
