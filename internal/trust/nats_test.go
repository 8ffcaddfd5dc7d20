package trust

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// byCertificate lets a worker publish and receive jobs, and nothing else.
type byCertificate struct{}

func (byCertificate) Check(c server.ClientAuthentication) bool {
	cs := c.GetTLSConnectionState()
	if cs == nil {
		return false
	}
	id, err := IdentityOf(cs.PeerCertificates[0])
	if err != nil {
		return false
	}
	own := &server.SubjectPermission{Allow: []string{"jobs." + id.Name}}
	c.RegisterUser(&server.User{Username: id.Name, Permissions: &server.Permissions{Publish: own, Subscribe: own}})
	return true
}

// An embedded NATS server takes the same configurations, and permissions by identity.
func TestNATS(t *testing.T) {
	lab, foreign := authority(t, "lab"), authority(t, "lab")
	main, w1 := credentials(t, lab, Coordinator, "main", today), credentials(t, lab, Worker, "w1", today)
	main.SetRevoked(lab.Revoked)
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		TLSConfig: main.ServerConfig(AllowRoles(Worker)), TLSTimeout: 10, CustomClientAuthentication: byCertificate{},
	})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	defer func() {
		s.Shutdown()
		s.WaitForShutdown()
	}()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	connect := func(options ...nats.Option) (*nats.Conn, error) {
		return nats.Connect(s.ClientURL(), append(options, nats.NoReconnect())...)
	}
	config := w1.ClientConfig(AllowRoles(Coordinator))
	refusals := make(chan error, 1)
	conn, err := connect(nats.Secure(config), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refusals <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sub, err := conn.SubscribeSync("jobs.w1")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Publish("jobs.w1", []byte("make shard 3")); err != nil {
		t.Fatal(err)
	}
	if m, err := sub.NextMsg(10 * time.Second); err != nil || string(m.Data) != "make shard 3" {
		t.Errorf("%v, %v", m, err)
	}
	if err := conn.Publish("jobs.w2", nil); err != nil {
		t.Fatal(err)
	}
	if err := <-refusals; !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("another's subject: %v", err)
	}
	stranger := credentials(t, foreign, Worker, "w1", today).ClientConfig(AllowRoles(Coordinator))
	stranger.VerifyConnection = nil // it trusts all
	for name, options := range map[string][]nats.Option{"plaintext": nil, "a stranger": {nats.Secure(stranger)}} {
		if c, err := connect(options...); err == nil {
			t.Errorf("%s is let in", name)
			c.Close()
		}
	}
	if err := lab.RevokeIdentity(t.Context(), w1.Identity(), today); err != nil {
		t.Fatal(err)
	}
	if c, err := connect(nats.Secure(config)); err == nil {
		t.Error("a revoked worker is let in")
		c.Close()
	}
}
