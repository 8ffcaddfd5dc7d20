package coordinator

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/internal/hostport"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

const (
	helloTimeout = 5 * time.Second
	flushTimeout = time.Second // for the last messages to a session that is closed
	outboxSize   = 256         // messages; a worker that does not read them is gone
	// A worker sends a message per step and four more a second. One that sends more
	// than this is broken, and takes the loop's time from the others.
	messageRate  = 2_000 // a second
	messageBurst = 10_000
)

// session is a worker's stream as the loop sees it.
type session struct {
	number    machine.Session
	from      string            // the worker's id, before its hello its address
	elsewhere bool              // on another host than the coordinator
	host      string            // its IP address
	cert      *x509.Certificate // that it has shown; nil in plain text
	out       chan *wire.CoordinatorMessage
	over      chan struct{} // closed together with out
	closed    bool          // whether both are closed; only the loop uses it
	reason    string        // why; readable once out is closed

	// Of several coordinators, one that does not lead any more must not renew the worker's lease.
	// Only the loop uses these.
	heartbeat uint64 // number of the last that came
	vouched   uint64 // of the last that came before a majority said that this coordinator leads

	// For the flight recorder; only the loop uses them.
	pid     int
	visible bool // the process with that pid, from here
	heard   time.Time
	state   ergoflow.Mark // that it has last told of
	doing   string
}

// send queues a message. It never waits: a worker that does not read is cut off.
func (s *session) send(m *wire.CoordinatorMessage) {
	if s.closed {
		return
	}
	select {
	case s.out <- m:
	default:
		s.close("it does not read its messages")
	}
}

func (s *session) close(reason string) {
	if !s.closed {
		s.closed, s.reason = true, reason
		close(s.out)
		close(s.over)
	}
}

// Session implements wire.ControlServer: the stream of one worker.
func (v *service) Session(stream wire.Control_SessionServer) error {
	s := &session{from: caller(stream.Context()), elsewhere: elsewhere(stream.Context()), host: callingHost(stream.Context()), cert: secure.Certificate(stream.Context()), out: make(chan *wire.CoordinatorMessage, outboxSize), over: make(chan struct{})}
	err := v.hold(stream, s)
	v.loop.do(func() {
		switch status.Code(err) {
		case codes.InvalidArgument, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Internal: // gRPC uses Internal for bytes that are not a message
			v.loop.refused.add(s.from, status.Convert(err).Message())
		}
		v.loop.step(machine.Closed{Session: s.number, Reason: why(err)})
		delete(v.loop.sessions, s.number)
		s.close("the stream ended")
	})
	return err
}

// hold keeps the session until it is over, and returns why it ended.
func (v *service) hold(stream wire.Control_SessionServer, s *session) error {
	heard := make(chan error, 1) // from the reader, once it has ended
	greeted := make(chan struct{})
	go func() { heard <- v.read(stream, s, greeted) }()
	hello := time.NewTimer(helloTimeout)
	defer hello.Stop()
	select {
	case <-greeted:
	case err := <-heard:
		return err
	case <-hello.C:
		return status.Errorf(codes.DeadlineExceeded, "no hello within %v", helloTimeout)
	}
	written := make(chan error, 1)
	go func() { written <- write(stream, s) }()
	select {
	case err := <-written:
		return err
	case err := <-heard: // also when the stream breaks
		return err
	case <-s.over:
	}
	select { // the last messages
	case err := <-written:
		return err
	case <-time.After(flushTimeout):
		return status.Error(codes.Aborted, s.reason)
	}
}

// read turns messages into events until the stream ends. The first message must be
// Hello, and no later one may be.
func (v *service) read(stream wire.Control_SessionServer, s *session, greeted chan<- struct{}) error {
	first := true
	limit := rate.NewLimiter(messageRate, messageBurst)
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !limit.Allow() {
			return status.Errorf(codes.ResourceExhausted, "more than %d messages a second", messageRate)
		}
		received := convert.FromWorker(m)
		hello, isHello := received.(message.Hello)
		if isHello != first {
			return status.Error(codes.InvalidArgument, "a session has one hello, which comes first")
		}
		if received == nil {
			return status.Error(codes.InvalidArgument, "a message without a known body")
		}
		var alive bool
		if first {
			alive = v.loop.do(func() { v.open(s, hello) })
			close(greeted)
			first = false
		} else {
			alive = v.loop.post(machine.Received{Session: s.number, Message: received})
		}
		if !alive {
			return status.Error(codes.Unavailable, "the coordinator ends")
		}
	}
}

// open gives the session its number and presents the worker to the machine.
func (v *service) open(s *session, hello message.Hello) {
	if s.closed {
		return // the hello came too late
	}
	v.loop.last++
	s.number = v.loop.last
	if id := string(hello.Worker.ID); id != "" {
		s.from = convert.Clip(id)
	}
	v.loop.sessions[s.number] = s
	s.pid, s.heard = hello.Worker.PID, time.Now()
	s.visible = !s.elsewhere && flight.Visible(s.pid)
	if s.cert == nil && v.security.acceptsPlaintext() {
		v.loop.about(journal.Security).Warn("a worker speaks plain text", "worker", s.from, "address", s.host)
	}
	v.loop.step(machine.Opened{Session: s.number, Hello: hello,
		Elsewhere: s.elsewhere, Host: s.host, Identity: v.identityOf(s.cert), Loopback: hostport.IsLoopback(hello.Worker.DataAddress)})
}

// identityOf is the identity in a worker's certificate, or as message.Member without one.
func (v *service) identityOf(cert *x509.Certificate) string {
	switch {
	case cert == nil && v.security.acceptsPlaintext():
		return string(trust.Plaintext)
	case cert == nil:
		return ""
	}
	id, err := trust.IdentityOf(cert)
	if err != nil {
		return "" // the handshake has refused it
	}
	return id.String()
}

// write sends queued messages. When the loop has closed the queue it returns the reason,
// for the worker's log.
func write(stream wire.Control_SessionServer, s *session) error {
	for m := range s.out {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return status.Error(codes.Aborted, s.reason)
}

// caller is the address that a request comes from.
func caller(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return "unknown"
}

// hostOnly is the host of an address, or what is not one.
func hostOnly(from string) string {
	if host, _, err := net.SplitHostPort(from); err == nil {
		return host
	}
	return from
}

// callingHost is the IP address that a request comes from; empty if that is unknown.
func callingHost(ctx context.Context) string {
	host, _, err := net.SplitHostPort(caller(ctx))
	if err != nil {
		return ""
	}
	return host
}

// elsewhere reports whether a request comes from another host: on one host both ends
// of a connection have the same address.
func elsewhere(ctx context.Context) bool {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return false
	}
	theirs, ok := p.Addr.(*net.TCPAddr)
	ours, also := p.LocalAddr.(*net.TCPAddr)
	return ok && also && !theirs.IP.IsLoopback() && !theirs.IP.Equal(ours.IP)
}

// why says for the machine why a session ended.
func why(err error) string {
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return "the worker ended its stream"
	case errors.Is(err, context.Canceled), status.Code(err) == codes.Canceled:
		return "the stream broke"
	}
	return fmt.Sprintf("the stream ended: %s", status.Convert(err).Message())
}
