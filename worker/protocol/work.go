package protocol

import (
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// work uses the device, or waits for it.
type work struct {
	kind      kind
	effect    Effect // begins it
	cancelled bool
	run       string          // where generating or preparing
	order     message.Prepare // where preparing
	left      error           // where leaving: ends the session
	waits     string          // for what, where it waits
	rankState                 // where stepping; where describing, its generation alone
}

type kind int

const (
	generating kind = iota
	preparing
	describing
	stepping
	dropping
	leaving // takes no time
)

func (k kind) String() string {
	return [...]string{"generating", "preparing", "reporting", "stepping", "dropping", "leaving"}[k]
}

// doing names the present work, for `status`.
func (s *Session) doing() string {
	if s.work == nil {
		return "idle"
	}
	if s.work.waits != "" {
		return fmt.Sprintf("%s: %s", s.work.kind, s.work.waits)
	}
	return s.work.kind.String()
}

// replace cancels the present work and begins another when that has ended.
func (s *Session) replace(reason string, next *work) {
	s.next = next
	s.cancel(reason)
	s.begin()
}

func (s *Session) cancel(reason string) {
	if s.work != nil && !s.work.cancelled {
		s.work.cancelled = true
		s.emit(Cancel{reason})
	}
}

// begin begins the next work, if the device is free.
func (s *Session) begin() {
	if s.work != nil || s.next == nil {
		return
	}
	next := s.next
	s.next = nil
	if next.kind == leaving {
		s.end(next.left)
		return
	}
	s.work, s.followed = next, Followed{}
	s.emit(next.effect)
}

// fromWork handles the events of the present work.
func (s *Session) fromWork(event Event) {
	w := s.work
	if w == nil {
		return
	}
	switch e := event.(type) {
	case Described:
		if !w.cancelled {
			s.send(e.Report)
		}
	case Joined:
		s.joined(w, e)
	case Summed:
		w.summed = true
		s.proceed()
	case Applied:
		s.applied(w, e)
	case Waits:
		w.waits = e.What
	case NotSaved:
		w.savedLast = false // try again with the next ping
		w.saveAsked = s.noMoreSteps
		if w.unsaved++; w.unsaved == maxUnsaved && w.kind == stepping && !s.noMoreSteps {
			s.complain(w, fmt.Errorf("the last checkpoint did not arrive in %d attempts: %w", maxUnsaved, e.Err))
		}
	case Ended:
		s.ended(w, e.Err)
	}
}

// ended reports the result of the work, and begins the next.
func (s *Session) ended(w *work, err error) {
	s.work = nil
	if w.saveAsked { // and no step boundary came
		s.emit(Save{Final: true})
	}
	switch {
	case w.cancelled && w.kind == stepping:
		s.tellSilent(w, err)
	case w.cancelled:
	case err == nil && w.kind == preparing:
		s.plan = w.order.Plan
		s.send(message.Prepared{Run: w.run, Number: w.order.Number})
	case err == nil:
	case w.kind == stepping:
		s.complain(w, err)
	case w.kind == describing:
		s.end(err)
	default:
		s.failed(w.run, err)
	}
	s.begin()
}

// complain tells the coordinator why a generation cannot continue, and which member is to
// blame: without a name, this worker.
func (s *Session) complain(w *work, err error) {
	complaint := message.Complaint{Generation: w.generation, Step: w.step, Reason: err.Error()}
	if blame, ok := errors.AsType[*Blame](err); ok {
		complaint.Peer, complaint.Silent = blame.Peer, blame.Silent
	}
	s.send(complaint)
}

// tellSilent tells the coordinator which members were silent in a generation that it has
// ended for another reason: often for the complaint of another member, which does not hear
// the same ones.
func (s *Session) tellSilent(w *work, err error) {
	if blame, ok := errors.AsType[*Blame](err); ok && len(blame.Silent) > 0 {
		s.complain(w, err)
	}
}

// Blame is the error of a rank that ends because of other members.
type Blame struct {
	Peer   ergoflow.WorkerID   // to blame; empty: this worker
	Silent []ergoflow.WorkerID // members from which nothing comes, or to which there is no way
	Err    error
}

func (b *Blame) Error() string { return b.Err.Error() }

func (b *Blame) Unwrap() error { return b.Err }
