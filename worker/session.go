package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"github.com/ergoflow/ergoflow/worker/peer"
	"github.com/ergoflow/ergoflow/worker/protocol"
)

const (
	tickInterval = 250 * time.Millisecond
	outboxSize   = 256 // messages; a coordinator that has let so many pile up counts as gone
)

// A session is one connection to the coordinator. The protocol decides what it
// does; this is the adapter around it. Events come from the stream, the clock and
// the work. The goroutine that brings an event also executes its effects.
type session struct {
	w       *worker
	control wire.ControlClient
	address string // of the coordinator
	out     chan *wire.WorkerMessage
	ended   chan error      // gets the error that ends the session
	ctx     context.Context // ends with the session

	mu       sync.Mutex // held while an event is handled
	protocol *protocol.Session
	work     *task // generating, preparing, describing, stepping or dropping; nil when idle
	rank     *rank // while work is stepping, else nil

	saving    sync.WaitGroup // checkpoints taken while there is no rank
	checking  sync.WaitGroup // links to other workers
	streaming sync.WaitGroup // receive and transmit
	welcomed  bool           // set by receive; to be read when that has ended
}

// A task is a goroutine that can be cancelled and waited for.
type task struct {
	what   string // for people
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// session talks with the coordinator at address until the stream breaks, the
// coordinator dismisses the worker or falls silent, or ctx ends. It reports whether the
// coordinator had welcomed the worker.
func (w *worker) session(ctx context.Context, address string) (held bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, err := secure.Client(address, secure.Dial(w.trust, trust.Coordinator))
	if err != nil {
		return false, fmt.Errorf("dial coordinator %s: %w", address, err)
	}
	defer conn.Close()
	if err := w.connect(ctx, conn); err != nil {
		return false, fmt.Errorf("reach coordinator %s: %w", address, err)
	}
	control := wire.NewControlClient(conn)
	stream, err := control.Session(ctx)
	if err != nil {
		return false, fmt.Errorf("open session with coordinator %s: %w", address, cmp.Or(secure.Failure(err), err))
	}

	s := &session{
		w: w, control: control, address: address, ctx: ctx,
		out: make(chan *wire.WorkerMessage, outboxSize), ended: make(chan error, 1),
		protocol: protocol.NewSession(w.hello()),
	}
	s.post(protocol.Opened{})
	w.current.Store(s)
	defer w.current.Store(nil)
	s.streaming.Go(func() { s.receive(stream, address) })
	s.streaming.Go(func() { s.transmit(stream) })
	err = s.wait(ctx)
	s.stop(cancel)
	if errors.Is(err, protocol.ErrLeft) {
		about := []any{"reason", err}
		if r := w.replica.Load(); r != nil {
			if mark, hasState := r.Mark(); hasState {
				about = append(about, "generation", mark.Generation, "step", mark.Step)
			}
		}
		w.log.Info("leaving", about...)
		_ = w.uploads.wait(context.Background()) // every upload ends
		return s.welcomed, err
	}
	return s.welcomed, fmt.Errorf("session with coordinator %s: %w", address, cmp.Or(secure.Failure(err), err))
}

// wait posts the time and the drain, until the session is to end.
func (s *session) wait(ctx context.Context) error {
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	drain := s.w.drain
	for {
		select {
		case <-ticker.C:
			s.post(protocol.Tick{Term: s.w.latestTerm()})
		case <-drain:
			drain = nil
			s.post(protocol.Drain{})
		case err := <-s.ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stop ends everything that the session started, and waits for it.
func (s *session) stop(cancel context.CancelFunc) {
	s.post(protocol.Broken{Err: errors.New("the session is over")}) // after this no work starts
	cancel()
	s.mu.Lock()
	work := s.work
	s.mu.Unlock()
	if work != nil {
		<-work.done
	}
	s.saving.Wait()
	s.checking.Wait()
	s.streaming.Wait()
}

// receive and transmit end with the stream.
func (s *session) receive(stream wire.Control_SessionClient, address string) {
	for {
		m, err := stream.Recv()
		if err != nil {
			s.post(protocol.Broken{Err: err})
			return
		}
		received := convert.FromCoordinator(m)
		if err := s.w.noteTerm(received); err != nil {
			s.end(err)
			return
		}
		if welcome, ok := received.(message.Welcome); ok {
			s.welcomed = true
			s.w.rings.AcceptPlaintext(welcome.AcceptPlaintext)
			s.w.log.Info("joined", "coordinator", address, "protocol", welcome.Protocol)
			s.w.flight.Add(flight.Record{Kind: flight.Joined, Text: address})
			s.w.orderDump(dumpOrder{}) // those that wait can be sent
		}
		s.post(protocol.Received{Message: received})
	}
}

// noteTerm fails where the coordinator that answers led before another one that the worker has
// known: what it says, and that it refuses the worker, does not count any more.
func (w *worker) noteTerm(received message.FromCoordinator) error {
	var term uint64
	switch m := received.(type) {
	case message.Welcome:
		term = m.Term
	case message.Refuse:
		term = m.Term
	default:
		return nil
	}
	if term < w.term {
		return fmt.Errorf("the coordinator leads in term %d, and another has led in term %d since", term, w.term)
	}
	w.term = term
	return nil
}

func (s *session) transmit(stream wire.Control_SessionClient) {
	for {
		select {
		case m := <-s.out:
			if err := stream.Send(m); err != nil {
				return // receive gets the reason
			}
		case <-s.ctx.Done():
			return
		}
	}
}

// post hands an event to the protocol and executes its effects.
func (s *session) post(e protocol.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w.note(e)
	if _, ok := e.(protocol.Ended); ok {
		s.work, s.rank = nil, nil
	}
	for _, effect := range s.protocol.Step(time.Now(), e) {
		s.execute(effect)
	}
}

// execute executes an effect without waiting for it; mu is held.
func (s *session) execute(effect protocol.Effect) {
	switch e := effect.(type) {
	case protocol.Send:
		s.send(e.Message)
	case protocol.Generate:
		s.start("making shards", func(ctx context.Context) error {
			return s.w.generate(ctx, e.Order, func(what string) { s.post(protocol.Waits{What: what}) })
		})
	case protocol.Prepare:
		s.start("opening the run and compiling", func(ctx context.Context) error {
			return s.w.prepare(ctx, e.Order, func(m ergoflow.Mark) {
				s.post(protocol.Followed{Run: e.Order.Plan.Run, Mark: m})
			})
		})
	case protocol.Describe:
		s.start("describing its state", func(ctx context.Context) error {
			report, err := s.w.describe(ctx, e.Generation)
			if err == nil {
				s.post(protocol.Described{Report: report})
			}
			return err
		})
	case protocol.Join:
		rank := newRank(s, e.Assign)
		s.start("training", rank.run)
		s.rank = rank
	case protocol.Cancel:
		s.work.cancel(errors.New(e.Reason))
	case protocol.Compute, protocol.Apply:
		s.rank.orders <- e
	case protocol.CheckLink:
		s.checking.Go(func() {
			s.post(protocol.LinkChecked{Peer: e.Peer.ID, Err: peer.CheckLink(s.ctx, s.w.rings, e.Peer, s.w.address)})
		})
	case protocol.Save:
		if s.rank != nil {
			s.rank.orders <- e
		} else {
			s.saving.Go(func() { s.save(s.ctx, e) })
		}
	case protocol.Dump:
		s.w.orderDump(dumpOrder{occasion: e.Order.Occasion, ordered: true, number: e.Order.Number})
	case protocol.Drop:
		s.start("closing the run", func(context.Context) error { s.w.drop(); return nil })
	case protocol.End:
		s.end(e.Err)
	}
}

// send queues a message for the stream.
func (s *session) send(m message.FromWorker) {
	switch m := m.(type) {
	case message.Failed:
		s.w.log.Error("cannot continue the run", "run", m.Run, "error", m.Reason)
		s.w.flight.Add(flight.Record{Kind: flight.Failed, Text: "cannot continue the run: " + m.Reason})
	case message.Complaint:
		s.w.log.Warn("generation broke", "generation", m.Generation, "step", m.Step, "error", m.Reason)
	}
	select {
	case s.out <- convert.ToCoordinator(m):
	default:
		s.end(fmt.Errorf("the coordinator reads no messages: %d are waiting", outboxSize))
	}
}

// end ends the session; only the first error counts.
func (s *session) end(err error) {
	select {
	case s.ended <- err:
	default:
	}
}

// start starts a piece of work, whose last event is Ended; mu is held.
func (s *session) start(what string, work func(ctx context.Context) error) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	t := &task{what: what, cancel: cancel, done: make(chan struct{})}
	s.work = t
	s.w.flight.Begin("work", what, 0, 0)
	go func() {
		defer close(t.done)
		err := work(ctx)
		s.w.flight.Begin("work", "", 0, 0)
		cancel(nil)
		s.post(protocol.Ended{Err: err})
	}()
}
