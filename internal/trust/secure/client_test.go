package secure_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

// A server that is killed while a connection is made to it ends that connection. The client cannot
// tell that from a server that does not trust it: the error says both.
func TestFailureEnded(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				conn.(*net.TCPConn).CloseWrite() // what the client writes meanwhile still arrives: it sees the end alone
				io.Copy(io.Discard, conn)
			}()
		}
	}()
	for name, transport := range map[string]credentials.TransportCredentials{"plain text": secure.Dial(nil), "TLS": secure.DialToJoin(trust.Fingerprint{})} {
		conn, err := secure.Client(listener.Addr().String(), transport)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, err = grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		if failure := secure.Failure(err); !errors.Is(failure, secure.ErrUntrusted) || !errors.Is(failure, secure.ErrEnded) {
			t.Errorf("%s: %v, of %v", name, failure, err)
		}
	}
}

// A client that is given a name asks no name server for more than the address, which /etc/hosts
// has here.
func TestClientAsksForAddressesAlone(t *testing.T) {
	var asked atomic.Int32
	before := net.DefaultResolver
	defer func() { net.DefaultResolver = before }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		asked.Add(1)
		return nil, errors.New("no name server")
	}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go server.Serve(listener)
	defer server.Stop()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := secure.Client(net.JoinHostPort("localhost", port), secure.Dial(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("it asked a name server %d times", n)
	}
}
