package trust

import (
	"crypto/x509"
	"path/filepath"
	"slices"
	"sync"
)

// A RevocationList is the file of what no longer counts, as an authority writes it. It reads
// the file only after a change, since every handshake looks at it.
type RevocationList struct {
	path string

	mu    sync.Mutex
	stamp stamp
	last  Revocations
}

// RevocationsIn is the list in the directory of an authority, or in that of credentials beside
// which somebody has put it.
func RevocationsIn(dir string) *RevocationList {
	return &RevocationList{path: filepath.Join(dir, revokedFile)}
}

// Read returns what no longer counts. A file that is missing is an error.
func (l *RevocationList) Read() (Revocations, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, err := stampOf(l.path) // before reading: a later change is seen the next time
	if err != nil {
		return Revocations{}, err
	}
	if l.stamp != nil && l.stamp.equal(now) {
		return l.last, nil
	}
	list, err := readRevoked(filepath.Dir(l.path))
	if err != nil {
		return Revocations{}, err
	}
	l.stamp, l.last = now, list
	return list, nil
}

// Check is ErrRevoked for a certificate that no longer counts. Where the list cannot be read
// it is that error, so no certificate counts.
func (l *RevocationList) Check(cert *x509.Certificate) error {
	r, err := l.Read()
	if err != nil {
		return err
	}
	return r.Check(cert)
}

// Add writes into the list what it lacks of another one. An authority's own list is its own to
// write (Authority.AddRevocations).
func (l *RevocationList) Add(more Revocations) error {
	r, err := l.Read()
	if err != nil || more.Without(r, 1).Len() == 0 {
		return err
	}
	r.Serials, r.Identities = slices.Clone(r.Serials), slices.Clone(r.Identities)
	r.add(more)
	return writeRevoked(filepath.Dir(l.path), r)
}

// SaveRevocations writes the list beside the credentials of a coordinator, whose authority is
// elsewhere.
func SaveRevocations(dir string, r Revocations) error { return writeRevoked(dir, r) }
