package secure

import (
	"context"
	"net"

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
	plain   bool                         // whether a server accepts clients in plain text, too
}

func (c explained) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ClientHandshake(ctx, authority, raw)
	return conn, info, explain(err)
}

func (c explained) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	handshake := c.TransportCredentials.ServerHandshake
	if c.plain {
		begun, isTLS, err := Peek(raw)
		if err != nil {
			return nil, nil, err // it only looked whether somebody listens
		}
		raw = begun
		if !isTLS {
			handshake = insecure.NewCredentials().ServerHandshake
		}
	}
	conn, info, err := handshake(raw)
	if err = explain(err); err != nil {
		c.refused(raw.RemoteAddr().String(), err)
	}
	return conn, info, err
}

func (c explained) Clone() credentials.TransportCredentials {
	return explained{c.TransportCredentials.Clone(), c.refused, c.plain}
}
