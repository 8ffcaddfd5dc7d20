package queue

import "fmt"

// An Effect is an action that the adapter executes. Effects are executed in order, all of
// them before the next event.
type Effect interface {
	fmt.Stringer
	effect()
}

type (
	// Persist makes changes of the ledger durable, in one transaction, before any effect
	// after it is executed. When it fails the coordinator must end.
	Persist struct {
		Next             ID // number of the next run
		Runs             []Run
		RemovedRuns      []ID
		Schedules        []Schedule
		RemovedSchedules []string
	}
	// Begin hands a training or a generation of data to the fleet. That may have it already:
	// then its settings are new, or the coordinator starts.
	Begin struct{ Run Run }
	// Withdraw takes a run from the fleet, which may not have it.
	Withdraw struct {
		ID     ID
		Reason string
	}
	// Launch starts the process of a retraining, unless that attempt was launched.
	Launch struct{ Run Run }
	// Terminate tells the process of a retraining to end; Finished follows. Where there is
	// no process, Finished follows at once.
	Terminate struct {
		ID      ID
		Attempt int
		Reason  string
	}
	// Answer answers a request. Refusal says why it has no effect; empty: it has.
	Answer struct {
		ID      ID // the run that it concerns
		Refusal string
		Busy    bool // it was refused because the run ID is under way
		Unknown bool // it was refused because there is no such run or schedule
	}
	// Warn is a warning for the log: something needs a person.
	Warn struct{ Text string }
)

func (Persist) effect()   {}
func (Begin) effect()     {}
func (Withdraw) effect()  {}
func (Launch) effect()    {}
func (Terminate) effect() {}
func (Answer) effect()    {}
func (Warn) effect()      {}

func (e Persist) String() string {
	return fmt.Sprintf("persist %d runs, %d schedules, without %d runs, %d schedules", len(e.Runs), len(e.Schedules), len(e.RemovedRuns), len(e.RemovedSchedules))
}
func (e Begin) String() string    { return fmt.Sprintf("begin run %d", e.Run.ID) }
func (e Withdraw) String() string { return fmt.Sprintf("withdraw run %d: %s", e.ID, e.Reason) }
func (e Launch) String() string {
	return fmt.Sprintf("launch run %d, attempt %d", e.Run.ID, e.Run.Attempt)
}
func (e Terminate) String() string { return fmt.Sprintf("terminate run %d: %s", e.ID, e.Reason) }
func (e Warn) String() string      { return "warn: " + e.Text }
func (e Answer) String() string {
	if e.Refusal != "" {
		return "refused: " + e.Refusal
	}
	return fmt.Sprintf("accepted run %d", e.ID)
}
