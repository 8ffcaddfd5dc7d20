package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

var (
	// ErrNoRotation: no CA stands ready to take over.
	ErrNoRotation = errors.New("no rotation is under way")
	// ErrNotUsed: the new CA does not sign yet.
	ErrNotUsed = errors.New("the new CA does not sign yet")
	// ErrNotRenewed: certificates that count are from before the last step.
	ErrNotRenewed = errors.New("not renewed")
)

// Rotation is how far the CA's rotation has come.
//
//	CreateAuthority   ca.pem: old.        ca-key.pem: old.
//	BeginRotation     ca.pem: old, new.   ca-key.pem: old.   ca-next-key.pem: new.
//	UseNext           ca.pem: new, old.   ca-key.pem: old.   ca-next-key.pem: new.
//	FinishRotation    ca.pem: new.        ca-key.pem: new.
//
// Each step ends with the renaming of ca.pem. Before it the keys of both states are there, so
// a process that is killed leaves one of the two. Done again a step changes nothing.
type Rotation string

const (
	Resting Rotation = "none"
	Trusted Rotation = "trusted" // the new CA is in the bundle; the old one signs
	InUse   Rotation = "used"    // the new CA signs; the old one is in the bundle
)

func (h held) rotation() Rotation {
	switch {
	case len(h.bundle) == 1:
		return Resting
	case h.next != nil:
		return Trusted
	}
	return InUse
}

// Rotation is how far the CA's rotation has come.
func (a *Authority) Rotation(ctx context.Context) (at Rotation, err error) {
	err = a.locked(ctx, syscall.LOCK_SH, func() error {
		h, err := a.read()
		if err == nil {
			at = h.rotation()
		}
		return err
	})
	return at, err
}

// BeginRotation makes a new CA, which is trusted beside the old one. A process that
// renews its certificate from now on trusts both.
func (a *Authority) BeginRotation(ctx context.Context, now time.Time) error {
	return a.locked(ctx, syscall.LOCK_EX, func() error {
		h, err := a.read()
		if err != nil || h.rotation() != Resting {
			return err
		}
		key, err := obtainKey(a.path(nextKeyFile))
		if err != nil {
			return err
		}
		cert, err := makeCA(a.cluster, key, now)
		if err != nil {
			return err
		}
		return writeCertificates(a.path(bundleFile), h.signing(), cert)
	})
}

// UseNext lets the new CA sign. Unless it is forced it refuses while that would cut somebody
// off: an identity with a certificate that counts, and none since the new CA is trusted.
func (a *Authority) UseNext(ctx context.Context, now time.Time, force bool) error {
	return a.locked(ctx, syscall.LOCK_EX, func() error {
		h, err := a.read()
		if err != nil {
			return err
		}
		switch h.rotation() {
		case Resting:
			return ErrNoRotation
		case InUse:
			return nil
		}
		next := FingerprintOf(h.bundle[1])
		trusts := func(i Issued) bool { return slices.Contains(i.Trusted, next) }
		if err := a.checkRenewed(force, trusts, "is trusted", now); err != nil {
			return err
		}
		return writeCertificates(a.path(bundleFile), h.bundle[1], h.bundle[0])
	})
}

// FinishRotation removes the old CA. Unless it is forced it refuses while that would cut
// somebody off: an identity with a certificate that counts, and none by the new CA.
func (a *Authority) FinishRotation(ctx context.Context, now time.Time, force bool) error {
	return a.locked(ctx, syscall.LOCK_EX, func() error {
		h, err := a.read()
		if err != nil {
			return err
		}
		switch h.rotation() {
		case Resting:
			return nil
		case Trusted:
			return ErrNotUsed
		}
		signing := FingerprintOf(h.signing())
		signed := func(i Issued) bool { return i.Authority == signing }
		if err := a.checkRenewed(force, signed, "signs", now); err != nil {
			return err
		}
		// The old key ends here. After this the second key file is not needed: the first
		// certificate of ca.pem has its key in ca-key.pem.
		if err := writeKeys(a.path(keyFile), h.key); err != nil {
			return err
		}
		// It goes before ca.pem changes: a later rotation must not take it for a new key.
		if err := os.Remove(a.path(nextKeyFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := atomicfile.SyncDir(a.dir); err != nil {
			return err
		}
		return writeCertificates(a.path(bundleFile), h.signing())
	})
}

// checkRenewed is ErrNotRenewed while an identity with a certificate that counts has none that
// is renewed, which is since the new CA does what since says.
func (a *Authority) checkRenewed(force bool, renewed func(Issued) bool, since string, now time.Time) error {
	if force {
		return nil
	}
	issued, err := readIssued(a.dir)
	if err != nil {
		return err
	}
	revoked, err := readRevoked(a.dir)
	if err != nil {
		return err
	}
	left := notRenewed(issued, revoked, renewed, now)
	if len(left) == 0 {
		return nil
	}
	var names []string
	for _, id := range left[:min(len(left), 5)] {
		names = append(names, id.String())
	}
	if len(left) > len(names) {
		names = append(names, fmt.Sprintf("%d more", len(left)-len(names)))
	}
	return fmt.Errorf("%s: %w since the new CA %s", strings.Join(names, ", "), ErrNotRenewed, since)
}

// notRenewed lists the identities with certificates that count, of which none is renewed.
func notRenewed(issued []Issued, revoked Revocations, renewed func(Issued) bool, now time.Time) []Identity {
	known := make(map[Identity]bool)
	var all []Identity
	for _, i := range issued {
		if s := i.State(revoked, now); s == Revoked || s == Expired {
			continue
		}
		done, seen := known[i.Identity]
		if !seen {
			all = append(all, i.Identity)
		}
		known[i.Identity] = done || renewed(i)
	}
	return slices.DeleteFunc(all, func(id Identity) bool { return known[id] })
}
