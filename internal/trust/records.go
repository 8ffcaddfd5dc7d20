package trust

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// ErrRevoked: a certificate, or all certificates of an identity, no longer count.
var ErrRevoked = errors.New("revoked")

const (
	// maxRecords bounds the files of records, in bytes: about 150,000 certificates.
	maxRecords = 64 << 20
	// keepExpired is how long the record of a certificate outlives it, for those who look
	// for what happened.
	keepExpired = 90 * 24 * time.Hour
	format      = 1
)

// Serial is a certificate's serial number: hexadecimal, at least 32 digits.
type Serial string

// SerialOf is the serial of a certificate.
func SerialOf(cert *x509.Certificate) Serial { return serialOf(cert.SerialNumber) }

func serialOf(n *big.Int) Serial { return Serial(fmt.Sprintf("%032x", n)) }

// ParseSerial reads a serial as openssl prints it too: without leading zeros, in capitals.
func ParseSerial(text string) (Serial, error) {
	const limit = 40 // digits: RFC 5280 has at most 20 bytes
	n, ok := new(big.Int), false
	if len(text) <= limit && !strings.ContainsAny(text, "+-_") {
		n, ok = n.SetString(text, 16)
	}
	if !ok {
		return "", fmt.Errorf("serial %.48q is not 1 to %d hexadecimal digits: %w", text, limit, ErrFormat)
	}
	return serialOf(n), nil
}

// MarshalText is the serial's text.
func (s Serial) MarshalText() ([]byte, error) { return []byte(s), nil }

// UnmarshalText is ParseSerial.
func (s *Serial) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSerial(string(text))
	return err
}

// Issued is the record of a certificate that an authority signed.
type Issued struct {
	Serial      Serial      `json:"serial"`
	Identity    Identity    `json:"identity"`
	NotBefore   time.Time   `json:"not_before"`
	Expires     time.Time   `json:"expires"`
	Fingerprint string      `json:"fingerprint"` // SHA-256 of the certificate, as openssl's, lower-case without colons
	Authority   Fingerprint `json:"authority"`   // that signed it
	// Trusted are the CAs of the bundle when it was signed: who has the certificate has them.
	Trusted []Fingerprint `json:"trusted,omitempty"`
}

func issuedOf(cert *x509.Certificate, id Identity, bundle []*x509.Certificate) Issued {
	sum := sha256.Sum256(cert.Raw)
	i := Issued{Serial: SerialOf(cert), Identity: id, NotBefore: cert.NotBefore, Expires: cert.NotAfter,
		Fingerprint: hex.EncodeToString(sum[:]), Authority: FingerprintOf(bundle[0])}
	for _, ca := range bundle {
		i.Trusted = append(i.Trusted, FingerprintOf(ca))
	}
	return i
}

// State is what a certificate is worth at a time.
type State string

const (
	Valid   State = "valid"
	Due     State = "due" // for renewal; it still counts
	Expired State = "expired"
	Revoked State = "revoked"
)

// State is that of the certificate at a time.
func (i Issued) State(r Revocations, now time.Time) State {
	switch {
	case r.find(i.Serial, i.Identity) != nil:
		return Revoked
	case now.After(i.Expires):
		return Expired
	case !now.Before(due(i.NotBefore, i.Expires)):
		return Due
	}
	return Valid
}

// Revocations lists what no longer counts.
type Revocations struct {
	Serials    []RevokedSerial   `json:"serials"`
	Identities []RevokedIdentity `json:"identities"`
}

// RevokedSerial is one certificate.
type RevokedSerial struct {
	Serial Serial    `json:"serial"`
	Time   time.Time `json:"time"`
}

// RevokedIdentity is all certificates of an identity: those there are, and later ones.
type RevokedIdentity struct {
	Identity Identity  `json:"identity"`
	Time     time.Time `json:"time"`
}

// Check is ErrRevoked, with the reason, for a certificate that no longer counts.
func (r Revocations) Check(cert *x509.Certificate) error {
	id, err := IdentityOf(cert)
	if err != nil {
		return err
	}
	return r.find(SerialOf(cert), id)
}

func (r Revocations) find(serial Serial, id Identity) error {
	for _, s := range r.Serials {
		if s.Serial == serial {
			return fmt.Errorf("certificate %s of %v was %w at %s", serial, id, ErrRevoked, clock(s.Time))
		}
	}
	for _, i := range r.Identities {
		if i.Identity == id {
			return fmt.Errorf("%v was %w at %s", id, ErrRevoked, clock(i.Time))
		}
	}
	return nil
}

// addSerial and addIdentity keep the first time at which something was revoked.
func (r *Revocations) addSerial(s Serial, now time.Time) {
	if !slices.ContainsFunc(r.Serials, func(old RevokedSerial) bool { return old.Serial == s }) {
		r.Serials = append(r.Serials, RevokedSerial{s, now})
	}
}

func (r *Revocations) addIdentity(id Identity, now time.Time) {
	if !slices.ContainsFunc(r.Identities, func(old RevokedIdentity) bool { return old.Identity == id }) {
		r.Identities = append(r.Identities, RevokedIdentity{id, now})
	}
}

func (r *Revocations) add(more Revocations) {
	for _, s := range more.Serials {
		r.addSerial(s.Serial, s.Time)
	}
	for _, i := range more.Identities {
		r.addIdentity(i.Identity, i.Time)
	}
}

// Len is how many serials and identities are revoked.
func (r Revocations) Len() int { return len(r.Serials) + len(r.Identities) }

// Without is what r revokes and other does not, of serials and of identities at most limit each.
func (r Revocations) Without(other Revocations, limit int) (rest Revocations) {
	for _, s := range r.Serials {
		if len(rest.Serials) < limit && !slices.ContainsFunc(other.Serials, func(o RevokedSerial) bool { return o.Serial == s.Serial }) {
			rest.Serials = append(rest.Serials, s)
		}
	}
	for _, i := range r.Identities {
		if len(rest.Identities) < limit && !slices.ContainsFunc(other.Identities, func(o RevokedIdentity) bool { return o.Identity == i.Identity }) {
			rest.Identities = append(rest.Identities, i)
		}
	}
	return rest
}

// issuedDocument and revokedDocument are the files of records.
type issuedDocument struct {
	Format       int      `json:"format"`
	Certificates []Issued `json:"certificates"`
}

type revokedDocument struct {
	Format int `json:"format"`
	Revocations
}

func readIssued(dir string) ([]Issued, error) {
	var d issuedDocument
	err := readRecords(filepath.Join(dir, issuedFile), &d, &d.Format)
	return d.Certificates, err
}

func readRevoked(dir string) (Revocations, error) {
	var d revokedDocument
	err := readRecords(filepath.Join(dir, revokedFile), &d, &d.Format)
	return d.Revocations, err
}

// writeIssued leaves out certificates that expired long ago.
func writeIssued(dir string, all []Issued, now time.Time) error {
	kept := slices.DeleteFunc(slices.Clone(all), func(i Issued) bool { return now.Sub(i.Expires) > keepExpired })
	return writeRecords(filepath.Join(dir, issuedFile), issuedDocument{format, append([]Issued{}, kept...)})
}

func writeRevoked(dir string, r Revocations) error {
	return writeRecords(filepath.Join(dir, revokedFile), revokedDocument{format, Revocations{
		append([]RevokedSerial{}, r.Serials...), append([]RevokedIdentity{}, r.Identities...)}})
}

// readRecords reads one JSON document. A file that is missing is an error: without its
// revocations an authority must not go on.
func readRecords(path string, v any, number *int) error {
	text, err := readFile(path, maxRecords)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w: %w", path, ErrFormat, err)
	}
	if err := ergoflow.CheckFormat(path, *number, format); err != nil {
		return err
	}
	if *number != format {
		return fmt.Errorf("%s has format %d, not %d: %w", path, *number, format, ErrFormat)
	}
	return nil
}

func writeRecords(path string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	switch {
	case err != nil:
		return err
	case len(text) >= maxRecords: // it could not be read again
		return fmt.Errorf("%s would have more than %d bytes: too many certificates", path, maxRecords)
	}
	return atomicfile.Write(path, append(text, '\n'))
}

// clock is a time as errors show it.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
