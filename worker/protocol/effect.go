package protocol

import (
	"errors"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// An Effect is what the adapter shall do. Effects are executed in order and
// without waiting: what takes time is work, and answers with events.
type Effect interface{ effect() }

// Effects that begin work. It goes on until it has done what it is for or is
// cancelled, and its last event is Ended.
type (
	// Generate pulls jobs and makes shards until cancelled.
	Generate struct{ Order message.Generate }
	// Prepare maps the shards of a run and compiles its graphs.
	Prepare struct{ Order message.Prepare }
	// Describe asks for Described, of the state that is held.
	Describe struct{ Generation ergoflow.Generation }
	// Join begins a rank: state, ring, then Joined; after that it does what it is
	// told until cancelled.
	Join struct{ Assign message.Assign }
	// Drop frees what is held of the run.
	Drop struct{}
)

// Effects on the work under way.
type (
	// Cancel ends it as soon as possible.
	Cancel struct{ Reason string }
	// Compute has the rank compute the gradient at its step and sum it over the
	// ring.
	Compute struct{}
	// Apply has the rank update its state by the sum.
	Apply struct{}
)

// Other effects.
type (
	// Send hands a message to the coordinator.
	Send struct{ Message message.FromWorker }
	// Save takes a checkpoint of the present state, by the rank between its steps
	// where there is one, and uploads it beside whatever follows. One that is
	// under way makes it superfluous, unless it is Final: no step follows, so that
	// nothing else will save this state. Then it waits.
	Save struct{ Final bool }
	// End closes the session. Nothing follows.
	End struct{ Err error }
)

// What End may say.
var (
	// ErrLeft: the worker was told to leave.
	ErrLeft = errors.New("left the cluster")
	// ErrRefused: the coordinator does not want the worker, and says why.
	ErrRefused = errors.New("the coordinator refused this worker")
	// ErrSilent: nothing was heard of the coordinator.
	ErrSilent = errors.New("the coordinator is silent")
)

func (Generate) effect() {}
func (Prepare) effect()  {}
func (Describe) effect() {}
func (Join) effect()     {}
func (Cancel) effect()   {}
func (Compute) effect()  {}
func (Apply) effect()    {}
func (Send) effect()     {}
func (Save) effect()     {}
func (Drop) effect()     {}
func (End) effect()      {}
