package secure

import (
	"context"
	"crypto/x509"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/internal/trust"
)

// Table says which roles may call a method, by the method's full name. A method without an
// entry may be called by nobody, one whose entry is empty by everybody, also without a
// certificate. trust.Plaintext is for clients in plain text, if the server accepts those.
type Table map[string][]trust.Role

// handshakeTime bounds a handshake, so that clients that begin one and fall silent do not
// pile up.
const handshakeTime = 10 * time.Second

// Serve are the options of a server for clients with a certificate, whose methods only the
// roles of the table may call. It tells refused of every connection and call that it refuses.
func Serve(c *trust.Credentials, table Table, refused func(from string, err error)) []grpc.ServerOption {
	if c == nil {
		return nil
	}
	return table.options(explained{TransportCredentials: serving(c), refused: refused})
}

// ServeBoth is Serve for clients with a certificate, and beside them for clients in plain text.
func ServeBoth(c *trust.Credentials, table Table, refused func(from string, err error)) []grpc.ServerOption {
	return table.options(explained{serving(c), refused, true})
}

func serving(c *trust.Credentials) credentials.TransportCredentials {
	return credentials.NewTLS(c.ServerConfig(trust.AllowRoles(trust.Roles()...)))
}

// ServeJoin is Serve for clients with and without a certificate.
func ServeJoin(c *trust.Credentials, table Table, refused func(from string, err error)) []grpc.ServerOption {
	return table.options(explained{TransportCredentials: credentials.NewTLS(c.JoinServerConfig()), refused: refused})
}

func (t Table) options(transport explained) []grpc.ServerOption {
	return append(t.Interceptors(transport.refused), grpc.Creds(transport), grpc.ConnectionTimeout(handshakeTime))
}

// Interceptors are the options by which a server, of whatever transport, lets only the roles of
// the table call its methods. It tells refused of every call that it refuses.
func (t Table) Interceptors(refused func(from string, err error)) []grpc.ServerOption {
	check := func(ctx context.Context, method string) error {
		err := t.check(ctx, method)
		if err != nil {
			refused(from(ctx), err)
		}
		return err
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := check(ctx, info.FullMethod); err != nil {
				return nil, err
			}
			return next(ctx, request)
		}),
		grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := check(stream.Context(), info.FullMethod); err != nil {
				return err
			}
			return next(server, stream)
		}),
	}
}

// check refuses a caller whose role may not call the method.
func (t Table) check(ctx context.Context, method string) error {
	roles, known := t[method]
	if known && (len(roles) == 0 || isLocal(ctx)) {
		return nil
	}
	id, ok := Caller(ctx)
	switch {
	case !ok && IsPlaintext(ctx) && slices.Contains(roles, trust.Plaintext):
		return nil
	case !ok:
		return status.Errorf(codes.Unauthenticated, "%s needs a certificate", method)
	case slices.Contains(roles, id.Role):
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "%v may not call %s: its role is %s, not one of %v", id, method, id.Role, roles)
}

// isLocal reports a caller by a local socket: the kernel has checked that it is a process of
// the same user.
func isLocal(ctx context.Context) bool {
	p, ok := peer.FromContext(ctx)
	return ok && p.AuthInfo != nil && p.AuthInfo.AuthType() == "local"
}

// IsPlaintext reports a caller by a connection in plain text, other than a local socket.
func IsPlaintext(ctx context.Context) bool {
	p, ok := peer.FromContext(ctx)
	return ok && p.AuthInfo != nil && p.AuthInfo.AuthType() == "insecure"
}

// Caller is who calls, by the certificate of the connection; false without one.
func Caller(ctx context.Context) (trust.Identity, bool) {
	cert := Certificate(ctx)
	if cert == nil {
		return trust.Identity{}, false
	}
	id, err := trust.IdentityOf(cert)
	return id, err == nil
}

// Certificate is that of the caller; nil without one.
func Certificate(ctx context.Context) *x509.Certificate {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.PeerCertificates) > 0 {
		return info.State.PeerCertificates[0]
	}
	return nil
}

// from is who calls, for a report: the identity, or else the address.
func from(ctx context.Context) string {
	if id, ok := Caller(ctx); ok {
		return id.String()
	}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return "unknown"
}
