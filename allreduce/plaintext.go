package allreduce

import (
	"context"
	"fmt"
	"net"
	"sync"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

// While a cluster changes from plain text (docs/security.md), a process with a certificate also
// accepts connections without TLS. The coordinator's word alone begins and ends that. A ring
// takes a stream of such a connection only from a rank that the coordinator named as one without
// a certificate.

// plaintext says whether a server accepts plain text beside TLS, and has the connections.
type plaintext struct {
	mu    sync.Mutex
	open  bool
	conns map[*plainConn]struct{}
}

// AcceptPlaintext says whether a server with a certificate also accepts connections without
// TLS. At first it does not. When it ceases to, such connections end.
func (s *Server) AcceptPlaintext(accept bool) {
	p := &s.plain
	p.mu.Lock()
	p.open = accept
	var ended map[*plainConn]struct{}
	if !accept {
		ended, p.conns = p.conns, nil
	}
	p.mu.Unlock()
	for c := range ended {
		c.Conn.Close()
	}
}

func (p *plaintext) accepted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// peek is secure.Peek until ctx ends.
func (s *Server) peek(ctx context.Context, c net.Conn) (net.Conn, bool, error) {
	defer context.AfterFunc(ctx, func() { c.Close() })()
	return secure.Peek(c)
}

// acceptPlain accepts a connection in plain text, unless the server has just ceased to.
func (s *Server) acceptPlain(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	p := &s.plain
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open {
		return nil, nil, fmt.Errorf("%w: it does not encrypt, and this process has certificates", ErrRefused)
	}
	if p.conns == nil {
		p.conns = make(map[*plainConn]struct{})
	}
	kept := &plainConn{c, p}
	p.conns[kept] = struct{}{}
	return insecure.NewCredentials().ServerHandshake(kept)
}

// plainConn is a connection in plain text to a server with a certificate.
type plainConn struct {
	net.Conn
	of *plaintext
}

func (c *plainConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
