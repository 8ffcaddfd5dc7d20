package protocol

import (
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// helloTimeout bounds the wait for the coordinator's first answer.
const helloTimeout = 5 * time.Second

// Session is the state of one connection to the coordinator. It is not for use
// by several goroutines.
type Session struct {
	hello    *wire.Hello
	now      time.Time // of the event being handled
	heard    time.Time // of the coordinator
	patience time.Duration
	lease    lease
	over     bool
	formed   uint64 // the last generation that was to form
	assigned uint64 // the last one of which a place was taken
	parting  bool   // the state was asked for: steps after it would be lost

	plan     *wire.Plan // of the run that was prepared
	followed Followed   // since the work under way began, or the last one
	work     *work      // under way; nil when idle
	next     *work      // begins when the one under way has ended

	effects []Effect
}

// NewSession returns the session of a worker that presents itself by hello. Its
// first event must be Opened.
func NewSession(hello *wire.Hello) *Session { return &Session{hello: hello, patience: helloTimeout} }

// Step handles one event.
func (s *Session) Step(now time.Time, event Event) []Effect {
	s.now, s.effects = now, nil
	if s.over {
		return nil
	}
	switch e := event.(type) {
	case Opened:
		s.heard = now
		s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Hello{Hello: s.hello}})
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
		s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Drain{Drain: &wire.Drain{}}})
	case Refused:
		s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Refusal{Refusal: &wire.Refusal{From: e.From, Reason: e.Reason}}})
	default:
		s.fromWork(event)
	}
	return s.effects
}

// receive carries out one order of the coordinator.
func (s *Session) receive(m *wire.CoordinatorMessage) {
	switch body := m.GetBody().(type) {
	case *wire.CoordinatorMessage_Welcome:
		s.welcome(body.Welcome)
	case *wire.CoordinatorMessage_Refuse:
		s.end(fmt.Errorf("%w: %s", ErrRefused, body.Refuse.GetReason()))
	case *wire.CoordinatorMessage_Ping:
		s.ping(body.Ping)
	case *wire.CoordinatorMessage_Generate:
		s.replace("the coordinator orders generating", &work{kind: generating, effect: Generate{body.Generate}, run: body.Generate.GetPlan().GetRun()})
	case *wire.CoordinatorMessage_Prepare:
		s.replace("the coordinator orders preparing", &work{kind: preparing, effect: Prepare{body.Prepare}, run: body.Prepare.GetPlan().GetRun(),
			order: body.Prepare})
	case *wire.CoordinatorMessage_Form:
		s.form(body.Form)
	case *wire.CoordinatorMessage_Assign:
		s.assign(body.Assign)
	case *wire.CoordinatorMessage_Go:
		if w := s.rank(body.Go.GetGeneration()); w != nil {
			w.gone = true
			s.proceed()
		}
	case *wire.CoordinatorMessage_Abort:
		s.abort(body.Abort)
	case *wire.CoordinatorMessage_Save:
		s.save()
	case *wire.CoordinatorMessage_Finish:
		s.replace("the run is finished", &work{kind: dropping, effect: Drop{}})
	case *wire.CoordinatorMessage_Leave:
		s.replace("the coordinator lets go", &work{kind: leaving, reason: body.Leave.GetReason()})
	}
}

// welcome takes over the coordinator's times. Its patience with a silent worker
// is short, since training waits for that worker. A worker's patience with a
// silent coordinator is long: one that was killed breaks its streams at once, so
// that only a host that was stopped, cut off or starved is silent; nobody else
// conducts the run meanwhile, and looking for it costs a generation.
func (s *Session) welcome(w *wire.Welcome) {
	if patience := seconds(w.GetPatience()); patience > 0 {
		s.patience = patience
	}
	s.lease.length = seconds(w.GetLease())
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (s *Session) ping(p *wire.Ping) {
	s.lease.heard(p.GetHeard())
	s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Heartbeat{Heartbeat: &wire.Heartbeat{
		Doing: s.doing(), Number: s.lease.beat(s.now),
		Run: s.followed.Run, Made: uint64(s.followed.Mark.Generation), Step: int64(s.followed.Mark.Step),
	}}})
	s.proceed() // a step may have waited for the lease
}

func (s *Session) emit(e Effect) { s.effects = append(s.effects, e) }

func (s *Session) send(m *wire.WorkerMessage) { s.emit(Send{m}) }

// failed tells the coordinator that this worker cannot go on with the run.
func (s *Session) failed(run string, err error) {
	s.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Failed{Failed: &wire.Failed{Run: run, Reason: err.Error()}}})
}

// end closes the session; the adapter waits for the work that is under way.
func (s *Session) end(err error) {
	s.cancel("the session with the coordinator ends")
	s.over = true
	s.emit(End{err})
}
