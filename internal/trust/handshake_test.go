package trust

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// met is what two sides of a connection saw.
type met struct {
	server, client error
	received       []byte // by the server, decrypted
	resumed        bool
}

func (m met) ok() bool { return m.server == nil && m.client == nil }

// meet connects a client to a server over loopback. Each sends the other a word. In TLS 1.3
// the client learns only when it reads that the server refused it.
func meet(t *testing.T, server, client *tls.Config) (m met) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	deadline := time.Now().Add(10 * time.Second)
	done := make(chan struct{})
	go func() {
		defer close(done)
		raw, err := listener.Accept()
		if err != nil {
			m.server = err
			return
		}
		defer raw.Close()
		raw.SetDeadline(deadline)
		conn := tls.Server(raw, server)
		if m.server = conn.Handshake(); m.server != nil {
			return
		}
		_, err = conn.Write([]byte("welcome"))
		word := make([]byte, 100)
		n, errRead := conn.Read(word)
		m.received, m.server = word[:n], errors.Join(err, errRead)
	}()
	raw, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	raw.SetDeadline(deadline)
	conn := tls.Client(raw, client)
	if m.client = conn.Handshake(); m.client == nil {
		m.resumed = conn.ConnectionState().DidResume
		if _, m.client = io.ReadFull(conn, make([]byte, len("welcome"))); m.client == nil {
			_, m.client = conn.Write([]byte("hello"))
		}
	}
	raw.Close()
	<-done
	return m
}

// Who may connect to whom, and what the side that refuses says.
func TestHandshakes(t *testing.T) {
	lab, foreign := authority(t, "lab"), authority(t, "lab")
	coordinator := credentials(t, lab, Coordinator, "main", today)
	worker := credentials(t, lab, Worker, "w1", today)
	operator := credentials(t, lab, Operator, "o1", today)
	stranger := credentials(t, foreign, Worker, "w1", today)
	early := credentials(t, lab, Worker, "w2", today)
	early.now = func() time.Time { return today.AddDate(0, 0, -1) }
	late := credentials(t, lab, Coordinator, "c2", today)
	late.now = func() time.Time { return today.AddDate(0, 0, 2) }

	server := func(c *Credentials) *tls.Config { return c.ServerConfig(AllowRoles(Worker, Operator)) }
	client := func(c *Credentials) *tls.Config { return c.ClientConfig(AllowRoles(Coordinator, Worker)) }
	with := func(c *tls.Config, change func(*tls.Config)) *tls.Config { change(c); return c }
	for _, test := range []struct {
		name           string
		server, client *tls.Config
		by             string // who refuses
		want           error
	}{
		{"a worker and its coordinator", server(coordinator), client(worker), "", nil},
		{"two workers", server(worker), client(worker), "", nil},
		{"an operator", server(coordinator), client(operator), "", nil},
		{"a worker where only operators may", coordinator.ServerConfig(AllowRoles(Operator)), client(worker), "server", ErrRole},
		{"a coordinator that a worker wants to be", server(worker), worker.ClientConfig(AllowRoles(Coordinator)), "client", ErrRole},
		{"an operator that serves", server(operator), client(worker), "client", ErrUsage},
		{"a stranger as client", server(coordinator), client(stranger), "client", ErrAuthority},
		{"a stranger as client that trusts all", server(coordinator), with(client(stranger), func(c *tls.Config) { c.VerifyConnection = nil }), "server", ErrAuthority},
		{"a stranger as server", server(stranger), client(worker), "client", ErrAuthority},
		{"no certificate", server(coordinator), with(client(worker), func(c *tls.Config) { c.GetClientCertificate = nil }), "server", nil},
		{"a worker with a slow clock", server(coordinator), client(early), "client", ErrNotYetValid},
		{"a coordinator with a fast clock", server(late), client(worker), "server", ErrExpired},
		{"a coordinator with a fast clock, the worker's is right", server(coordinator), with(client(late), func(*tls.Config) {}), "client", ErrExpired},
		{"TLS 1.2 by the client", server(coordinator), with(client(worker), func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 }), "server", nil},
		{"TLS 1.2 by the server", with(server(coordinator), func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 }), client(worker), "client", nil},
	} {
		m := meet(t, test.server, test.client)
		refusal := map[string]error{"server": m.server, "client": m.client}[test.by]
		if m.ok() != (test.by == "") || test.by != "" && refusal == nil || test.want != nil && !errors.Is(refusal, test.want) {
			t.Errorf("%s: the server says %v, the client %v", test.name, m.server, m.client)
		}
		if test.by != "" && len(m.received) > 0 {
			t.Errorf("%s: the server received %q", test.name, m.received)
		}
	}
}

// The callback sees the whole identity, so that a ring can ask for one member.
func TestAllow(t *testing.T) {
	lab := authority(t, "lab")
	server := credentials(t, lab, Worker, "w1", today)
	not := errors.New("not the next rank")
	only := func(id Identity) error {
		if id != (Identity{"lab", Worker, "w2"}) {
			return not
		}
		return nil
	}
	for name, want := range map[string]error{"w2": nil, "w3": not} {
		m := meet(t, server.ServerConfig(only), credentials(t, lab, Worker, name, today).ClientConfig(AllowRoles(Worker)))
		if !errors.Is(m.server, want) || m.ok() != (want == nil) {
			t.Errorf("%s: %v, %v", name, m.server, m.client)
		}
	}
}

// A session that is resumed is checked as a new one: revocation and clock count.
func TestResumed(t *testing.T) {
	lab := authority(t, "lab")
	server, client := credentials(t, lab, Coordinator, "main", today), credentials(t, lab, Worker, "w1", today)
	server.SetRevoked(lab.Revoked)
	sc, cc := server.ServerConfig(AllowRoles(Worker)), client.ClientConfig(AllowRoles(Coordinator))
	cc.ServerName, cc.ClientSessionCache = "main", tls.NewLRUClientSessionCache(8)
	for i, resumed := range []bool{false, true} {
		if m := meet(t, sc, cc); !m.ok() || m.resumed != resumed {
			t.Fatalf("connection %d: %+v", i, m)
		}
	}
	if err := lab.RevokeIdentity(t.Context(), client.Identity(), today); err != nil {
		t.Fatal(err)
	}
	if m := meet(t, sc, cc); !errors.Is(m.server, ErrRevoked) || m.client == nil || len(m.received) > 0 {
		t.Errorf("revoked: %+v", m)
	}
}

// A revoked certificate is refused by name, by serial, and where the list is damaged.
func TestRevocation(t *testing.T) {
	lab := authority(t, "lab")
	server := credentials(t, lab, Coordinator, "main", today)
	server.SetRevoked(lab.Revoked)
	one, two, three := credentials(t, lab, Worker, "w1", today), credentials(t, lab, Worker, "w2", today), credentials(t, lab, Worker, "w3", today)
	try := func(c *Credentials) error {
		return meet(t, server.ServerConfig(AllowRoles(Worker)), c.ClientConfig(AllowRoles(Coordinator))).server
	}
	for range 2 { // the second time changes nothing
		if err := errors.Join(lab.RevokeIdentity(t.Context(), one.Identity(), today), lab.RevokeSerial(t.Context(), SerialOf(two.Certificate()), today)); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := lab.Revocations(); err != nil || len(r.Serials) != 1 || len(r.Identities) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, c := range []*Credentials{one, two} {
		if err := try(c); !errors.Is(err, ErrRevoked) || !strings.Contains(err.Error(), c.Identity().String()) {
			t.Errorf("%v: %v", c.Identity(), err)
		}
	}
	if err := try(three); err != nil {
		t.Errorf("not revoked: %v", err)
	}
	// A serial leaves the name: a new certificate counts. A revoked name gets none.
	if err := try(credentials(t, lab, Worker, "w2", today)); err != nil {
		t.Errorf("a new certificate: %v", err)
	}
	if _, err := lab.Issue(t.Context(), Request{Role: Worker, Name: "w1"}, today); !errors.Is(err, ErrRevoked) {
		t.Errorf("a new certificate of a revoked name: %v", err)
	}
	if err := lab.RevokeIdentity(t.Context(), Identity{"other", Worker, "w1"}, today); !errors.Is(err, ErrCluster) {
		t.Errorf("of another cluster: %v", err)
	}
	writeOver(t, lab.path(revokedFile), `{"format":1,"serials":[`)
	if err := try(three); !errors.Is(err, ErrFormat) {
		t.Errorf("with a damaged list: %v", err)
	}
}
