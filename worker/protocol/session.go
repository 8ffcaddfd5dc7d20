package protocol

import (
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// helloTimeout bounds the wait for the coordinator's first answer.
const helloTimeout = 5 * time.Second

// drainPatience is how long a worker that is to leave, and has no state that could be
// lost with it, waits for a silent coordinator. A coordinator pings every half second.
const drainPatience = 2 * time.Second

// deposedPatience is a leader's silence after which the worker leaves it for the leader of a later
// term. A made-up leader of the gossip does not part it from one that speaks.
const deposedPatience = time.Second

// Session is the state of one connection to the coordinator. It is not for use
// by several goroutines.
type Session struct {
	hello       message.Hello
	now         time.Time // of the event being handled
	heard       time.Time // last message of the coordinator
	patience    time.Duration
	term        uint64 // in which the coordinator leads; 0: it is the only one
	lease       lease
	over        bool
	draining    bool                // the worker has asked to leave
	formed      ergoflow.Generation // last generation of a Form
	assigned    ergoflow.Generation // last generation of an Assign, or of an Abort
	noMoreSteps bool                // the coordinator has asked for the state: later steps would be lost

	plan     ergoflow.Plan // of the run that the worker is prepared for
	followed Followed      // the newest since the last work began
	work     *work         // the present work; nil: idle
	next     *work         // begins when the present work has ended

	effects []Effect
}

// NewSession returns the session of a worker that introduces itself with hello. Its first
// event must be Opened.
func NewSession(hello message.Hello) *Session { return &Session{hello: hello, patience: helloTimeout} }

// Step handles one event.
func (s *Session) Step(now time.Time, event Event) []Effect {
	s.now, s.effects = now, nil
	if s.over {
		return nil
	}
	switch e := event.(type) {
	case Opened:
		s.heard = now
		s.send(s.hello)
	case Received:
		s.heard = now
		s.receive(e.Message)
	case Broken:
		if s.next != nil && s.next.kind == leaving { // dismissed, while the work ends
			s.end(s.next.left)
		} else {
			s.end(e.Err)
		}
	case Tick:
		if silence := now.Sub(s.heard); silence > s.patience {
			s.end(fmt.Errorf("%w for %v", ErrSilent, silence.Round(10*time.Millisecond)))
			return s.effects
		} else if e.Term > s.term && silence > deposedPatience {
			s.end(fmt.Errorf("%w for %v, and another leads in term %d", ErrSilent, silence.Round(10*time.Millisecond), e.Term))
			return s.effects
		} else if s.draining && !s.hello.HasState && s.plan.Run == "" && silence > drainPatience {
			s.end(fmt.Errorf("%w: the coordinator is silent for %v, and this worker has no state to hand over", ErrLeft, silence.Round(10*time.Millisecond)))
			return s.effects
		}
		s.cancelSlowStep()
	case Followed:
		s.followed = e
	case Drain:
		s.draining = true
		s.send(message.Drain{})
	case Refused:
		s.send(message.Refusal{From: e.From, Reason: e.Reason})
	case LinkChecked:
		checked := message.LinkChecked{Peer: e.Peer}
		if e.Err != nil {
			checked.Failure = e.Err.Error()
		}
		s.send(checked)
	default:
		s.fromWork(event)
	}
	return s.effects
}

// receive executes one message of the coordinator.
func (s *Session) receive(received message.FromCoordinator) {
	switch m := received.(type) {
	case message.Welcome:
		s.welcome(m)
	case message.Refuse:
		s.end(fmt.Errorf("%w: %s", ErrRefused, m.Reason))
	case message.Ping:
		s.ping(m)
	case message.Generate:
		s.replace("the coordinator orders to generate", &work{kind: generating, effect: Generate{m}, run: m.Plan.Run})
	case message.Prepare:
		s.replace("the coordinator orders to prepare", &work{kind: preparing, effect: Prepare{m}, run: m.Plan.Run, order: m})
	case message.Form:
		s.form(m)
	case message.Assign:
		s.assign(m)
	case message.Go:
		if w := s.rank(m.Generation); w != nil {
			w.gone = true
			s.proceed()
		}
	case message.Abort:
		s.abort(m)
	case message.CheckLink:
		s.emit(CheckLink{m.Peer})
	case message.Save:
		s.save()
	case message.Dump:
		s.emit(Dump{m})
	case message.Finish:
		s.replace("the run is finished", &work{kind: dropping, effect: Drop{}})
	case message.Leave:
		s.replace("the coordinator dismisses the worker", &work{kind: leaving, left: fmt.Errorf("%w: %s", ErrLeft, m.Reason)})
	case message.Transfer:
		s.replace("the worker is for another run", &work{kind: leaving, left: fmt.Errorf("%w: %s", ErrTransferred, m.Reason)})
	}
}

// welcome takes over the coordinator's times. The coordinator's patience with a silent
// worker is short, since training waits for that worker. A worker's patience with a
// silent coordinator is long. A killed coordinator breaks its streams at once: only one
// whose host was stopped, cut off or overloaded is silent. Reconnecting costs a generation, and
// helps only where another coordinator leads meanwhile; the gossip has its term.
func (s *Session) welcome(w message.Welcome) {
	if w.Patience > 0 {
		s.patience = w.Patience
	}
	s.term = w.Term
	s.lease.length = w.Lease
}

func (s *Session) ping(p message.Ping) {
	if p.Patience > 0 {
		s.patience = p.Patience
	}
	s.lease.heard(p.Heard)
	s.send(message.Heartbeat{Doing: s.doing(), Number: s.lease.beat(s.now), Run: s.followed.Run, State: s.followed.Mark})
	s.proceed() // a step may wait for the lease
}

func (s *Session) emit(e Effect) { s.effects = append(s.effects, e) }

func (s *Session) send(m message.FromWorker) { s.emit(Send{m}) }

// failed tells the coordinator that this worker cannot continue the run.
func (s *Session) failed(run string, err error) {
	s.send(message.Failed{Run: run, Reason: err.Error()})
}

// end closes the session. The adapter waits for the present work to end.
func (s *Session) end(err error) {
	s.cancel("the session with the coordinator ends")
	s.over = true
	s.emit(End{err})
}
