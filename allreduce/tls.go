package allreduce

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/ergoflow/ergoflow/internal/trust"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/local"
)

// security is how a process protects its connections: TCP by TLS, if it has credentials.
// Local sockets are not encrypted: the kernel says that the other end is a process of the
// same user, which could read the private key as well.
type security struct {
	own      *trust.Credentials     // nil: plain text
	sessions tls.ClientSessionCache // so that the next generation forms without new signatures
}

// handshakeTime bounds a handshake of TLS. That takes a few milliseconds of both processes, but
// on a machine with ten busy processes per core these have taken more than two seconds.
const handshakeTime = 5 * time.Second

// maxSessions bounds the peers with which a process can resume a session.
const maxSessions = 1024

// expected is the process that a connection is to lead to.
type expected struct {
	// plain: it has no certificate, as the coordinator says, while a cluster changes from plain
	// text. What the process itself says does not matter.
	plain bool
	allow func(trust.Identity) error // otherwise: accepts a worker's identity
}

// client does the handshake on a connection that this process has dialed, to the expected
// worker. It returns when that has accepted this process: in TLS 1.3 a server that
// refuses a certificate says so after the client's handshake. The end of ctx closes the
// connection before that.
func (s security) client(ctx context.Context, c net.Conn, to expected) (net.Conn, credentials.AuthInfo, error) {
	switch {
	case isLocal(c):
		return local.NewCredentials().ClientHandshake(ctx, "", c)
	case s.own == nil || to.plain:
		return insecure.NewCredentials().ClientHandshake(ctx, "", &unanswered{Conn: c})
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	config := s.own.ClientConfig(func(id trust.Identity) error {
		if err := trust.AllowRoles(trust.Worker)(id); err != nil {
			return err
		}
		return to.allow(id)
	})
	config.NextProtos = protocols
	config.DynamicRecordSizingDisabled = true // messages are long from the first one on
	config.ClientSessionCache = sessions{s.sessions, string(s.own.Certificate().Raw)}
	secured := tls.Client(c, config)
	defer context.AfterFunc(ctx, func() { c.Close() })()
	err := secured.Handshake()
	var a net.Conn
	if err == nil {
		a, err = answered(ctx, secured)
	}
	if err != nil {
		return nil, nil, s.explain(ctx, err)
	}
	return a, infoOf(secured), nil
}

// unanswered is a connection in plain text on which nothing has come yet.
type unanswered struct {
	net.Conn
	answered bool
}

func (c *unanswered) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.answered && n == 0 && err != nil {
		err = fmt.Errorf("it closed the connection without an answer; it may demand a certificate, and this process has shown none: %w", err)
	}
	c.answered = true
	return n, err
}

// protocols is HTTP/2 alone.
var protocols = []string{"h2"}

// recordHandshake is the first byte that a client of TLS sends. One of HTTP/2 sends a P.
const recordHandshake = 22

// only expects an identity, trust.Plaintext, or any identity if that is empty.
func only(identity string) expected {
	return expected{plain: identity == string(trust.Plaintext), allow: func(id trust.Identity) error {
		if identity != "" && id.String() != identity {
			return fmt.Errorf("%w: %v is there, and the coordinator named %s", ErrRefused, id, identity)
		}
		return nil
	}}
}

// credentials are those of a gRPC server.
func (s *Server) credentials() credentials.TransportCredentials {
	var config *tls.Config
	if s.own != nil {
		config = s.own.ServerConfig(trust.AllowRoles(trust.Worker, trust.Coordinator))
		config.NextProtos = protocols
		config.DynamicRecordSizingDisabled = true
	}
	return transport{server: func(c net.Conn) (net.Conn, credentials.AuthInfo, error) { return s.accepted(c, config) }}
}

// accepted does the handshake on a connection that this process has accepted.
func (s *Server) accepted(c net.Conn, config *tls.Config) (net.Conn, credentials.AuthInfo, error) {
	switch {
	case isLocal(c):
		return local.NewCredentials().ServerHandshake(c)
	case s.own == nil:
		return insecure.NewCredentials().ServerHandshake(c)
	}
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTime)
	defer cancel()
	if s.plain.accepted() {
		begun, isTLS, err := s.peek(ctx, c)
		if err != nil {
			return nil, nil, err // it only looked whether somebody listens, or was silent
		}
		if !isTLS {
			return s.acceptPlain(begun)
		}
		c = begun
	}
	secured := tls.Server(c, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		if errors.Is(err, io.EOF) { // it only looked whether somebody listens
			return nil, nil, io.EOF
		}
		err = s.explain(ctx, err)
		s.refused(hostOf(c.RemoteAddr()), err)
		return nil, nil, err
	}
	return &checked{secured, func(err error) { s.refused(hostOf(c.RemoteAddr()), err) }}, infoOf(secured), nil
}

// checked reports what somebody between the two processes has changed: to gRPC it is only
// the end of a connection.
type checked struct {
	*tls.Conn
	report func(error)
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "local error" {
		c.report(fmt.Errorf("%w: %w", ErrProtocol, err))
	}
	return n, err
}

// refuseTLS refuses a client that begins a handshake of TLS, to a process that has no
// certificate. Else gRPC would end the connection without a reason.
func (s *Server) refuseTLS(c *scattering) error {
	if err := c.fill(); err != nil {
		return err
	}
	if c.ahead[0] != recordHandshake {
		return nil
	}
	err := fmt.Errorf("%w: it demands TLS, and this process has no certificate", ErrRefused)
	s.refused(hostOf(c.RemoteAddr()), err)
	return err
}

// explain says in one line why a handshake failed.
func (s security) explain(ctx context.Context, err error) error {
	network, ok := errors.AsType[*net.OpError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%w: no handshake of TLS within %v", ErrSilent, handshakeTime)
	case plain:
		return fmt.Errorf("%w: it does not encrypt, and this process has certificates: %w", ErrRefused, err)
	case ok && network.Op == "remote error":
		return fmt.Errorf("%w: it does not accept %v: %w", ErrRefused, s.own.Identity(), err)
	case ok && network.Op != "local error", errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: in the handshake of TLS: %w", ErrPeerLost, err)
	case errors.Is(err, ErrRefused):
		return err
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// isLocal reports whether a connection is a local socket.
func isLocal(c net.Conn) bool { return c.RemoteAddr().Network() == "unix" }

func infoOf(c *tls.Conn) credentials.AuthInfo {
	return credentials.TLSInfo{
		State:          c.ConnectionState(),
		CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
	}
}

// sessions are those that began with this process's present certificate. After a renewal
// they are not resumed: a server would see the old certificate.
type sessions struct {
	tls.ClientSessionCache
	certificate string
}

func (s sessions) Get(key string) (*tls.ClientSessionState, bool) {
	return s.ClientSessionCache.Get(s.certificate + key)
}

func (s sessions) Put(key string, session *tls.ClientSessionState) {
	s.ClientSessionCache.Put(s.certificate+key, session)
}

// transport gives handshakes to gRPC.
type transport struct {
	client func(context.Context, net.Conn) (net.Conn, credentials.AuthInfo, error)
	server func(net.Conn) (net.Conn, credentials.AuthInfo, error)
}

func (t transport) ClientHandshake(ctx context.Context, _ string, c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return t.client(ctx, c)
}

func (t transport) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return t.server(c)
}

func (transport) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "ergoflow"} // local sockets, TLS or plain text
}

func (t transport) Clone() credentials.TransportCredentials { return t }

func (transport) OverrideServerName(string) error { return nil } // names of hosts do not matter
