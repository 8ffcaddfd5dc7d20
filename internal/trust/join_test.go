package trust

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"
	"time"
)

// At join the client knows only the hash of the CA's key. A server that is not a coordinator
// of this CA receives nothing: neither the secret nor any other byte.
func TestJoin(t *testing.T) {
	lab, foreign := authority(t, "lab"), authority(t, "lab")
	pin, err := lab.Fingerprint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	main := credentials(t, lab, Coordinator, "main", today)
	client := func(now time.Time) *tls.Config { return joinConfig(pin, func() time.Time { return now }) }
	if m := meet(t, main.JoinServerConfig(), client(today)); !m.ok() || !bytes.Equal(m.received, []byte("hello")) {
		t.Fatalf("the coordinator: %+v", m)
	}

	// What a man in the middle can show: the CA's certificate is public.
	show := func(pair KeyPair, chain ...*x509.Certificate) *tls.Config {
		cert := tls.Certificate{PrivateKey: pair.Key}
		for _, c := range chain {
			cert.Certificate = append(cert.Certificate, c.Raw)
		}
		return &tls.Config{Certificates: []tls.Certificate{cert}}
	}
	ca, fake := bundle(t, lab)[0], bundle(t, foreign)[0]
	mine := issue(t, foreign, Coordinator, "main", today)
	worker, stranger := issue(t, lab, Worker, "w1", today), issue(t, foreign, Coordinator, "main", today)
	operator := issue(t, lab, Operator, "o1", today)
	// A CA of the same name and the pinned certificate beside it.
	for name, test := range map[string]struct {
		server *tls.Config
		want   error
	}{
		"another CA":                       {show(mine, mine.Certificate, fake), ErrPin},
		"another CA, and the pinned one":   {show(mine, mine.Certificate, fake, ca), ErrAuthority},
		"a leaf alone":                     {show(mine, mine.Certificate), ErrPin},
		"the coordinator's leaf alone":     {show(main.current.Load().pair, main.Certificate()), ErrPin},
		"the CA's certificate as the leaf": {show(mine, ca, ca), nil}, // it lacks the key
		"the coordinator's, without a key": {show(mine, main.Certificate(), ca), nil},
		"a worker's":                       {show(worker, worker.Certificate, ca), ErrRole},
		"an operator's":                    {show(operator, operator.Certificate, ca), ErrUsage},
		"self-signed with the pin's name":  {show(stranger, stranger.Certificate, ca), ErrAuthority},
		"the coordinator's over TLS 1.2": {func() *tls.Config {
			c := main.JoinServerConfig()
			c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
			return c
		}(), nil},
		"a leaf of the CA that may not sign": {func() *tls.Config {
			cert, err := signed(leaf(Request{Role: Coordinator, Life: time.Hour}, Identity{"lab", Coordinator, "main"}, worker.Certificate, today), worker.Certificate, mine.Key.Public(), worker.Key)
			if err != nil {
				t.Fatal(err)
			}
			return show(KeyPair{cert, mine.Key}, cert, worker.Certificate, ca)
		}(), ErrAuthority},
	} {
		m := meet(t, test.server, client(today))
		if m.client == nil || test.want != nil && !errors.Is(m.client, test.want) {
			t.Errorf("%s: %v, want %v", name, m.client, test.want)
		}
		if len(m.received) > 0 {
			t.Errorf("%s: the server received %q", name, m.received)
		}
	}
	for now, want := range map[time.Time]error{today.AddDate(0, 0, -2): ErrNotYetValid, today.AddDate(0, 0, 2): ErrExpired} {
		if m := meet(t, main.JoinServerConfig(), client(now)); !errors.Is(m.client, want) || len(m.received) > 0 {
			t.Errorf("at %v: %v", now, m.client)
		}
	}
	if JoinConfig(pin).VerifyConnection(tls.ConnectionState{}) == nil {
		t.Error("a server without a certificate is accepted")
	}
}

// The pin is of the key: a CA's certificate that was issued again counts.
func TestJoinReissued(t *testing.T) {
	lab := authority(t, "lab")
	pin, err := lab.Fingerprint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h, err := lab.read()
	if err != nil {
		t.Fatal(err)
	}
	again, err := makeCA("lab", h.key, today.AddDate(1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	writeOver(t, lab.path(bundleFile), string(EncodeCertificates(again)))
	now := today.AddDate(1, 0, 0)
	main := credentials(t, lab, Coordinator, "main", now)
	if m := meet(t, main.JoinServerConfig(), joinConfig(pin, func() time.Time { return now })); !m.ok() {
		t.Errorf("%+v", m)
	}
}
