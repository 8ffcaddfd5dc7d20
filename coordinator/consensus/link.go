package consensus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// links carries raft's connections as Link streams of the control service: so members need no
// port of their own, and have the encryption and the roles of that service. It implements
// raft.StreamLayer.
type links struct {
	own      address
	release  ergoflow.Release
	dial     func(address string) (*grpc.ClientConn, error)
	accepted chan net.Conn
	closed   chan struct{}
}

// address of a member, host:port of its control service.
type address string

func (address) Network() string  { return "grpc" }
func (a address) String() string { return string(a) }

func newLinks(own string, release ergoflow.Release, dial func(string) (*grpc.ClientConn, error)) *links {
	return &links{own: address(own), release: release, dial: dial, accepted: make(chan net.Conn), closed: make(chan struct{})}
}

// Addr implements net.Listener.
func (l *links) Addr() net.Addr { return l.own }

// Accept implements net.Listener.
func (l *links) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *links) Close() error {
	close(l.closed)
	return nil
}

// Dial implements raft.StreamLayer. Every connection is one of its own: one that a dead host has
// left open delays no later one.
func (l *links) Dial(to raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	conn, err := l.dial(string(to))
	if err != nil {
		return nil, fmt.Errorf("coordinator %s: %w", to, err)
	}
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(context.Background(), metadataOf(l.release)))
	end := func() { cancel(); conn.Close() }
	late := time.AfterFunc(timeout, cancel)
	stream, err := wire.NewCoordinatorsClient(conn).Link(ctx)
	if err == nil {
		_, err = stream.Header() // the other side has accepted
	}
	if !late.Stop() && err == nil {
		err = context.DeadlineExceeded
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("coordinator %s: %w", to, err)
	}
	mine, theirs := net.Pipe()
	go func() {
		defer end()
		send(stream, theirs)
	}()
	go receive(stream, theirs)
	return link{mine, l.own, address(to)}, nil
}

// serve accepts a connection, and carries it until one side ends it.
func (l *links) serve(stream wire.Coordinators_LinkServer) error {
	if _, err := releaseIn(stream.Context()).Agree("the coordinator that calls", l.release, "this one"); err != nil {
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	if err := stream.SendHeader(nil); err != nil {
		return err
	}
	mine, theirs := net.Pipe()
	defer theirs.Close()
	select {
	case l.accepted <- link{mine, l.own, address("")}:
	case <-l.closed:
		return net.ErrClosed
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
	go receive(stream, theirs) // ends with the stream, which ends with this call
	send(stream, theirs)
	return nil
}

// chunks is what both ends of a Link stream are.
type chunks interface {
	Send(*wire.Chunk) error
	Recv() (*wire.Chunk, error)
}

// maxChunk bounds what is sent at once, in bytes.
const maxChunk = 64 << 10

// send sends what comes out of the pipe until that, or the stream, ends.
func send(stream chunks, pipe net.Conn) {
	defer pipe.Close()
	buffer := make([]byte, maxChunk)
	for {
		n, err := pipe.Read(buffer)
		if err != nil {
			return
		}
		if stream.Send(&wire.Chunk{Data: buffer[:n]}) != nil { // it has encoded them when it returns
			return
		}
	}
}

// receive puts what arrives into the pipe until that, or the stream, ends.
func receive(stream chunks, pipe net.Conn) {
	defer pipe.Close()
	for {
		chunk, err := stream.Recv()
		if err != nil {
			return
		}
		if _, err := pipe.Write(chunk.GetData()); err != nil {
			return
		}
	}
}

// link is an end of a carried connection.
type link struct {
	net.Conn
	local, remote address
}

// LocalAddr implements net.Conn.
func (l link) LocalAddr() net.Addr { return l.local }

// RemoteAddr implements net.Conn.
func (l link) RemoteAddr() net.Addr { return l.remote }

// errNoMember: raft does not run yet.
var errNoMember = errors.New("this coordinator does not take part in the consensus yet")
