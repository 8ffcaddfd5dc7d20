package queue

import "github.com/ergoflow/ergoflow"

// An Event is something that happens to the machine.
type Event interface{ event() }

type (
	// Start is the first event, and occurs once.
	Start struct {
		// Conducting are the runs that the fleet has in its ledgers as not finished.
		Conducting []Conducted
		// Finished are those that it has as ended.
		Finished []Finished
	}
	// Tick tells the time.
	Tick struct{}
	// Workers tells how many workers there are, when that has changed. At the start there are
	// none.
	Workers struct{ Count int }
	// Submit adds a run. It is answered.
	Submit struct {
		Kind     Kind
		Plan     *ergoflow.Plan // of a training or generation
		Config   string         // of a retraining
		Priority int
		Parent   ID                     // the retraining that submits it; 0: none
		Queue    bool                   // wait for runs that were submitted before; otherwise these are a reason to refuse it
		Replace  bool                   // end the runs that use workers, and begin at once
		Workers  *ergoflow.WorkerBounds // of a training or generation; nil: as it has, or else Config.Workers
		Request  string                 // as in RunSchedule
	}
	// Finished: a run that began has ended. An earlier attempt's end is ignored.
	Finished struct {
		ID      ID
		Attempt int
		Outcome Outcome
		Reason  string
		Killed  bool // its process was told to end, or a signal ended it
	}
	// Cancel ends a run. It is answered.
	Cancel struct{ ID ID }
	// Move changes the place of a waiting run. It is answered.
	Move struct {
		ID       ID
		First    bool
		Last     bool
		Priority int // where neither First nor Last
	}
	// AddSchedule adds a schedule. It is answered. The same schedule may be added again,
	// which changes nothing.
	AddSchedule struct{ Schedule Schedule }
	// RemoveSchedule removes one, and its runs that wait. It is answered.
	RemoveSchedule struct{ Name string }
	// PauseSchedule has times pass without runs. It is answered.
	PauseSchedule struct{ Name string }
	// ResumeSchedule ends a pause. Times that passed meanwhile are skipped. It is answered.
	ResumeSchedule struct{ Name string }
	// RunSchedule adds a run now, outside the calendar. It is answered. A client that gets no
	// answer sends it again with the same Request, a name that no other request has: the run
	// is added once. Empty: it has no name, and is another request each time.
	RunSchedule struct{ Name, Request string }
	// Stop: the coordinator ends. Processes are told to end; their runs continue when it
	// starts again.
	Stop struct{}
)

// Conducted is a run that the fleet has in a ledger.
type Conducted struct {
	ID   ID // 0: it was submitted to a coordinator that had no queue
	Kind Kind
	Plan ergoflow.Plan
}

func (Start) event()          {}
func (Tick) event()           {}
func (Workers) event()        {}
func (Submit) event()         {}
func (Finished) event()       {}
func (Cancel) event()         {}
func (Move) event()           {}
func (AddSchedule) event()    {}
func (RemoveSchedule) event() {}
func (PauseSchedule) event()  {}
func (ResumeSchedule) event() {}
func (RunSchedule) event()    {}
func (Stop) event()           {}
