package secure

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ergoflow/ergoflow/internal/trust"
)

// Dial is the transport of a client: it accepts servers of the roles.
func Dial(c *trust.Credentials, roles ...trust.Role) credentials.TransportCredentials {
	if c == nil {
		return insecure.NewCredentials()
	}
	return explained{TransportCredentials: credentials.NewTLS(c.ClientConfig(trust.AllowRoles(roles...)))}
}

// DialToJoin is the transport of a process that has nothing but a token: it accepts the
// coordinator whose CA has the fingerprint.
func DialToJoin(pin trust.Fingerprint) credentials.TransportCredentials {
	return explained{TransportCredentials: credentials.NewTLS(trust.JoinConfig(pin))}
}

// explained is TLS whose errors say what the other side does wrong. A server tells refused of
// every failed handshake.
type explained struct {
	credentials.TransportCredentials
	refused func(from string, err error) // nil on clients
}

func (c explained) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ClientHandshake(ctx, authority, raw)
	return conn, info, explain(err, "the server")
}

func (c explained) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	if err = explain(err, "the client"); err != nil {
		c.refused(raw.RemoteAddr().String(), err)
	}
	return conn, info, err
}

func (c explained) Clone() credentials.TransportCredentials {
	return explained{c.TransportCredentials.Clone(), c.refused}
}

var (
	// ErrPlain: the other side speaks plain text.
	ErrPlain = errors.New("it speaks plain text, and this side TLS alone")
	// ErrHandshake: the other side ended the handshake without a reason that this side knows.
	ErrHandshake = errors.New("it ended the TLS handshake")
)

// explain says what a failed handshake means. TLS 1.3 lets a client finish before the server
// has checked it, so a refusal may come with the first bytes that it reads.
func explain(err error, who string) error {
	var header tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &header):
		return fmt.Errorf("%s: %w", who, ErrPlain)
	case errors.As(err, &alert):
		return fmt.Errorf("%s: %w: it says %q", who, ErrHandshake, alert.Error())
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("%s: %w", who, ErrHandshake)
	}
	return fmt.Errorf("%s: %w", who, err)
}
