package dashboard

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// Names by which a request may call this machine.
func TestHere(t *testing.T) {
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "10.0.0.1": true, "localhost:9": true, "LOCALHOST": true, "a.localhost": true, own + ":80": true, strings.ToUpper(own): true,
		"evil.example:80": false, "localhost.evil.example": false, own + ".evil.example": false, "": false, "127.0.0.1.evil.example": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		if r.Host = host; here(r) != want {
			t.Errorf("%q: %t", host, !want)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if r.Host, r.TLS = "evil.example", new(tls.ConnectionState); !here(r) {
		t.Error("TLS asks for a name")
	}
}

// On loopback a secured coordinator asks for its key.
func TestKey(t *testing.T) {
	w := newWorld(8)
	source := w.source()
	source.Access = Access{Key: "a-key-of-the-test", KeyFile: "/var/lib/ergoflow/page.key"}
	s := serve(t, source, nil)
	const body = `{"worker": "host-0001"}`
	for name, c := range map[string]struct {
		headers []string
		status  int
		says    string
	}{
		"no key":    {nil, 403, "give the key that is in /var/lib/ergoflow/page.key"},
		"wrong key": {[]string{"Authorization", "Bearer wrong"}, 403, "the key is not that of /var/lib/ergoflow/page.key"},
		"basic":     {[]string{"Authorization", "Basic a-key-of-the-test"}, 403, "give the key"},
		"right key": {[]string{"Authorization", "Bearer a-key-of-the-test"}, 200, "leaves"},
	} {
		if status, text := s.post(t, "/api/drain", body, c.headers...); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if did := w.last(); did != "operator/local drains host-0001" {
		t.Errorf("did %q", did)
	}
	var first hello
	if err := json.Unmarshal([]byte(s.listen(t).await("hello").data), &first); err != nil || first.May || !first.TakesKey {
		t.Errorf("hello %+v, %v", first, err)
	}
}

// A certificate that no longer counts shows nothing, though the handshake took it once.
func TestCertificateNoLongerCounts(t *testing.T) {
	revoked := errors.New("it is revoked")
	for name, c := range map[string]struct {
		chain []*x509.Certificate
		check func(*x509.Certificate) error
	}{
		"none":    {nil, nil},
		"revoked": {[]*x509.Certificate{{NotAfter: time.Now().Add(time.Hour)}}, func(*x509.Certificate) error { return revoked }},
		"over":    {[]*x509.Certificate{{NotAfter: time.Now().Add(-time.Second)}}, nil},
		"foreign": {[]*x509.Certificate{{NotAfter: time.Now().Add(time.Hour)}}, nil},
	} {
		source := newWorld(1).source()
		source.Access.Check = c.check
		page := New(source)
		mux := http.NewServeMux()
		page.Register(mux)
		for _, path := range []string{"/api/events", "/api/state", "/api/me"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.TLS = &tls.ConnectionState{PeerCertificates: c.chain}
			w := httptest.NewRecorder()
			if mux.ServeHTTP(w, r); w.Code != http.StatusForbidden {
				t.Errorf("%s, %s: %d", name, path, w.Code)
			}
		}
	}
}
