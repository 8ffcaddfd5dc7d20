package protocol

import (
	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// An Event is what may befall a session.
type Event interface{ event() }

// Events of the connection.
type (
	// Opened comes once, first: the stream to the coordinator is open.
	Opened struct{}
	// Received is a message of the coordinator; nil: one that this worker does not know.
	Received struct{ Message message.FromCoordinator }
	// Broken: the stream ended.
	Broken struct{ Err error }
	// Tick tells the time.
	Tick struct{}
	// Drain: the process is asked to leave.
	Drain struct{}
	// Refused: a stranger's stream to the data port was not taken.
	Refused struct{ From, Reason string }
)

// Events of the work under way.
type (
	// Described answers Describe.
	Described struct{ Report message.Report }
	// Joined answers Join: state in place, ring connected.
	Joined struct{ Step ergoflow.Step }
	// Summed: the ring of the step that was to be computed has ended here.
	Summed struct{}
	// Applied answers Apply. The session fills in the generation.
	Applied struct{ Progress message.Progress }
	// Followed: by following another worker this one has come to hold a state.
	Followed struct {
		Run  string
		Mark ergoflow.Mark
	}
	// NotSaved: a checkpoint that was Final did not reach the coordinator.
	NotSaved struct{ Err error }
	// Ended is the last event of any work: nothing of it uses the device any
	// more.
	Ended struct{ Err error }
)

func (Opened) event()    {}
func (Received) event()  {}
func (Broken) event()    {}
func (Tick) event()      {}
func (Drain) event()     {}
func (Refused) event()   {}
func (Described) event() {}
func (Joined) event()    {}
func (Summed) event()    {}
func (Applied) event()   {}
func (Followed) event()  {}
func (NotSaved) event()  {}
func (Ended) event()     {}
