package protocol

import (
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// helloTimeout bounds the wait for the coordinator's first answer.
const helloTimeout = 5 * time.Second

// Session is the state of one connection to the coordinator. It is not for use
// by several goroutines.
type Session struct {
	hello    message.Hello
	now      time.Time // of the event being handled
	heard    time.Time // of the coordinator
	patience time.Duration
	lease    lease
	over     bool
	formed   ergoflow.Generation // the last generation that was to form
	assigned ergoflow.Generation // the last one of which a place was taken
	parting  bool                // the state was asked for: steps after it would be lost

	plan     ergoflow.Plan // of the run that was prepared
	followed Followed      // since the work under way began, or the last one
	work     *work         // under way; nil when idle
	next     *work         // begins when the one under way has ended

	effects []Effect
}

// NewSession returns the session of a worker that presents itself by hello. Its
// first event must be Opened.
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
		if s.next != nil && s.next.kind == leaving { // let go, while the work winds down
			s.end(s.next.left())
		} else {
			s.end(e.Err)
		}
	case Tick:
		if silence := now.Sub(s.heard); silence > s.patience {
			s.end(fmt.Errorf("%w for %v", ErrSilent, silence.Round(10*time.Millisecond)))
		}
		s.hurry()
	case Followed:
		s.followed = e
	case Drain:
		s.send(message.Drain{})
	case Refused:
		s.send(message.Refusal{From: e.From, Reason: e.Reason})
	default:
		s.fromWork(event)
	}
	return s.effects
}

// receive carries out one order of the coordinator.
func (s *Session) receive(received message.FromCoordinator) {
	switch m := received.(type) {
	case message.Welcome:
		s.welcome(m)
	case message.Refuse:
		s.end(fmt.Errorf("%w: %s", ErrRefused, m.Reason))
	case message.Ping:
		s.ping(m)
	case message.Generate:
		s.replace("the coordinator orders generating", &work{kind: generating, effect: Generate{m}, run: m.Plan.Run})
	case message.Prepare:
		s.replace("the coordinator orders preparing", &work{kind: preparing, effect: Prepare{m}, run: m.Plan.Run, order: m})
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
	case message.Save:
		s.save()
	case message.Finish:
		s.replace("the run is finished", &work{kind: dropping, effect: Drop{}})
	case message.Leave:
		s.replace("the coordinator lets go", &work{kind: leaving, reason: m.Reason})
	}
}

// welcome takes over the coordinator's times. Its patience with a silent worker
// is short, since training waits for that worker. A worker's patience with a
// silent coordinator is long: one that was killed breaks its streams at once, so
// that only a host that was stopped, cut off or starved is silent; nobody else
// conducts the run meanwhile, and looking for it costs a generation.
func (s *Session) welcome(w message.Welcome) {
	if w.Patience > 0 {
		s.patience = w.Patience
	}
	s.lease.length = w.Lease
}

func (s *Session) ping(p message.Ping) {
	s.lease.heard(p.Heard)
	s.send(message.Heartbeat{Doing: s.doing(), Number: s.lease.beat(s.now), Run: s.followed.Run, State: s.followed.Mark})
	s.proceed() // a step may have waited for the lease
}

func (s *Session) emit(e Effect) { s.effects = append(s.effects, e) }

func (s *Session) send(m message.FromWorker) { s.emit(Send{m}) }

// failed tells the coordinator that this worker cannot go on with the run.
func (s *Session) failed(run string, err error) {
	s.send(message.Failed{Run: run, Reason: err.Error()})
}

// end closes the session; the adapter waits for the work that is under way.
func (s *Session) end(err error) {
	s.cancel("the session with the coordinator ends")
	s.over = true
	s.emit(End{err})
}
