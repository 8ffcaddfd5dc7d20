package trust

import (
	"context"
	"crypto"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be a process that a test kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(os.Getenv(childMode), dir); err != nil {
			panic(err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// today is when the tests happen. Real time would make certificates of fixed files expire.
var today = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func authority(t testing.TB, cluster string) *Authority {
	t.Helper()
	a, err := CreateAuthority(context.Background(), filepath.Join(t.TempDir(), "ca"), cluster, today)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func bundle(t testing.TB, a *Authority) []*x509.Certificate {
	t.Helper()
	all, err := a.Bundle(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// issue makes a certificate, and key, of a day.
func issue(t testing.TB, a *Authority, role Role, name string, now time.Time) KeyPair {
	t.Helper()
	pair, err := a.Issue(context.Background(), Request{Role: role, Name: name, Life: 24 * time.Hour}, now)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// credentials are those of a new certificate, at a time that does not pass.
func credentials(t testing.TB, a *Authority, role Role, name string, now time.Time) *Credentials {
	t.Helper()
	return holding(t, issue(t, a, role, name, now), bundle(t, a), now)
}

func holding(t testing.TB, pair KeyPair, bundle []*x509.Certificate, now time.Time) *Credentials {
	t.Helper()
	c, err := NewCredentials(pair, bundle)
	if err != nil {
		t.Fatal(err)
	}
	c.now = func() time.Time { return now }
	return c
}

// forge signs a certificate that Issue would not make: change alters the one of a worker.
func forge(t testing.TB, a *Authority, key crypto.Signer, change func(*x509.Certificate)) KeyPair {
	t.Helper()
	h, err := a.read()
	if err != nil {
		t.Fatal(err)
	}
	if key == nil {
		if key, err = newKey(); err != nil {
			t.Fatal(err)
		}
	}
	r := Request{Role: Worker, Name: "w1", Life: 24 * time.Hour}
	template := leaf(r, r.identity(a.cluster), h.signing(), today)
	change(template)
	cert, err := signed(template, h.signing(), key.Public(), h.key)
	if err != nil {
		t.Fatal(err)
	}
	return KeyPair{cert, key}
}
