package protocol

import (
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// rankState is how far a rank is in its generation.
type rankState struct {
	generation ergoflow.Generation
	saves      bool          // this rank writes the checkpoints
	joined     bool          // the state is in place and the ring connected
	gone       bool          // all are ready
	step       ergoflow.Step // updates applied
	busy       bool          // between Compute and Applied
	summed     bool          // of which the ring has ended here
	saveAsked  bool          // the coordinator wants a checkpoint at the next boundary
	askedAt    time.Time
	savedLast  bool
	unsaved    int // checkpoints that were Final and did not arrive
}

// boundaryPatience is for how long a step may go on when a checkpoint is asked for.
// The coordinator lets go after 10 s, and the checkpoint has to arrive before.
const boundaryPatience = 2 * time.Second

// maxUnsaved is how often the last checkpoint is tried before the coordinator hears
// that it does not arrive.
const maxUnsaved = 4

// form ends whatever is under way and reports what is held.
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

// abort ends a generation, and lets go of what waits for it.
func (s *Session) abort(abort message.Abort) {
	of := func(w *work) bool {
		return w != nil && (w.kind == stepping || w.kind == describing) && w.generation == abort.Generation
	}
	s.assigned = max(s.assigned, abort.Generation) // it is over, whatever is still said of it
	if of(s.next) {
		s.next = nil
	}
	if of(s.work) {
		s.cancel(fmt.Sprintf("generation %d aborted: %s", abort.Generation, abort.Reason))
	}
}

// rank is the rank of a generation, under way or waiting for the device.
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

// proceed gives the rank what it may do next. It is the one place from which
// steps are computed and applied.
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
	case !w.gone || s.parting:
	case w.step < s.plan.Steps:
		w.busy = true
		s.emit(Compute{})
	case w.saves && !w.savedLast: // the coordinator ends the generation once it is safe
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

// save takes a checkpoint at the next boundary between steps. No step follows in
// this session: who is asked will leave, and such steps would go with it.
func (s *Session) save() {
	s.parting = true
	if s.work == nil || s.work.kind != stepping {
		s.emit(Save{Final: true})
		return
	}
	s.work.saveAsked, s.work.askedAt = true, s.now
	s.proceed()
}

// hurry gives up a step whose end a checkpoint has been waiting for too long: what
// the step before left is saved instead. One that the ring has ended is applied
// when the lease is renewed.
func (s *Session) hurry() {
	w := s.work
	if w != nil && w.kind == stepping && w.saveAsked && w.busy && !w.summed && s.now.Sub(w.askedAt) > boundaryPatience {
		s.cancel("a checkpoint is asked for, and the step takes too long")
	}
}
