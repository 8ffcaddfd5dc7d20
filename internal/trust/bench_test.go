package trust

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"
)

// A handshake over a pipe, both sides of it.
func BenchmarkHandshake(b *testing.B) {
	a := authority(b, "lab")
	revoked := Revocations{Serials: make([]RevokedSerial, 1000)}
	server, client := credentials(b, a, Coordinator, "main", today), credentials(b, a, Worker, "w1", today)
	for _, c := range []*Credentials{server, client} {
		c.SetRevoked(revoked.Check)
	}
	sc, cc := server.ServerConfig(AllowRoles(Worker)), client.ClientConfig(AllowRoles(Coordinator))
	sc.SessionTicketsDisabled = true // nobody reads them here
	for b.Loop() {
		one, two := net.Pipe()
		done := make(chan error, 1)
		go func() { done <- tls.Server(one, sc).Handshake() }()
		if err := tls.Client(two, cc).Handshake(); err != nil {
			b.Fatal(err)
		}
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}

// Signing where 10,000 certificates are on record.
func BenchmarkSign(b *testing.B) {
	a := authority(b, "lab")
	first := issue(b, a, Worker, "w1", today)
	all := make([]Issued, 10_000)
	for i := range all {
		all[i] = issuedOf(first.Certificate, Identity{"lab", Worker, "w1"}, bundle(b, a))
	}
	if err := writeIssued(a.dir, all, today); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := a.Issue(b.Context(), Request{Role: Worker, Name: "w2", Life: time.Hour}, today); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkClients reports the time to judge a client's certificate.
func BenchmarkClients(b *testing.B) {
	lab := authority(b, "lab")
	c, err := OpenClients(lab.dir)
	if err != nil {
		b.Fatal(err)
	}
	c.now = func() time.Time { return today }
	connection := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{issue(b, lab, Viewer, "ada", today).Certificate}}
	for b.Loop() {
		if _, err := c.Check(connection, AllowRoles(Viewer)); err != nil {
			b.Fatal(err)
		}
	}
}
