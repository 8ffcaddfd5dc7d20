// Package trusttest makes authorities and credentials for tests.
package trusttest

import (
	"crypto/x509"
	"path/filepath"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/internal/trust"
)

// Authority makes the authority of a cluster.
func Authority(t testing.TB, cluster string) *trust.Authority {
	t.Helper()
	a, err := trust.CreateAuthority(t.Context(), filepath.Join(t.TempDir(), "ca"), cluster, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Bundle is the certificates of the CAs that an authority trusts.
func Bundle(t testing.TB, a *trust.Authority) []*x509.Certificate {
	t.Helper()
	all, err := a.Bundle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Issue makes a key and its certificate of an hour.
func Issue(t testing.TB, a *trust.Authority, role trust.Role, name string) trust.KeyPair {
	t.Helper()
	pair, err := a.Issue(t.Context(), trust.Request{Role: role, Name: name, Life: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// Credentials are those of a new certificate of an hour, in memory.
func Credentials(t testing.TB, a *trust.Authority, role trust.Role, name string) *trust.Credentials {
	t.Helper()
	c, err := trust.NewCredentials(Issue(t, a, role, name), Bundle(t, a))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
