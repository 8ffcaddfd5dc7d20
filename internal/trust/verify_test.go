package trust

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Every certificate that must not be accepted, and what is said of it.
func TestBadCertificates(t *testing.T) {
	lab, foreign, other := authority(t, "lab"), authority(t, "lab"), authority(t, "other")
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	weakKey, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := func(text string) *url.URL { u, _ := url.Parse(text); return u }
	uris := func(texts ...string) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			c.URIs = nil
			for _, text := range texts {
				c.URIs = append(c.URIs, of(text))
			}
		}
	}
	keep := func(*x509.Certificate) {}
	selfSigned := func() *x509.Certificate {
		key, err := newKey()
		if err != nil {
			t.Fatal(err)
		}
		template := leaf(Request{Role: Worker, Life: time.Hour}, Identity{"lab", Worker, "w1"}, bundle(t, lab)[0], today)
		cert, err := signed(template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	// A leaf that signs: its own certificate says that it may not.
	byLeaf := func() *x509.Certificate {
		parent := issue(t, lab, Worker, "w9", today)
		key, err := newKey()
		if err != nil {
			t.Fatal(err)
		}
		cert, err := signed(leaf(Request{Role: Operator, Life: time.Hour}, Identity{"lab", Operator, "me"}, parent.Certificate, today), parent.Certificate, key.Public(), parent.Key)
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	const client, server = x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth
	day := 24 * time.Hour
	for _, test := range []struct {
		name  string
		cert  *x509.Certificate
		usage x509.ExtKeyUsage
		now   time.Time
		want  error // nil: accepted
		says  string
	}{
		{"a worker as client", issue(t, lab, Worker, "w1", today).Certificate, client, today, nil, ""},
		{"a worker as server", issue(t, lab, Worker, "w1", today).Certificate, server, today, nil, ""},
		{"Ed25519", forge(t, lab, edKey, keep).Certificate, client, today, nil, ""},
		{"at the end of its life", issue(t, lab, Worker, "w1", today).Certificate, client, today.Add(day), nil, ""},
		{"of a clock that is 4 minutes ahead", issue(t, lab, Worker, "w1", today.Add(4*time.Minute)).Certificate, client, today, nil, ""},

		{"another authority of the same name", issue(t, foreign, Worker, "w1", today).Certificate, client, today, ErrAuthority, "ergoflow://lab/worker/w1"},
		{"another authority, expired too", issue(t, foreign, Worker, "w1", today).Certificate, client, today.Add(2 * day), ErrAuthority, ""},
		{"self-signed with the right URI", selfSigned(), client, today, ErrAuthority, ""},
		{"signed by a leaf", byLeaf(), client, today, ErrAuthority, ""},
		{"another cluster's authority", issue(t, other, Worker, "w1", today).Certificate, client, today, ErrAuthority, "ergoflow://other"},
		{"another cluster", forge(t, lab, nil, uris("ergoflow://other/worker/w1")).Certificate, client, today, ErrCluster, "cluster lab"},
		{"a viewer", issue(t, lab, Viewer, "v1", today).Certificate, client, today, ErrRole, "viewer"},
		{"two URIs", forge(t, lab, nil, uris("ergoflow://lab/worker/w1", "ergoflow://lab/operator/w1")).Certificate, client, today, ErrIdentity, "2 URIs"},
		{"no URI", forge(t, lab, nil, uris()).Certificate, client, today, ErrIdentity, "0 URIs"},
		{"a foreign URI", forge(t, lab, nil, uris("spiffe://lab/worker/w1")).Certificate, client, today, ErrIdentity, ""},
		{"an escaped URI", forge(t, lab, nil, uris("ergoflow://lab/worker/%2e%2e")).Certificate, client, today, ErrIdentity, ""},
		{"the name in the subject alone", forge(t, lab, nil, func(c *x509.Certificate) { c.URIs, c.Subject.CommonName = nil, "ergoflow://lab/worker/w1" }).Certificate, client, today, ErrIdentity, ""},
		{"an operator as server", issue(t, lab, Operator, "o1", today).Certificate, server, today, ErrUsage, "ergoflow://lab/operator/o1"},
		{"a server as client", forge(t, lab, nil, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{server} }).Certificate, client, today, ErrUsage, ""},
		{"without any usage of TLS", forge(t, lab, nil, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning} }).Certificate, client, today, ErrUsage, ""},
		{"expired", issue(t, lab, Worker, "w1", today).Certificate, client, today.Add(day + time.Second), ErrExpired, "2026-11-26 12:00:01 UTC"},
		{"not valid yet", issue(t, lab, Worker, "w1", today).Certificate, client, today.Add(-day), ErrNotYetValid, "2026-11-24 12:00:00 UTC"},
		{"RSA", forge(t, lab, rsaKey, keep).Certificate, client, today, ErrKey, "ergoflow://lab/worker/w1"},
		{"P-224", forge(t, lab, weakKey, keep).Certificate, client, today, ErrKey, ""},
		{"the authority's own", bundle(t, lab)[0], client, today, ErrIdentity, ""},
		{"an unknown critical extension", forge(t, lab, nil, func(c *x509.Certificate) {
			c.ExtraExtensions = append(c.ExtraExtensions, criticalExtension)
		}).Certificate, client, today, ErrAuthority, "critical"},
	} {
		check := checker{bundle: bundle(t, lab), cluster: "lab", usage: test.usage, allow: AllowRoles(Worker, Operator)}
		_, err := check.check([]*x509.Certificate{test.cert}, test.now)
		if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v; want %v with %q", test.name, err, test.want, test.says)
		}
	}
	check := checker{bundle: bundle(t, lab), cluster: "lab", usage: client, allow: AllowRoles(Worker)}
	if _, err := check.check(nil, today); !errors.Is(err, ErrNoCertificate) {
		t.Errorf("no certificate: %v", err)
	}
	// A CA among what the peer shows does not become trusted.
	pair := issue(t, foreign, Worker, "w1", today)
	if _, err := check.check([]*x509.Certificate{pair.Certificate, bundle(t, foreign)[0]}, today); !errors.Is(err, ErrAuthority) {
		t.Errorf("a chain with its own CA: %v", err)
	}
	// The authority's life ends too.
	if _, err := check.check([]*x509.Certificate{forge(t, lab, nil, func(c *x509.Certificate) { c.NotAfter = today.AddDate(20, 0, 0) }).Certificate}, today.AddDate(11, 0, 0)); !errors.Is(err, ErrExpired) || !strings.Contains(err.Error(), "the authority") {
		t.Errorf("an authority that has expired: %v", err)
	}
}

func TestDueAt(t *testing.T) {
	a := authority(t, "lab")
	for _, life := range []time.Duration{minLife, time.Minute, time.Hour, DefaultLife} {
		pair, err := a.Issue(t.Context(), Request{Role: Worker, Name: "w1", Life: life}, today)
		if err != nil {
			t.Fatal(err)
		}
		c := holding(t, pair, bundle(t, a), today)
		if at := DueAt(pair.Certificate); c.Due(at.Add(-time.Second)) || !c.Due(at) {
			t.Errorf("a life of %v is not due at %v", life, at)
		}
		if in := DueAt(pair.Certificate).Sub(today); in < life/2 || in > life*7/10 {
			t.Errorf("a life of %v is due after %v", life, in)
		}
	}
}
