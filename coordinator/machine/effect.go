package machine

import (
	"fmt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// An Effect is what the adapter shall do. Effects are executed in order.
type Effect interface {
	fmt.Stringer
	effect()
}

type (
	// Persist makes the ledger durable. Effects after it must not be executed
	// before it is; when it fails the coordinator must end.
	Persist struct{ Ledger Ledger }
	// Send hands a message to a session, without waiting for it.
	Send struct {
		Session Session
		To      ergoflow.WorkerID
		Message message.FromCoordinator
	}
	// Close ends a session, after what was sent to it.
	Close struct {
		Session Session
		To      ergoflow.WorkerID
		Reason  string
	}
	// Scan asks for Scanned.
	Scan struct{ Plan ergoflow.Plan }
	// Publish puts one job per shard into the queue.
	Publish struct {
		Plan   ergoflow.Plan
		Shards []int
	}
	// Answer is the answer to the Submit that had this effect; empty: accepted.
	Answer struct{ Refusal string }
	// Refused: something was asked or said that is against the protocol, and was
	// not acted on. It is for people: log and status.
	Refused struct {
		From   string // who: a worker's id as it gave it
		Reason string
	}
	// Warn is for people, loudly.
	Warn struct{ Text string }
	// Stopped answers Stop: everyone has been let go.
	Stopped struct{}
)

// Ledger is what the machine must find again after a restart.
type Ledger struct {
	Generation ergoflow.Generation `json:"generation"` // the last one begun
	Plan       *ergoflow.Plan      `json:"plan,omitempty"`
	Until      Stage               `json:"until,omitempty"`
	Finished   bool                `json:"finished,omitempty"`
	Failure    string              `json:"failure,omitempty"`
	Holders    *Holders            `json:"holders,omitempty"` // nil: a checkpoint is as good as any state
}

// Holders are the members of the last generation that went. What they hold is
// the run's state: as long as one of them may come back with it, no generation
// without any goes on from something older.
type Holders struct {
	Generation ergoflow.Generation `json:"generation"`
	Members    []ergoflow.WorkerID `json:"members"`
	Base       ergoflow.Mark       `json:"base"` // what the generation began with
}

func (Persist) effect() {}
func (Send) effect()    {}
func (Close) effect()   {}
func (Scan) effect()    {}
func (Publish) effect() {}
func (Answer) effect()  {}
func (Refused) effect() {}
func (Warn) effect()    {}
func (Stopped) effect() {}

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
func (e Close) String() string   { return fmt.Sprintf("close %s: %s", e.To, e.Reason) }
func (e Scan) String() string    { return "scan " + e.Plan.Run }
func (e Publish) String() string { return fmt.Sprintf("publish %s shards %v", e.Plan.Run, e.Shards) }
func (Stopped) String() string   { return "stopped" }
func (e Refused) String() string { return fmt.Sprintf("refused %.128q: %s", e.From, e.Reason) }
func (e Warn) String() string    { return "warn: " + e.Text }

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
