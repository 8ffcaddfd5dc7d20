package trust

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Why a peer is refused, beside ErrIdentity, ErrKey, ErrExpired, ErrNotYetValid, ErrRevoked.
var (
	// ErrNoCertificate: the peer showed none.
	ErrNoCertificate = errors.New("the peer has no certificate")
	// ErrAuthority: no CA that is trusted signed the certificate.
	ErrAuthority = errors.New("no authority that this process trusts signed it")
	// ErrUsage: a certificate of a client is used by a server, or the reverse.
	ErrUsage = errors.New("it may not be used on this side of a connection")
	// ErrCluster: the certificate is of another cluster.
	ErrCluster = errors.New("wrong cluster")
	// ErrRole: the role may not do this.
	ErrRole = errors.New("wrong role")
)

// AllowRoles allows every identity that has one of the roles.
func AllowRoles(roles ...Role) func(Identity) error {
	return func(id Identity) error {
		if slices.Contains(roles, id.Role) {
			return nil
		}
		return fmt.Errorf("%v: %w: %s, where one of %v is needed", id, ErrRole, id.Role, roles)
	}
}

// checker decides about the certificate that a peer shows.
type checker struct {
	bundle  []*x509.Certificate
	cluster string                        // empty: any
	usage   x509.ExtKeyUsage              // of the peer's side
	revoked func(*x509.Certificate) error // nil: nothing is
	allow   func(Identity) error
}

// check accepts a peer's chain at a time, or says why not. Of the chain only the first
// certificate counts: all CAs that may have signed it are in the bundle. That the peer has
// the certificate's key is for TLS to check.
func (c checker) check(chain []*x509.Certificate, now time.Time) (Identity, error) {
	if len(chain) == 0 {
		return Identity{}, ErrNoCertificate
	}
	cert := chain[0]
	if err := checkKey(cert.PublicKey); err != nil {
		return Identity{}, fmt.Errorf("certificate of %s: %w", nameOf(cert), err)
	}
	if err := checkChain(cert, c.bundle, c.usage, now); err != nil {
		return Identity{}, err
	}
	id, err := IdentityOf(cert)
	if err != nil {
		return Identity{}, err
	}
	if c.cluster != "" && id.Cluster != c.cluster {
		return Identity{}, fmt.Errorf("%v: %w: this process is of cluster %s", id, ErrCluster, c.cluster)
	}
	if c.revoked != nil {
		if err := c.revoked(cert); err != nil {
			return Identity{}, err
		}
	}
	return id, c.allow(id)
}

// checkChain refuses a certificate that no CA of the bundle signed, or whose time is not now.
// An unknown CA comes before a wrong time: a stranger's clock does not matter.
func checkChain(cert *x509.Certificate, bundle []*x509.Certificate, usage x509.ExtKeyUsage, now time.Time) error {
	roots := x509.NewCertPool()
	for _, ca := range bundle {
		roots.AddCert(ca)
	}
	// Verify would name only one clock. So it looks at a time in the certificate's life, and
	// checkTime at the time now. The CA's life is checked at the time now unless the
	// certificate's own is the error.
	at := now
	if at.Before(cert.NotBefore) {
		at = cert.NotBefore
	} else if at.After(cert.NotAfter) {
		at = cert.NotAfter
	}
	_, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{usage}})
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case err == nil:
		return checkTime(cert, nameOf(cert), now)
	case errors.As(err, &unknown):
		return fmt.Errorf("certificate of %s: %w", nameOf(cert), ErrAuthority)
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return fmt.Errorf("certificate of %s: %w", nameOf(cert), ErrUsage)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		if err := checkTime(invalid.Cert, "the authority", at); err != nil {
			return err
		}
	}
	return fmt.Errorf("certificate of %s: %w: %w", nameOf(cert), ErrAuthority, err)
}

// nameOf names a certificate in an error: nobody has checked yet that the name is true. A
// text without an identity may have any characters, so it is quoted.
func nameOf(cert *x509.Certificate) string {
	if id, err := IdentityOf(cert); err == nil {
		return id.String()
	}
	return fmt.Sprintf("%.80q", cert.Subject)
}
