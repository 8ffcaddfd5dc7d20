package trust

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseIdentity(t *testing.T) {
	for _, text := range []string{
		"ergoflow://lab/coordinator/main",
		"ergoflow://lab-2/worker/Node_7.example.org-7070-1a2b3c4d",
		"ergoflow://0/viewer/a..b",
		"ergoflow://" + strings.Repeat("c", maxCluster) + "/operator/" + strings.Repeat("N", maxName),
	} {
		id, err := ParseIdentity(text)
		if err != nil || id.String() != text {
			t.Errorf("%s: %v, %v", text, id, err)
		}
		if in, err := IdentityOf(&x509.Certificate{URIs: []*url.URL{id.uri()}}); err != nil || in != id {
			t.Errorf("%s in a certificate: %v, %v", text, in, err)
		}
		var decoded Identity
		if encoded, err := json.Marshal(id); err != nil || json.Unmarshal(encoded, &decoded) != nil || decoded != id {
			t.Errorf("%s in JSON: %s, %v, %v", text, encoded, decoded, err)
		}
	}
	for _, text := range []string{
		"", "ergoflow://", "ergoflow:///worker/a", "ergoflow://lab/worker/", "ergoflow://lab//a", "ergoflow://lab/worker",
		"spiffe://lab/worker/a", "ERGOFLOW://lab/worker/a", " ergoflow://lab/worker/a", "ergoflow://lab/worker/a\n",
		"ergoflow://Lab/worker/a", "ergoflow://lab:1/worker/a", "ergoflow://u@lab/worker/a", "ergoflow://lab.x/worker/a", "ergoflow://-lab/worker/a",
		"ergoflow://lab/Worker/a", "ergoflow://lab/admin/a", "ergoflow://lab/worker/a/", "ergoflow://lab/worker/a/b",
		"ergoflow://lab/worker/..", "ergoflow://lab/worker/.", "ergoflow://lab/worker/.ssh", "ergoflow://lab/worker/..%2fetc", "ergoflow://lab/worker/a%2fb",
		"ergoflow://lab/worker/a\\b", "ergoflow://lab/worker/a\x00", "ergoflow://lab/worker/ä", "ergoflow://lab/worker/a?x", "ergoflow://lab/worker/a#x",
		"ergoflow://" + strings.Repeat("c", maxCluster+1) + "/worker/a", "ergoflow://lab/worker/" + strings.Repeat("n", maxName+1),
		"ergoflow://lab/worker/" + strings.Repeat("/", 1<<20),
	} {
		if id, err := ParseIdentity(text); !errors.Is(err, ErrIdentity) || len(err.Error()) > 1000 {
			t.Errorf("%.80q: %v, %.200v", text, id, err)
		}
	}
}

// A certificate has exactly one URI, and what url.Parse normalises is not an identity.
func TestIdentityOf(t *testing.T) {
	parse := func(texts ...string) *x509.Certificate {
		cert := new(x509.Certificate)
		for _, text := range texts {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			cert.URIs = append(cert.URIs, u)
		}
		return cert
	}
	for _, cert := range []*x509.Certificate{
		parse(), parse("ergoflow://lab/worker/a", "ergoflow://lab/worker/a"), parse("ergoflow://lab/worker/a", "https://example.org"),
		parse("ergoflow://lab/worker/a%62"), parse("ergoflow://lab/worker/a%2fb"), parse("ergoflow://lab/worker/a?"), parse("ergoflow://lab/worker/../operator/a"),
	} {
		if id, err := IdentityOf(cert); !errors.Is(err, ErrIdentity) {
			t.Errorf("%v: %v, %v", cert.URIs, id, err)
		}
	}
}

func FuzzIdentity(f *testing.F) {
	for _, text := range []string{"ergoflow://lab/worker/a", "ergoflow://lab/operator/../x", "ergoflow://a/viewer/%41", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseIdentity(text)
		if err != nil {
			if !errors.Is(err, ErrIdentity) {
				t.Errorf("%v", err)
			}
			return
		}
		if id.String() != text || filepath.Base(filepath.Join("/a", id.Name)) != id.Name || id.uri().String() != text {
			t.Errorf("%q is %+v", text, id)
		}
	})
}
