package allreduce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/ergoflow/ergoflow"
	"google.golang.org/grpc/mem"
)

// pieceBytes is where received messages are split. It is prime, so most pieces end
// inside a number, as the network's may.
const pieceBytes = 4099

// InProcess is a network inside one process, for tests. Servers on it exchange the
// same bytes as over gRPC, and block only in ways that testing/synctest sees.
type InProcess struct {
	mu      sync.Mutex
	servers map[string]*Server
	// tamper wraps every new link, unless it is nil.
	tamper func(greeting hello, address string, o outgoing) outgoing
}

// NewInProcess returns a network without servers.
func NewInProcess() *InProcess { return &InProcess{servers: make(map[string]*Server)} }

// Listen returns a server at the address and replaces any earlier one there.
func (m *InProcess) Listen(address string) *Server {
	s := newServer(m)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.servers[address] = s
	return s
}

func (m *InProcess) dial(ctx context.Context, address string, _ int, greeting hello) (outgoing, hello, error) {
	m.mu.Lock()
	peer, tamper := m.servers[address], m.tamper
	m.mu.Unlock()
	if peer == nil {
		return nil, hello{}, fmt.Errorf("%w: no server listens at %s", ErrPeerLost, address)
	}
	l := &inProcessLink{
		messages: make(chan []byte, slots+1), // and one sign of life
		greeted:  make(chan hello, 1),
		parting:  make(chan struct{}),
		ended:    make(chan struct{}),
	}
	l.ctx, l.cancel = context.WithCancel(ctx)
	go func() {
		l.err = fromStatus(toStatus(peer.accept(l.ctx, greeting, l))) // an error arrives as over gRPC
		close(l.ended)
	}()
	select {
	case theirs := <-l.greeted:
		if tamper != nil {
			return tamper(greeting, address, l), theirs, nil
		}
		return l, theirs, nil
	case <-l.ended:
		l.cancel()
		return nil, hello{}, l.err
	case <-ctx.Done():
		l.close()
		return nil, hello{}, context.Cause(ctx)
	}
}

// inProcessLink is both ends of one stream.
type inProcessLink struct {
	ctx      context.Context
	cancel   context.CancelFunc
	messages chan []byte
	greeted  chan hello
	parting  chan struct{} // closed by goodbye
	ended    chan struct{} // the accepting side has returned err
	err      error
	arrived  atomic.Uint64 // messages

	sending  sync.Mutex // held while messages is sent to
	finished bool
}

func (l *inProcessLink) send(h header, encode func(scratch func() []byte) []byte) error {
	return l.put(encodeMessage(h, encode))
}

// encodeMessage returns the bytes of one message, as a copy.
func encodeMessage(h header, encode func(scratch func() []byte) []byte) []byte {
	b := make([]byte, headerBytes+int(h.length))
	h.put((*[headerBytes]byte)(b))
	copy(b[headerBytes:], encode(func() []byte { return b[headerBytes:] }))
	return b
}

func (l *inProcessLink) put(message []byte) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	select {
	case l.messages <- message:
		l.arrived.Add(1)
		return nil
	case <-l.ended:
		return errors.Join(ErrPeerLost, l.err)
	case <-l.ctx.Done():
		return context.Cause(l.ctx)
	}
}

// alive counts as arrived. Where messages wait to be read, there is no message: it would
// take the place of one.
func (l *inProcessLink) alive(h header) error {
	l.arrived.Add(1)
	if !l.sending.TryLock() {
		return nil
	}
	defer l.sending.Unlock()
	if !l.finished && len(l.messages) == 0 {
		l.messages <- encodeMessage(h, func(func() []byte) []byte { return nil })
	}
	return nil
}

func (l *inProcessLink) arrivals() (count uint64, ok bool) { return l.arrived.Load(), true }

func (l *inProcessLink) segments() uint64 { return 0 }

func (l *inProcessLink) sender() string { return "" }

func (l *inProcessLink) settle(int) error { return nil } // send has copied

func (l *inProcessLink) finish() error {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.finished = true
	close(l.messages)
	return nil
}

func (l *inProcessLink) wait() error {
	select {
	case <-l.parting:
		return nil
	case <-l.ended:
		return errors.Join(ErrPeerLost, l.err)
	case <-l.ctx.Done():
		return context.Cause(l.ctx)
	}
}

func (l *inProcessLink) close() {
	l.cancel()
	<-l.ended
}

func (l *inProcessLink) welcome(h hello) error {
	l.greeted <- h
	return nil
}

func (l *inProcessLink) goodbye(ergoflow.Generation) error {
	close(l.parting)
	return nil
}

func (l *inProcessLink) receive(f *frame) error {
	select {
	case b, ok := <-l.messages:
		if !ok {
			return io.EOF
		}
		var data mem.BufferSlice
		for len(b) > 0 {
			n := min(len(b), pieceBytes)
			data, b = append(data, mem.SliceBuffer(b[:n])), b[n:]
		}
		return f.decode(data)
	case <-l.ended:
		return fmt.Errorf("%w: the stream is over", ErrPeerLost)
	case <-l.ctx.Done():
		return errStreamEnded
	}
}
