package trust

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
)

var criticalExtension = pkix.Extension{Id: asn1.ObjectIdentifier{1, 2, 3, 4}, Critical: true, Value: []byte{5, 0}}

func TestSign(t *testing.T) {
	a := authority(t, "lab")
	csr, key, err := NewRequest(Identity{"lab", Worker, "w1"})
	if err != nil {
		t.Fatal(err)
	}
	cert, err := a.Sign(t.Context(), csr, Request{Role: Worker, Name: "w1", DNS: []string{"w1.example.org"}, IPs: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::1")}}, today)
	if err != nil {
		t.Fatal(err)
	}
	if !isKeyOf(key, cert) {
		t.Error("the certificate has another key")
	}
	if begin, end := cert.NotBefore, cert.NotAfter; !begin.Equal(today.Add(-5*time.Minute)) || !end.Equal(today.Add(30*24*time.Hour)) {
		t.Errorf("valid from %v to %v", begin, end)
	}
	if cert.IsCA || cert.KeyUsage != x509.KeyUsageDigitalSignature || cert.DNSNames[0] != "w1.example.org" || len(cert.IPAddresses) != 2 || cert.Subject.CommonName != "" {
		t.Errorf("%+v", cert)
	}
	if ca := bundle(t, a)[0]; !ca.IsCA || ca.MaxPathLen != 0 || !ca.MaxPathLenZero || !ca.NotAfter.Equal(today.AddDate(10, 0, 0)) {
		t.Errorf("the authority: %+v", ca)
	}
	if n := cert.SerialNumber.BitLen(); n > 128 || n < 64 {
		t.Errorf("a serial of %d bits", n)
	}
	all, err := a.Issued(t.Context())
	if err != nil || len(all) != 1 || all[0].Serial != SerialOf(cert) || all[0].Identity.Name != "w1" || !all[0].Expires.Equal(cert.NotAfter) {
		t.Errorf("recorded: %+v, %v", all, err)
	}
}

// What an authority refuses to sign leaves no record.
func TestSignRefuses(t *testing.T) {
	a := authority(t, "lab")
	request := func(change func(*x509.CertificateRequest)) []byte {
		key, err := newKey()
		if err != nil {
			t.Fatal(err)
		}
		r := new(x509.CertificateRequest)
		change(r)
		der, err := x509.CreateCertificateRequest(rand.Reader, r, key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: pemRequest, Bytes: der})
	}
	uri := func(text string) func(*x509.CertificateRequest) {
		return func(r *x509.CertificateRequest) { u, _ := url.Parse(text); r.URIs = append(r.URIs, u) }
	}
	good := request(uri("ergoflow://lab/worker/w1"))
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, new(x509.CertificateRequest), rsaKey)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(good)
	stolen := bytes.Clone(block.Bytes)
	stolen[len(stolen)-1] ^= 1 // its signature is wrong: the one who asks does not have the key
	w1 := Request{Role: Worker, Name: "w1"}
	ok, _ := requestOf(t, "lab", Worker, "w1")
	for name, test := range map[string]struct {
		csr  []byte
		r    Request
		want error
	}{
		"another's name":  {request(uri("ergoflow://lab/worker/w2")), w1, ErrRequest},
		"another role":    {request(uri("ergoflow://lab/operator/w1")), w1, ErrRequest},
		"another cluster": {request(uri("ergoflow://other/worker/w1")), w1, ErrRequest},
		"its own and another": {request(func(r *x509.CertificateRequest) {
			uri("ergoflow://lab/worker/w1")(r)
			uri("ergoflow://lab/operator/w1")(r)
		}), w1, ErrRequest},
		"a key it lacks":  {pem.EncodeToMemory(&pem.Block{Type: pemRequest, Bytes: stolen}), w1, ErrRequest},
		"RSA":             {pem.EncodeToMemory(&pem.Block{Type: pemRequest, Bytes: der}), w1, ErrKey},
		"nothing":         {nil, w1, ErrRequest},
		"a certificate":   {EncodeCertificates(bundle(t, a)...), w1, ErrFormat},
		"two requests":    {append(bytes.Clone(good), good...), w1, ErrFormat},
		"too long":        {append(bytes.Clone(good), bytes.Repeat([]byte{' '}, maxRequest)...), w1, ErrRequest},
		"a path as name":  {ok, Request{Role: Worker, Name: "../w1"}, ErrRequest},
		"no role":         {request(func(*x509.CertificateRequest) {}), Request{Name: "w1"}, ErrIdentity},
		"a short life":    {ok, Request{Role: Worker, Name: "w1", Life: time.Second}, ErrRequest},
		"a negative life": {ok, Request{Role: Worker, Name: "w1", Life: -time.Hour}, ErrRequest},
		"a long life":     {ok, Request{Role: Worker, Name: "w1", Life: 20 * 365 * 24 * time.Hour}, ErrRequest},
		"a wrong host":    {ok, Request{Role: Worker, Name: "w1", DNS: []string{"a b"}}, ErrRequest},
		"a long host":     {ok, Request{Role: Worker, Name: "w1", DNS: []string{strings.Repeat("a.", 200) + "a"}}, ErrRequest},
		"no address":      {ok, Request{Role: Worker, Name: "w1", IPs: []netip.Addr{{}}}, ErrRequest},
		"many hosts":      {ok, Request{Role: Worker, Name: "w1", DNS: strings.Fields(strings.Repeat("a ", 17))}, ErrRequest},
	} {
		if cert, err := a.Sign(t.Context(), test.csr, test.r, today); !errors.Is(err, test.want) || cert != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := a.Issue(t.Context(), w1, today.AddDate(-1, 0, 0)); !errors.Is(err, ErrNotYetValid) {
		t.Errorf("before the authority: %v", err)
	}
	if _, err := a.Issue(t.Context(), w1, today.AddDate(11, 0, 0)); !errors.Is(err, ErrExpired) {
		t.Errorf("after the authority: %v", err)
	}
	if all, err := a.Issued(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("recorded: %+v, %v", all, err)
	}
	// Near its end the authority signs for the time that is left.
	pair, err := a.Issue(t.Context(), w1, today.AddDate(10, 0, -1))
	if err != nil || !pair.Certificate.NotAfter.Equal(today.AddDate(10, 0, 0)) {
		t.Errorf("at its end: %v", err)
	}
}

// requestOf is NewRequest of an identity.
func requestOf(t testing.TB, cluster string, role Role, name string) ([]byte, Identity) {
	t.Helper()
	id := Identity{cluster, role, name}
	csr, _, err := NewRequest(id)
	if err != nil {
		t.Fatal(err)
	}
	return csr, id
}

func FuzzRequest(f *testing.F) {
	csr, id := requestOf(f, "lab", Worker, "w1")
	f.Add(csr)
	f.Add(EncodeCertificates(bundle(f, authority(f, "lab"))...))
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		public, err := parseRequest(text, id)
		switch {
		case err != nil && !errors.Is(err, ErrRequest):
			t.Errorf("%v", err)
		case err == nil && checkKey(public) != nil:
			t.Errorf("a key of type %T", public)
		}
	})
}

// Old records go, and records of certificates that count stay.
func TestRecordsOfLongAgo(t *testing.T) {
	a := authority(t, "lab")
	issue(t, a, Worker, "old", today)
	issue(t, a, Worker, "new", today.Add(keepExpired))
	if all, err := a.Issued(context.Background()); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	issue(t, a, Worker, "newest", today.Add(keepExpired+25*time.Hour))
	if all, err := a.Issued(context.Background()); err != nil || len(all) != 2 || all[0].Identity.Name != "new" {
		t.Errorf("%+v, %v", all, err)
	}
}
