package trust

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpccredentials "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// gRPC asks the callbacks on both sides: a renewal counts at the next connection, and a
// server's interceptor learns the identity.
func TestGRPC(t *testing.T) {
	lab := authority(t, "lab")
	server, client := credentials(t, lab, Coordinator, "main", today), credentials(t, lab, Worker, "w1", today)
	server.SetRevoked(lab.Revoked)
	var mu sync.Mutex
	var seen []Serial
	s := grpc.NewServer(grpc.Creds(grpccredentials.NewTLS(server.ServerConfig(AllowRoles(Worker)))),
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			p, _ := peer.FromContext(ctx)
			cert := p.AuthInfo.(grpccredentials.TLSInfo).State.PeerCertificates[0]
			mu.Lock()
			seen = append(seen, SerialOf(cert))
			mu.Unlock()
			return next(ctx, req)
		}))
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	defer func() {
		s.Stop()
		if err := <-done; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	}()
	ask := func(config *tls.Config) error {
		conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(grpccredentials.NewTLS(config)))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, err = grpc_health_v1.NewHealthClient(conn).Check(t.Context(), new(grpc_health_v1.HealthCheckRequest))
		return err
	}
	config := client.ClientConfig(AllowRoles(Coordinator)) // one for all connections
	for i := range 2 {
		if err := ask(config); err != nil {
			t.Fatal(err)
		}
		if seen[i] != SerialOf(client.Certificate()) {
			t.Errorf("connection %d shows %s", i, seen[i])
		}
		if err := client.Replace(issue(t, lab, Worker, "w1", today), bundle(t, lab)); err != nil {
			t.Fatal(err)
		}
	}
	if err := ask(client.ClientConfig(AllowRoles(Worker))); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), ErrRole.Error()) {
		t.Errorf("a coordinator where a worker is wanted: %v", err)
	}
	if err := lab.RevokeIdentity(t.Context(), client.Identity(), today); err != nil {
		t.Fatal(err)
	}
	if err := ask(config); status.Code(err) != codes.Unavailable || len(seen) != 2 {
		t.Errorf("revoked: %v, %d calls", err, len(seen))
	}
}
