package machine

import (
	"fmt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// An Effect is an action that the adapter executes. Effects are executed in order.
type Effect interface {
	fmt.Stringer
	effect()
}

type (
	// Persist makes the ledger durable, before any effect after it is executed. When it
	// fails the coordinator must end.
	Persist struct{ Ledger Ledger }
	// Send hands a message to a session, without waiting for it.
	Send struct {
		Session Session
		To      ergoflow.WorkerID
		Message message.FromCoordinator
	}
	// Close ends a session, after the messages that were sent to it.
	Close struct {
		Session Session
		To      ergoflow.WorkerID
		Reason  string
	}
	// Lost: a worker is gone that did not leave in order. If its session is still open, Close
	// follows.
	Lost struct {
		Session Session
		Worker  ergoflow.WorkerID
		Reason  string
	}
	// Scan asks for Scanned.
	Scan struct{ Plan ergoflow.Plan }
	// Publish puts one job per shard into the queue.
	Publish struct {
		Plan   ergoflow.Plan
		Shards []int
	}
	// Answer is the answer to the Submit or Drain that had this effect; empty: accepted.
	Answer struct{ Refusal string }
	// Refused: the machine refused a request or a message. It is for log and status.
	Refused struct {
		From   string // a worker's id as it gave it
		Reason string
	}
	// Warn is a warning for the log.
	Warn struct {
		Text  string
		Stall bool // the generation makes no step
	}
	// AwaitRoom asks for Room when the disk may have room.
	AwaitRoom struct{ Short Shortage }
	// Stopped answers Stop: all workers have left.
	Stopped struct{}
)

// Ledger is what the machine must find again after a restart.
type Ledger struct {
	Generation ergoflow.Generation `json:"generation"` // the last one begun
	Plan       *ergoflow.Plan      `json:"plan,omitempty"`
	Until      Stage               `json:"until,omitempty"`
	Finished   bool                `json:"finished,omitempty"`
	Failure    string              `json:"failure,omitempty"`
	Entry      uint64              `json:"entry,omitempty"`    // of the queue; 0: none
	Numerics   uint32              `json:"numerics,omitempty"` // of the workers of the last generation; 0: unknown
	Holders    *Holders            `json:"holders,omitempty"`  // nil: the newest checkpoint has the state
}

// Holders are the members of the last generation that was started. They have the run's
// state: as long as one of them may come back with it, no generation without a holder
// continues from an older state.
type Holders struct {
	Generation ergoflow.Generation `json:"generation"`
	Members    []ergoflow.WorkerID `json:"members"`
	Base       ergoflow.Mark       `json:"base"` // the state that the generation began with
}

// Validate reports values that no machine persists.
func (l Ledger) Validate() error {
	if l.Plan != nil {
		if err := l.Plan.Validate(); err != nil {
			return err
		}
	}
	switch h := l.Holders; {
	case l.Until < 0 || l.Until > StageTrain || l.Plan == nil && (l.Until != 0 || l.Finished || l.Failure != "" || l.Holders != nil):
		return fmt.Errorf("until %d, finished %t, failure %.80q of the run", l.Until, l.Finished, l.Failure)
	case h != nil && (h.Generation > l.Generation || h.Base.Generation > h.Generation || h.Base.Step < 0 || len(h.Members) == 0 || len(h.Members) > l.Plan.Units()):
		return fmt.Errorf("%d members of generation %d from generation %d and step %d, after generation %d", len(h.Members), h.Generation, h.Base.Generation, h.Base.Step, l.Generation)
	}
	return nil
}

func (Persist) effect()   {}
func (Lost) effect()      {}
func (Send) effect()      {}
func (Close) effect()     {}
func (Scan) effect()      {}
func (Publish) effect()   {}
func (Answer) effect()    {}
func (Refused) effect()   {}
func (Warn) effect()      {}
func (AwaitRoom) effect() {}
func (Stopped) effect()   {}

func (e Persist) String() string {
	s := fmt.Sprintf("persist generation %d", e.Ledger.Generation)
	if p := e.Ledger.Plan; p != nil {
		s += fmt.Sprintf(", run %s until %s", p.Run, e.Ledger.Until)
	}
	if h := e.Ledger.Holders; h != nil {
		s += fmt.Sprintf(", held by generation %d", h.Generation)
	}
	if e.Ledger.Finished {
		s += ", finished"
	}
	if e.Ledger.Failure != "" {
		s += ", failed: " + e.Ledger.Failure
	}
	return s
}

func (e Send) String() string    { return fmt.Sprintf("%s < %s", e.To, e.Message) }
func (e Lost) String() string    { return fmt.Sprintf("lost %s: %s", e.Worker, e.Reason) }
func (e Close) String() string   { return fmt.Sprintf("close %s: %s", e.To, e.Reason) }
func (e Scan) String() string    { return "scan " + e.Plan.Run }
func (e Publish) String() string { return fmt.Sprintf("publish %s shards %v", e.Plan.Run, e.Shards) }
func (Stopped) String() string   { return "stopped" }
func (e Refused) String() string { return fmt.Sprintf("refused %.128q: %s", e.From, e.Reason) }
func (e AwaitRoom) String() string {
	return fmt.Sprintf("await %d bytes in %s", e.Short.Bytes, e.Short.Path)
}
func (e Warn) String() string { return "warn: " + e.Text }

func (e Answer) String() string {
	if e.Refusal != "" {
		return "refused: " + e.Refusal
	}
	return "accepted"
}

func (s Stage) String() string {
	switch s {
	case StageGenerate:
		return "generate"
	case StageTrain:
		return "train"
	}
	return fmt.Sprintf("stage %d", int(s))
}
