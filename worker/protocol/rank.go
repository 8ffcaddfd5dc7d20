package protocol

import (
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// rankState is the progress of a rank in its generation.
type rankState struct {
	generation ergoflow.Generation
	saves      bool          // this rank writes the checkpoints
	joined     bool          // the state is in place and the ring connected
	gone       bool          // the coordinator has sent Go: all members are ready
	step       ergoflow.Step // updates applied
	busy       bool          // between Compute and Applied
	summed     bool          // busy, and the ring has ended in this rank
	saveAsked  bool          // the coordinator asks for a checkpoint at the next step boundary
	askedAt    time.Time
	savedLast  bool // the checkpoint of the last step was ordered
	unsaved    int  // Final checkpoints that did not arrive
}

// boundaryPatience bounds how long a requested checkpoint waits for the present step. The
// coordinator dismisses the worker after 10 s, and the checkpoint has to arrive before.
const boundaryPatience = 2 * time.Second

// maxUnsaved is how often the worker tries to upload the last checkpoint before it
// complains to the coordinator.
const maxUnsaved = 4

// form cancels the present work and then reports the state that the worker holds.
func (s *Session) form(form message.Form) {
	if form.Generation <= s.formed {
		return
	}
	s.formed = form.Generation
	s.replace(fmt.Sprintf("generation %d forms: %s", form.Generation, form.Reason),
		&work{kind: describing, effect: Describe{form.Generation}, rankState: rankState{generation: form.Generation}})
}

func (s *Session) assign(assign message.Assign) {
	if assign.Generation != s.formed || assign.Generation <= s.assigned {
		return
	}
	s.assigned = assign.Generation
	s.replace(fmt.Sprintf("generation %d is assigned", assign.Generation),
		&work{kind: stepping, effect: Join{assign}, rankState: rankState{generation: assign.Generation, saves: assign.Saves}})
}

// abort ends a generation: its work is cancelled, or does not begin.
func (s *Session) abort(abort message.Abort) {
	of := func(w *work) bool {
		return w != nil && (w.kind == stepping || w.kind == describing) && w.generation == abort.Generation
	}
	s.assigned = max(s.assigned, abort.Generation) // later messages of it have no effect
	if of(s.next) {
		s.next = nil
	}
	if of(s.work) {
		s.cancel(fmt.Sprintf("generation %d aborted: %s", abort.Generation, abort.Reason))
	}
}

// rank returns the rank of a generation, which runs or waits for the device; nil: none.
func (s *Session) rank(generation ergoflow.Generation) *work {
	for _, w := range []*work{s.next, s.work} {
		if w != nil && w.kind == stepping && w.generation == generation {
			return w
		}
	}
	return nil
}

func (s *Session) joined(w *work, e Joined) {
	w.joined, w.step = true, e.Step
	if !w.cancelled {
		s.send(message.Ready{Generation: w.generation})
	}
	s.proceed()
}

// proceed gives the rank its next order. It is the one place from which steps are
// computed and applied.
func (s *Session) proceed() {
	w := s.work
	if w == nil || w.kind != stepping || w.cancelled || !w.joined {
		return
	}
	if w.summed && s.lease.valid(s.now) {
		w.summed = false
		s.emit(Apply{})
		return
	}
	if w.busy {
		return
	}
	if w.saveAsked {
		w.saveAsked = false
		s.emit(Save{Final: true})
	}
	switch {
	case !w.gone || s.noMoreSteps:
	case w.step < s.plan.Steps:
		w.busy = true
		s.emit(Compute{})
	case w.saves && !w.savedLast: // the coordinator ends the generation once the state is durable
		w.savedLast = true
		s.emit(Save{Final: true})
	}
}

func (s *Session) applied(w *work, e Applied) {
	w.busy, w.step = false, e.Progress.Step
	e.Progress.Generation = w.generation
	s.send(e.Progress)
	every := s.plan.CheckpointEvery
	if !w.cancelled && !w.saveAsked && w.saves && every > 0 && w.step%every == 0 && w.step < s.plan.Steps {
		s.emit(Save{})
	}
	s.proceed()
}

// save takes a checkpoint at the next step boundary. No step follows in this session: the
// worker leaves, and its later steps would be lost.
func (s *Session) save() {
	s.noMoreSteps = true
	if s.work == nil || s.work.kind != stepping {
		s.emit(Save{Final: true})
		return
	}
	s.work.saveAsked, s.work.askedAt = true, s.now
	s.proceed()
}

// cancelSlowStep cancels a step for which a requested checkpoint has waited too long: the
// state before that step is saved instead. A step whose ring has ended is not cancelled:
// it is applied when the lease is renewed.
func (s *Session) cancelSlowStep() {
	w := s.work
	if w != nil && w.kind == stepping && w.saveAsked && w.busy && !w.summed && s.now.Sub(w.askedAt) > boundaryPatience {
		s.cancel("the coordinator asks for a checkpoint, and the step takes too long")
	}
}
