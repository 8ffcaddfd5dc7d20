package trust

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrOther: new credentials are of another identity than those that they replace.
var ErrOther = errors.New("it is another identity")

// Files of a process, beside ca.pem.
const (
	certFile    = "cert.pem"
	privateFile = "key.pem"
)

// Credentials are what a process shows its peers, and by which it judges them. They can
// change while connections are made. Connections that exist keep what they began with.
type Credentials struct {
	dir     string // empty: in memory
	now     func() time.Time
	current atomic.Pointer[shown]
	revoked atomic.Pointer[func(*x509.Certificate) error]

	loading sync.Mutex // one Reload at a time
	stamp   stamp      // of the files that current is of
}

// shown is one consistent state of credentials.
type shown struct {
	identity Identity
	bundle   []*x509.Certificate
	signer   int // number of the CA in the bundle that signed the certificate
	pair     KeyPair
}

// NewCredentials are credentials in memory.
func NewCredentials(pair KeyPair, bundle []*x509.Certificate) (*Credentials, error) {
	c := &Credentials{now: time.Now}
	if err := c.Replace(pair, bundle); err != nil {
		return nil, err
	}
	return c, nil
}

// OpenCredentials reads the credentials of a directory. Certificates whose time is over, or
// has not come, are read: it is at connections that the time counts.
func OpenCredentials(dir string) (*Credentials, error) {
	c := &Credentials{dir: dir, now: time.Now}
	if _, err := c.Reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// Identity is who the process is.
func (c *Credentials) Identity() Identity { return c.current.Load().identity }

// Certificate is what the process shows now.
func (c *Credentials) Certificate() *x509.Certificate { return c.current.Load().pair.Certificate }

// Bundle is the certificates of the CAs that the process trusts now.
func (c *Credentials) Bundle() []*x509.Certificate { return c.current.Load().bundle }

// Pin is the fingerprint of the CA that signed the certificate: that of tokens for a
// coordinator with these credentials. While the CA is rotated, the authority's may be another.
func (c *Credentials) Pin() Fingerprint {
	s := c.current.Load()
	return FingerprintOf(s.bundle[s.signer])
}

// Trusts reports whether the process trusts these CAs and no others, with the same one first.
func (c *Credentials) Trusts(bundle []*x509.Certificate) bool {
	return slices.EqualFunc(c.Bundle(), bundle, (*x509.Certificate).Equal)
}

// Due reports whether to renew the certificate: two thirds of its life have passed, or
// another CA signs now, which is the first of the bundle.
func (c *Credentials) Due(now time.Time) bool {
	s := c.current.Load()
	return s.signer > 0 || !now.Before(DueAt(s.pair.Certificate))
}

// SetRevoked sets what refuses certificates that no longer count: Authority.Revoked, or
// Revocations.Check of a list that the process was sent. It must allow calls at once.
func (c *Credentials) SetRevoked(check func(*x509.Certificate) error) { c.revoked.Store(&check) }

// Replace changes certificate, key and CAs in one step. It changes nothing if they do not
// belong together.
func (c *Credentials) Replace(pair KeyPair, bundle []*x509.Certificate) error {
	next, err := checkPair(pair, bundle)
	if err != nil {
		return err
	}
	if before := c.current.Load(); before != nil && before.identity != next.identity {
		return fmt.Errorf("certificate of %v for the process %v: %w", next.identity, before.identity, ErrOther)
	}
	c.current.Store(next)
	return nil
}

// checkPair refuses certificate, key and CAs that do not belong together.
func checkPair(pair KeyPair, bundle []*x509.Certificate) (*shown, error) {
	id, err := IdentityOf(pair.Certificate)
	if err != nil {
		return nil, err
	}
	if !isKeyOf(pair.Key, pair.Certificate) {
		return nil, fmt.Errorf("the key is not that of the certificate of %v: %w", id, ErrFormat)
	}
	if len(bundle) == 0 || len(bundle) > maxCertificates {
		return nil, fmt.Errorf("%d authorities, not 1 to %d: %w", len(bundle), maxCertificates, ErrFormat)
	}
	if err := checkChain(pair.Certificate, bundle, x509.ExtKeyUsageAny, pair.Certificate.NotBefore); err != nil && !errors.Is(err, ErrNotYetValid) && !errors.Is(err, ErrExpired) {
		return nil, err
	}
	signer := slices.IndexFunc(bundle, func(ca *x509.Certificate) bool { return pair.Certificate.CheckSignatureFrom(ca) == nil })
	if signer < 0 {
		return nil, fmt.Errorf("certificate of %v: %w", id, ErrAuthority)
	}
	return &shown{id, bundle, signer, pair}, nil
}

// Reload reads the files of the directory again if one has changed. If they do not belong
// together, as while another program writes them, the credentials stay what they are.
func (c *Credentials) Reload() (changed bool, err error) {
	if c.dir == "" {
		return false, nil
	}
	c.loading.Lock()
	defer c.loading.Unlock()
	now, err := stampOf(c.path(bundleFile), c.path(certFile), c.path(privateFile)) // before reading: a later change is seen the next time
	if err != nil || c.stamp != nil && c.stamp.equal(now) {
		return false, err
	}
	pair, bundle, err := readCredentials(c.dir)
	if err != nil {
		return false, err
	}
	if err := c.Replace(pair, bundle); err != nil {
		return false, fmt.Errorf("%s: %w", c.dir, err)
	}
	c.stamp = now
	return true, nil
}

func (c *Credentials) path(name string) string { return filepath.Join(c.dir, name) }

// own is the certificate that the process shows. A wrong time is an error here, since the
// peer would only say "bad certificate".
func (c *Credentials) own() (*tls.Certificate, error) {
	return c.current.Load().own(c.now())
}

func (s *shown) own(now time.Time) (*tls.Certificate, error) {
	if err := checkTime(s.pair.Certificate, s.identity.String()+" (this process)", now); err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{s.pair.Certificate.Raw}, PrivateKey: s.pair.Key, Leaf: s.pair.Certificate}, nil
}

// peer checks the other side of a connection.
func (c *Credentials) peer(usage x509.ExtKeyUsage, allow func(Identity) error) func(tls.ConnectionState) error {
	return func(cs tls.ConnectionState) error {
		s := c.current.Load()
		check := checker{bundle: s.bundle, cluster: s.identity.Cluster, usage: usage, allow: allow}
		if revoked := c.revoked.Load(); revoked != nil {
			check.revoked = *revoked
		}
		_, err := check.check(cs.PeerCertificates, c.now())
		return err
	}
}
