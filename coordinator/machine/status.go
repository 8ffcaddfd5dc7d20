package machine

import (
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/ergoflow/ergoflow"
)

// Status is the document of `ergoflow status --json`.
type Status struct {
	State      string              `json:"state"` // one of the State constants
	Run        string              `json:"run"`
	Experiment string              `json:"experiment"`
	Generation ergoflow.Generation `json:"generation"` // the last one begun
	WorldSize  int                 `json:"world_size"`
	// Endings counts the generations that have ended since the coordinator conducts the run, by
	// the kind of reason; kinds that have not come are absent.
	Endings          map[Ending]int `json:"generations_ended"`
	Step             ergoflow.Step  `json:"step"` // the most advanced known
	Steps            ergoflow.Step  `json:"steps"`
	Loss             *float64       `json:"loss"`       // null before the first step, or not finite
	Committed        *ergoflow.Mark `json:"committed"`  // the last step known to be applied by all; null: none since the start
	Checkpoint       *ergoflow.Step `json:"checkpoint"` // the newest; null: none
	Shards           ShardStatus    `json:"shards"`
	SamplesPerSecond float64        `json:"samples_per_second"`
	Timing           Timing         `json:"timing"`    // rank 0's
	WaitsFor         *WaitsFor      `json:"waits_for"` // null: no step yet, or no member has waited
	Goodput          *Goodput       `json:"goodput"`   // null: no run yet
	Failure          string         `json:"failure,omitempty"`
	Short            *Shortage      `json:"short,omitempty"` // of room on the disk; absent: a checkpoint was stored, or none was due
	CutLinks         []CutLink      `json:"cut_links"`       // between workers; they are in no generation together
	Workers          []WorkerStatus `json:"workers"`
}

// CutLink is a link that carries nothing while both workers reach the coordinator.
type CutLink struct {
	Workers [2]ergoflow.WorkerID `json:"workers"`
	Since   time.Time            `json:"since"`
}

// ShardStatus counts shards, the held-out one included.
type ShardStatus struct {
	Done  int `json:"done"`
	Total int `json:"total"`
}

// WorkerStatus is one session.
type WorkerStatus struct {
	ID       ergoflow.WorkerID `json:"id"`
	Run      string            `json:"run,omitempty"` // that it works for; absent: none
	Rank     int               `json:"rank"`          // −1: not in the generation
	PID      int               `json:"pid"`
	Addr     string            `json:"addr"` // where it serves data
	Device   string            `json:"device"`
	Shards   []int             `json:"shards"`
	Step     ergoflow.Step     `json:"step"`
	Version  string            `json:"version"`  // of its program
	Protocol uint32            `json:"protocol"` // the newest that it speaks
	Numerics uint32            `json:"numerics"` // by which it computes
	// State is one of connected (without work), generating, preparing, prepared (waits for the
	// next generation), aside (left out of it for a while), reporting, loading, ready,
	// training, draining, failed.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"` // why failed or aside
	Doing  string `json:"doing,omitempty"`  // as the worker describes it
	Timing Timing `json:"timing"`           // of its last 15 steps, the median of each part
	// Pace is the time of its own part of a step (data, gradient, copy) in seconds per
	// shard: the median of its means over the last ten windows of a second. Zero: not
	// known yet.
	Pace float64 `json:"pace"`
	Slow bool    `json:"slow"` // a straggler: at 1.5 times the typical pace in 7 of the last 10 windows
}

// Summary is the Status without the workers and their links.
func (m *Machine) Summary() Status {
	s := Status{State: m.state(), Generation: m.ledger.Generation, Failure: m.ledger.Failure, CutLinks: []CutLink{}, Workers: []WorkerStatus{}}
	if p := m.ledger.Plan; p != nil {
		s.Run, s.Experiment, s.Steps, s.Step = p.Run, p.Experiment, p.Steps, m.run.step
		s.Shards = ShardStatus{len(m.run.present), p.Shards + 1}
	}
	if s.Endings = maps.Clone(m.run.endings); s.Endings == nil {
		s.Endings = map[Ending]int{} // never null in JSON
	}
	if loss := m.run.loss; m.run.hasLoss && !math.IsNaN(loss) && !math.IsInf(loss, 0) {
		s.Loss = &loss
	}
	if committed := m.run.committed; committed != (ergoflow.Mark{}) {
		s.Committed = &committed
	}
	if checkpoint := m.run.checkpoint.Step; m.run.hasCheckpoint {
		s.Checkpoint = &checkpoint
	}
	s.Short, s.Goodput = m.run.short, m.Goodput()
	s.WaitsFor = m.run.windows.waitsFor()
	if g := m.current; g != nil {
		s.WorldSize = len(g.members)
		if g.phase == running {
			s.SamplesPerSecond = m.run.speed.rate
			s.Timing = medians(m.byID(g.members[0]).steps.values)
		}
	}
	return s
}

// Status describes the machine.
func (m *Machine) Status() Status {
	s := m.Summary()
	for _, l := range m.links {
		if l.isCut() {
			s.CutLinks = append(s.CutLinks, CutLink{l.ends, l.noticed.UTC()})
		}
	}
	run := ""
	if !m.finished() {
		run = s.Run
	}
	for _, w := range m.workers {
		s.Workers = append(s.Workers, WorkerStatus{
			ID: w.ID, Run: run, Rank: -1, PID: w.PID, Addr: w.DataAddress, Device: w.Device,
			Version: w.Release.Version, Protocol: w.Release.Protocol, Numerics: w.Release.Numerics,
			Shards: []int{}, Step: w.state.Step, State: m.workerState(w), Reason: m.idleReason(w), Doing: w.doing,
			Timing: medians(w.steps.values), Slow: w.slowness.slow,
		})
	}
	if g := m.current; g != nil {
		all := newPaces(g, m.run.windows.median)
		for i := range s.Workers {
			w := &s.Workers[i]
			if rank, ok := g.ranks[w.ID]; ok {
				w.Rank = rank
				if g.shards != nil {
					w.Shards = g.shards[rank]
					w.Pace = all.each[rank]
				}
			}
		}
	}
	return s
}

// Conducting returns the machine's run, and its entry in the queue. Plan is nil where it
// has none.
func (m *Machine) Conducting() (entry uint64, plan *ergoflow.Plan, until Stage) {
	return m.ledger.Entry, m.ledger.Plan, m.ledger.Until
}

// Outcome reports whether the machine's run has ended, and why it failed; empty: it did not.
func (m *Machine) Outcome() (ended bool, failure string) {
	return m.finished(), m.ledger.Failure
}

func (m *Machine) state() string {
	switch {
	case m.stopping:
		return StateStopping
	case m.ledger.Plan == nil:
		return StateIdle
	case m.ledger.Failure != "":
		return StateFailed
	case m.ledger.Finished && m.ledger.Until == StageGenerate:
		return StateGenerated
	case m.ledger.Finished:
		return StateDone
	case m.run.activity == activityScanning:
		return StateScanning
	case m.run.activity == activityGenerating:
		return StateGenerating
	case m.current == nil:
		return StateWaiting
	case m.current.phase != running:
		return StateForming
	}
	return StateTraining
}

func (m *Machine) workerState(w *worker) string {
	if w.draining {
		return "draining"
	}
	if g := m.current; g != nil && g.has(w.ID) {
		switch {
		case g.phase == running:
			return "training"
		case g.isReady[w.ID]:
			return "ready"
		case g.phase == assigned:
			return "loading"
		}
		return "reporting"
	}
	if m.waits(w) || w.phase == prepared && (m.isExcluded(w) || m.cutOff(w) != nil) {
		return "aside"
	}
	return [...]string{"connected", "generating", "preparing", "prepared", "failed"}[w.phase]
}

// idleReason is why a worker that has failed, or is excluded, does not train.
func (m *Machine) idleReason(w *worker) string {
	switch m.workerState(w) {
	case "failed":
		return w.reason
	case "aside":
		if m.waits(w) {
			return m.whyWaits(w)
		}
		if l := m.cutOff(w); l != nil && !m.isExcluded(w) {
			return fmt.Sprintf("left out until %s is mended", l)
		}
		return m.run.exclusions[w.ID].reason
	}
	return ""
}

// speed measures samples per second over windows of at least a second: progress
// arrives in bursts.
type speed struct {
	since   time.Time
	samples int64
	rate    float64
}

func (s *speed) begin(now time.Time) { s.since, s.samples = now, 0 }

func (s *speed) add(now time.Time, samples int64) {
	s.samples += samples
	if d := now.Sub(s.since); d >= time.Second {
		s.rate = float64(s.samples) / d.Seconds()
		s.begin(now)
	}
}
