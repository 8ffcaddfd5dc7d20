package protocol

import (
	"errors"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// An Effect is an action that the adapter executes. It executes effects in order and
// without waiting: what takes time is work, and answers with events.
type Effect interface{ effect() }

// Effects that begin work. Work continues until it is done or cancelled, and its last
// event is Ended.
type (
	// Generate pulls jobs and makes shards until cancelled.
	Generate struct{ Order message.Generate }
	// Prepare maps the shards of a run and compiles its graphs.
	Prepare struct{ Order message.Prepare }
	// Describe asks for Described: a report of the state that the worker holds.
	Describe struct{ Generation ergoflow.Generation }
	// Join begins a rank: it takes the state, connects the ring, and answers Joined. Then
	// it executes Compute, Apply and Save until it is cancelled.
	Join struct{ Assign message.Assign }
	// Drop frees everything that the worker holds of the run.
	Drop struct{}
)

// Effects on the work under way.
type (
	// Cancel ends the work as soon as possible.
	Cancel struct{ Reason string }
	// Compute has the rank compute the gradient of its next step and sum it over the
	// ring; Summed follows.
	Compute struct{}
	// Apply has the rank update its state with the sum; Applied follows.
	Apply struct{}
)

// Other effects.
type (
	// Send queues a message for the coordinator.
	Send struct{ Message message.FromWorker }
	// CheckLink has the worker find out whether it and another reach each other's data
	// ports, beside any work; LinkChecked follows.
	CheckLink struct{ Peer message.Member }
	// Save takes a checkpoint of the present state, in a rank between two steps, and
	// uploads it beside later work. If an upload is under way, the adapter drops a Save
	// that is not Final. A Final one waits for that upload: no step follows, so no later
	// Save covers this state.
	Save struct{ Final bool }
	// Dump sends what the flight recorder holds to the coordinator, beside any work.
	Dump struct{ Order message.Dump }
	// End closes the session. It is the last effect.
	End struct{ Err error }
)

// Reasons of End.
var (
	// ErrLeft means that the worker was told to leave.
	ErrLeft = errors.New("left the cluster")
	// ErrTransferred means that the worker shall forget its run, and open another session.
	ErrTransferred = errors.New("transferred to another run")
	// ErrRefused means that the coordinator refused the worker, for a reason that follows.
	ErrRefused = errors.New("the coordinator refused this worker")
	// ErrSilent means that the coordinator sent nothing for longer than its patience.
	ErrSilent = errors.New("the coordinator is silent")
)

func (Generate) effect()  {}
func (Prepare) effect()   {}
func (Describe) effect()  {}
func (Join) effect()      {}
func (Cancel) effect()    {}
func (Compute) effect()   {}
func (Apply) effect()     {}
func (Send) effect()      {}
func (CheckLink) effect() {}
func (Save) effect()      {}
func (Drop) effect()      {}
func (Dump) effect()      {}
func (End) effect()       {}
