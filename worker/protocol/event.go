package protocol

import (
	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// An Event is something that happens to a session.
type Event interface{ event() }

// Events of the connection.
type (
	// Opened is the first event, and occurs once: the stream to the coordinator is open.
	Opened struct{}
	// Received is a message of the coordinator; nil: one that this worker does not know.
	Received struct{ Message message.FromCoordinator }
	// Broken: the stream ended.
	Broken struct{ Err error }
	// Tick tells the time, and the latest term in which the gossip has a coordinator that leads.
	Tick struct{ Term uint64 }
	// Drain: the process is asked to leave.
	Drain struct{}
	// Refused: the worker refused a stream to its data port.
	Refused struct{ From, Reason string }
	// LinkChecked answers CheckLink; nil: the link works both ways.
	LinkChecked struct {
		Peer ergoflow.WorkerID
		Err  error
	}
)

// Events of the work under way.
type (
	// Described answers Describe.
	Described struct{ Report message.Report }
	// Joined answers Join: the state is in place and the ring is connected.
	Joined struct{ Step ergoflow.Step }
	// Summed answers Compute: the ring has ended in this rank.
	Summed struct{}
	// Applied answers Apply. The session fills in the generation.
	Applied struct{ Progress message.Progress }
	// Followed: the worker holds a new state, because it follows a member.
	Followed struct {
		Run  string
		Mark ergoflow.Mark
	}
	// Waits: the work cannot go on before something happens; empty: it goes on.
	Waits struct{ What string }
	// NotSaved: a Final checkpoint did not reach the coordinator.
	NotSaved struct{ Err error }
	// Ended is the last event of any work, which no longer uses the device.
	Ended struct{ Err error }
)

func (Opened) event()      {}
func (Received) event()    {}
func (Broken) event()      {}
func (Tick) event()        {}
func (Drain) event()       {}
func (Refused) event()     {}
func (LinkChecked) event() {}
func (Described) event()   {}
func (Joined) event()      {}
func (Summed) event()      {}
func (Applied) event()     {}
func (Followed) event()    {}
func (Waits) event()       {}
func (NotSaved) event()    {}
func (Ended) event()       {}
