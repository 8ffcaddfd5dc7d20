package allreduce

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

const (
	streamWindow = 8 << 20
	connWindow   = 32 << 20
	// slots is the largest number of messages to one rank that wait for the network.
	slots = 2 * maxDepth

	// connectTime bounds the time to connect. TCP repeats a lost first packet after a
	// second, so one may be lost.
	connectTime = 2 * time.Second

	linkMethod = "/ergoflow.allreduce.v1.Ring/Link"
)

// Options are what a ring needs of the gRPC server that it is registered on: the
// security of its connections, flow-control windows that hold the messages in flight, and
// reads without a buffer, which [Server.Serve] supplies. Over TLS, handlers and interceptors
// find the sender's certificate in the credentials.TLSInfo of their peer, or its identity by
// [IdentityOf]; on local sockets the AuthType is "local".
func (s *Server) Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(s.credentials()),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connWindow),
		grpc.ReadBufferSize(0),
		experimental.BufferPool(new(frames)),
	}
}

// NewServer returns a server whose links are gRPC streams. Register it on a
// grpc.Server made with [Server.Options] and run by [Server.Serve]; to shut that down use
// Stop, since GracefulStop waits for the rings.
//
// With credentials, all TCP connections are TLS: the server accepts workers and
// coordinators of the cluster, and connects to workers. Nil is plain text.
func NewServer(own *trust.Credentials) *Server {
	s := newServer(nil)
	s.security = security{own, tls.NewLRUClientSessionCache(maxSessions)}
	s.dialer = network{s.security}
	return s
}

// Register adds the ring's service to a gRPC server. Other services on it keep
// their codec.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	r.RegisterService(&grpc.ServiceDesc{
		ServiceName: "ergoflow.allreduce.v1.Ring",
		Streams: []grpc.StreamDesc{{
			StreamName:    "Link",
			Handler:       func(_ any, stream grpc.ServerStream) error { return s.link(stream) },
			ClientStreams: true,
			ServerStreams: true,
		}},
	}, nil)
}

// link handles one neighbour's stream.
func (s *Server) link(stream grpc.ServerStream) error {
	in := streamIncoming{stream: stream}
	var f frame
	if err := in.receive(&f); err != nil {
		if errors.Is(err, ErrProtocol) {
			s.refused(caller(stream.Context()), err)
		}
		return toStatus(err)
	}
	h, err := parseHello(&f, phaseHello)
	if err == nil {
		address := addressOf(stream.Context())
		in.memory, in.reads, in.counted = address.memory, address.reads, address.segments
		if id, ok := secure.Caller(stream.Context()); ok {
			in.identity = id.String()
		} else if s.own != nil && secure.IsPlaintext(stream.Context()) {
			in.identity = string(trust.Plaintext)
		}
		err = s.accept(stream.Context(), h, in)
	}
	if errors.Is(err, ErrRefused) || errors.Is(err, ErrProtocol) || errors.Is(err, ErrFenced) && s.stale(h.id.Generation) {
		s.refused(caller(stream.Context()), err)
	}
	return toStatus(err)
}

// stale reports a generation so old that only a replay, or a process that was stopped
// for long, uses it. Members that have not heard of the newest one use the one before.
func (s *Server) stale(g ergoflow.Generation) bool { return g+1 < s.Newest() }

// caller is the host that a stream comes from.
func caller(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		return hostOf(p.Addr)
	}
	return ""
}

func hostOf(a net.Addr) string {
	if host, _, err := net.SplitHostPort(a.String()); err == nil {
		return host
	}
	return "this machine" // by a local socket
}

type streamIncoming struct {
	stream grpc.ServerStream
	// Set when the greeting is read; nil if there is none.
	memory   *sharedMemory
	reads    *atomic.Uint64 // of its connection
	counted  func() uint64  // likewise: its TCP segments
	identity string
}

func (in streamIncoming) welcome(h hello) error {
	// After the headers the client no longer keeps messages for a retry.
	if err := in.stream.SendHeader(nil); err != nil {
		return fromStatus(err)
	}
	return fromStatus(in.stream.SendMsg(&message{header: h.header(phaseWelcome), payload: h.payload()}))
}

func (in streamIncoming) goodbye(g ergoflow.Generation) error {
	return fromStatus(in.stream.SendMsg(&message{header: goodbye(g)}))
}

func (in streamIncoming) receive(f *frame) error {
	err := in.stream.RecvMsg(f)
	if err == nil && f.header.shared {
		return f.take(in.memory)
	}
	if status.Code(err) == codes.Canceled {
		return errStreamEnded
	}
	return fromStatus(err)
}

func (in streamIncoming) sender() string { return in.identity }

func (in streamIncoming) arrivals() (count uint64, ok bool) {
	if in.reads == nil {
		return 0, false
	}
	return in.reads.Load(), true
}

func (in streamIncoming) segments() uint64 {
	if in.counted == nil {
		return 0
	}
	return in.counted()
}

// network dials by gRPC.
type network struct{ security }

func (n network) dial(ctx context.Context, address string, rank int, greeting hello) (outgoing, hello, error) {
	o := &streamOutgoing{generation: greeting.id.Generation, released: make(chan *slot, slots)}
	for range slots {
		o.idle = append(o.idle, &slot{home: o.released})
	}
	to := expected{plain: greeting.opts.isPlain(rank), allow: func(id trust.Identity) error { return greeting.opts.checkIdentity(rank, id.String()) }}
	var err error
	o.conn, err = grpc.NewClient(address,
		grpc.WithTransportCredentials(transport{
			client: func(ctx context.Context, c net.Conn) (net.Conn, credentials.AuthInfo, error) {
				c, info, err := n.link(ctx, c, to)
				o.mu.Lock()
				defer o.mu.Unlock()
				o.failed = err
				return c, info, err
			},
		}),
		grpc.WithNoProxy(),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(), // a record of DNS
		grpc.WithContextDialer(o.connect),
		grpc.WithStaticStreamWindowSize(streamWindow),
		grpc.WithStaticConnWindowSize(connWindow),
		grpc.WithWriteBufferSize(0), // connections gather
	)
	if err != nil {
		return nil, hello{}, err
	}
	theirs, err := o.open(ctx, greeting)
	if err != nil {
		o.close()
		if failed := o.notConnected(); failed != nil && ctx.Err() == nil {
			return nil, hello{}, failed
		}
		return nil, hello{}, fromStatus(err)
	}
	return o, theirs, nil
}

// streamOutgoing is a connection of its own with one stream.
type streamOutgoing struct {
	generation ergoflow.Generation
	conn       *grpc.ClientConn
	stream     grpc.ClientStream
	memory     *sharedMemory // nil if there is none
	idle       []*slot       // the sender's
	released   chan *slot    // by the transport, in the order of messages

	sending  sync.Mutex // held while the stream is sent to
	finished bool

	mu     sync.Mutex
	raw    []net.Conn // below conn
	failed error      // why the last connection was not made
	closed bool
}

// connect remembers the network connection, so that close need not wait for a peer that
// has stopped reading.
func (o *streamOutgoing) connect(ctx context.Context, address string) (net.Conn, error) {
	c, err := dial(ctx, address)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed = err; err != nil {
		return nil, err
	}
	if o.closed {
		c.Close()
		return nil, net.ErrClosed
	}
	o.raw = append(o.raw, c)
	if u, ok := c.(*localConn); ok {
		if err := u.offer(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// notConnected says why the last connection was not made; nil: it was.
func (o *streamOutgoing) notConnected() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed
}

// dial connects to a rank's data address, as every link does. It fails with [ErrSilent]
// where there is no way to the peer's host. A host that is there refuses connections to a
// process that is not.
func dial(ctx context.Context, address string) (net.Conn, error) {
	if c := dialLocally(ctx, address); c != nil {
		return c, nil
	}
	d := net.Dialer{Timeout: connectTime}
	c, err := d.DialContext(ctx, "tcp", address)
	switch {
	case err == nil:
		return c, nil
	case ctx.Err() != nil:
		return nil, err
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("%w: %w", ErrPeerLost, err)
	}
	return nil, fmt.Errorf("%w: %w", ErrSilent, err)
}

// Reach connects to the data address, host:port, of another process as a link does, and
// disconnects. Its error says why a link would fail: [ErrSilent] where there is no way to
// the process's host. Identity is the one that the process's certificate must have;
// trust.Plaintext: it has none; empty: any worker's.
func (s *Server) Reach(ctx context.Context, address, identity string) error {
	c, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close()
	to := only(identity)
	if s.own == nil || to.plain {
		return nil
	}
	_, _, err = s.client(ctx, c, to)
	return err
}

// Client returns a connection to the other services at a process's data address, host:port.
// Identity is as in Reach.
func (s *Server) Client(address, identity string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	to := only(identity)
	return grpc.NewClient(address, append(opts, grpc.WithDisableServiceConfig(), grpc.WithTransportCredentials(transport{
		client: func(ctx context.Context, c net.Conn) (net.Conn, credentials.AuthInfo, error) {
			return s.client(ctx, c, to)
		},
	}))...)
}

func (o *streamOutgoing) open(ctx context.Context, greeting hello) (hello, error) {
	var err error
	desc := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	o.stream, err = o.conn.NewStream(ctx, desc, linkMethod, grpc.ForceCodecV2(codec{}))
	if err != nil {
		return hello{}, err
	}
	err = o.stream.SendMsg(&message{header: greeting.header(phaseHello), payload: greeting.payload()})
	if err != nil && !errors.Is(err, io.EOF) { // EOF: the answer says why
		return hello{}, err
	}
	if _, err := o.stream.Header(); err != nil {
		return hello{}, err
	}
	o.memory = addressOf(o.stream.Context()).memory
	var f frame
	if err := o.stream.RecvMsg(&f); err != nil {
		return hello{}, err
	}
	return parseHello(&f, phaseWelcome)
}

func (o *streamOutgoing) send(h header, encode func(scratch func() []byte) []byte) error {
	if o.memory != nil && h.length >= sharedLeast {
		if slot, ok := o.memory.put(encode); ok {
			h.shared = true
			return o.post(&message{header: h, payload: []byte{slot}})
		}
	}
	if err := o.settle(slots - 1); err != nil {
		return err
	}
	s := o.idle[len(o.idle)-1]
	o.idle = o.idle[:len(o.idle)-1]
	return o.post(&message{header: h, payload: encode(s.scratch), slot: s})
}

func (o *streamOutgoing) alive(h header) error {
	if !o.sending.TryLock() {
		return nil
	}
	defer o.sending.Unlock()
	if o.finished {
		return nil
	}
	return o.stream.SendMsg(&message{header: h})
}

func (o *streamOutgoing) post(m *message) error {
	o.sending.Lock()
	defer o.sending.Unlock()
	err := o.stream.SendMsg(m)
	if errors.Is(err, io.EOF) {
		err = errStreamEnded
	}
	return fromStatus(err)
}

func (o *streamOutgoing) settle(pending int) error {
	for slots-len(o.idle) > pending {
		select {
		case s := <-o.released:
			o.idle = append(o.idle, s)
		case <-o.stream.Context().Done():
			return context.Cause(o.stream.Context())
		}
	}
	return nil
}

func (o *streamOutgoing) finish() error {
	o.sending.Lock()
	defer o.sending.Unlock()
	o.finished = true
	return o.stream.CloseSend()
}

func (o *streamOutgoing) wait() error {
	var f frame
	err := o.stream.RecvMsg(&f)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it ended the stream", ErrPeerLost)
	}
	if err != nil {
		return fromStatus(err)
	}
	defer f.free()
	if f.header != goodbye(o.generation) {
		return fmt.Errorf("%w: unexpected %v where a goodbye is due", ErrProtocol, f.header)
	}
	return nil
}

func (o *streamOutgoing) close() {
	o.mu.Lock()
	o.closed = true
	for _, c := range o.raw {
		c.Close()
	}
	o.mu.Unlock()
	o.conn.Close()
}
