package trust

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrUnknown: the authority has no record of such a certificate.
var ErrUnknown = errors.New("the authority has no record of it")

// Issued lists the certificates that the authority signed, oldest first, without those that
// expired more than 90 days before the newest was signed.
func (a *Authority) Issued(ctx context.Context) (all []Issued, err error) {
	err = a.locked(ctx, syscall.LOCK_SH, func() error {
		all, err = readIssued(a.dir)
		return err
	})
	return all, err
}

// RevokeSerial makes one certificate worthless. Done again it changes nothing.
func (a *Authority) RevokeSerial(ctx context.Context, s Serial, now time.Time) error {
	return a.revoke(ctx, func(r *Revocations) { r.addSerial(s, now.UTC().Truncate(time.Second)) })
}

// RevokeIdentity makes all certificates of an identity worthless, also those of which the
// authority has no record. It signs no further ones: a name does not come back.
func (a *Authority) RevokeIdentity(ctx context.Context, id Identity, now time.Time) error {
	if err := id.Check(); err != nil {
		return err
	}
	if id.Cluster != a.cluster {
		return fmt.Errorf("%v: %w: this is the authority of cluster %s", id, ErrCluster, a.cluster)
	}
	return a.revoke(ctx, func(r *Revocations) { r.addIdentity(id, now.UTC().Truncate(time.Second)) })
}

// AddRevocations has the list say what another one of the same authority says.
func (a *Authority) AddRevocations(ctx context.Context, more Revocations) error {
	return a.revoke(ctx, func(r *Revocations) { r.add(more) })
}

func (a *Authority) revoke(ctx context.Context, add func(*Revocations)) error {
	return a.locked(ctx, syscall.LOCK_EX, func() error {
		r, err := readRevoked(a.dir)
		if err != nil {
			return err
		}
		before := r.Len()
		if add(&r); r.Len() == before {
			return nil
		}
		return writeRevoked(a.dir, r)
	})
}

// Revocations is what no longer counts.
func (a *Authority) Revocations() (Revocations, error) { return a.revoked.Read() }

// Revoked is ErrRevoked for a certificate that no longer counts, and for each where the list
// cannot be read.
func (a *Authority) Revoked(cert *x509.Certificate) error { return a.revoked.Check(cert) }

// Choose finds what a person means by a serial, ROLE/NAME, a name or an identity among
// certificates: one serial, or one identity. ROLE/NAME and identities need no record.
func Choose(issued []Issued, cluster, text string) (Serial, Identity, error) {
	if strings.HasPrefix(text, scheme) {
		id, err := ParseIdentity(text)
		return "", id, err
	}
	if strings.Contains(text, "/") {
		role, name, err := ParseSubject(text)
		return "", Identity{cluster, role, name}, err
	}
	if s, err := ParseSerial(text); err == nil && slices.ContainsFunc(issued, func(i Issued) bool { return i.Serial == s }) {
		return s, Identity{}, nil
	}
	var found []Identity
	for _, i := range issued {
		if i.Identity.Name == text && !slices.Contains(found, i.Identity) {
			found = append(found, i.Identity)
		}
	}
	switch len(found) {
	case 0:
		return "", Identity{}, fmt.Errorf("%.140q: %w", text, ErrUnknown)
	case 1:
		return "", found[0], nil
	}
	return "", Identity{}, fmt.Errorf("%w: %q may be %v or %v", ErrAmbiguous, text, found[0], found[1])
}

// ErrAmbiguous: a name belongs to several identities.
var ErrAmbiguous = errors.New("the name has several roles")
