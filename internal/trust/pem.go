package trust

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

var (
	// ErrFormat: a file is not what its place needs.
	ErrFormat = errors.New("damaged, or another kind of file")
	// ErrKey: a key is of a kind that ergoflow does not take.
	ErrKey = errors.New("the key is not ECDSA P-256, ECDSA P-384 or Ed25519")
)

// Limits of what is read.
const (
	maxPEM          = 64 << 10 // bytes of a file
	maxCertificates = 16       // in a bundle
	maxKeys         = 2        // in a file of keys: one before and one after a renewal
)

// Types of PEM blocks.
const (
	pemCertificate = "CERTIFICATE"
	pemKey         = "PRIVATE KEY"
	pemRequest     = "CERTIFICATE REQUEST"
)

// Fingerprint is the SHA-256 of a public key (SubjectPublicKeyInfo). It stays the same when
// a certificate is issued again for that key.
type Fingerprint [sha256.Size]byte

// String is lower-case hexadecimal.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// MarshalText is String.
func (f Fingerprint) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (f *Fingerprint) UnmarshalText(text []byte) error {
	decoded, err := decodeHex(string(text), len(f))
	copy(f[:], decoded)
	return err
}

// decodeHex reads n bytes of lower-case hexadecimal.
func decodeHex(text string, n int) ([]byte, error) {
	decoded, err := hex.DecodeString(text[:min(len(text), 2*n+1)])
	if err != nil || len(decoded) != n || text != strings.ToLower(text) {
		return nil, fmt.Errorf("%.8q… is not %d lower-case hexadecimal digits: %w", text, 2*n, ErrFormat)
	}
	return decoded, nil
}

// FingerprintOf is the fingerprint of a certificate's public key.
func FingerprintOf(cert *x509.Certificate) Fingerprint {
	return sha256.Sum256(cert.RawSubjectPublicKeyInfo)
}

// checkKey refuses public keys that are weak or that nobody here makes.
func checkKey(public any) error {
	switch key := public.(type) {
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() || key.Curve == elliptic.P384() {
			return nil
		}
	case ed25519.PublicKey:
		return nil
	}
	return ErrKey
}

// readFile reads a file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("%s has more than %d bytes: %w", path, limit, ErrFormat)
	}
	return content, err
}

// blocks splits a PEM text into the content of its blocks: 1 to limit of one kind. Text
// between blocks is a comment, as everywhere in PEM.
func blocks(text []byte, kind string, limit int) ([][]byte, error) {
	if len(text) > maxPEM {
		return nil, fmt.Errorf("it has more than %d bytes: %w", maxPEM, ErrFormat)
	}
	begun := bytes.Count(text, []byte("-----BEGIN "))
	var all [][]byte
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		if block.Type != kind {
			return nil, fmt.Errorf("it has a block %.40q, not %q: %w", block.Type, kind, ErrFormat)
		}
		if len(all) == limit {
			return nil, fmt.Errorf("it has more than %d blocks: %w", limit, ErrFormat)
		}
		all, text = append(all, block.Bytes), rest
	}
	switch {
	case len(all) != begun: // pem.Decode passes over blocks that it cannot read
		return nil, fmt.Errorf("a block of it is not complete: %w", ErrFormat)
	case len(all) == 0:
		return nil, fmt.Errorf("it has no block %q: %w", kind, ErrFormat)
	}
	return all, nil
}

// ParseBundle reads the certificates of CAs from PEM.
func ParseBundle(text []byte) ([]*x509.Certificate, error) {
	all, err := parseCertificates(text, maxCertificates)
	if err != nil {
		return nil, err
	}
	for _, cert := range all {
		if !cert.BasicConstraintsValid || !cert.IsCA || cert.KeyUsage&x509.KeyUsageCertSign == 0 {
			return nil, fmt.Errorf("certificate of %.80q is not of an authority: %w", cert.Subject, ErrFormat)
		}
	}
	return all, nil
}

// ParseCertificate reads one certificate from PEM, as Sign's caller sends it.
func ParseCertificate(text []byte) (*x509.Certificate, error) {
	all, err := parseCertificates(text, 1)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

func parseCertificates(text []byte, limit int) ([]*x509.Certificate, error) {
	encoded, err := blocks(text, pemCertificate, limit)
	if err != nil {
		return nil, err
	}
	var all []*x509.Certificate
	for _, der := range encoded {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		if err := checkKey(cert.PublicKey); err != nil {
			return nil, fmt.Errorf("certificate of %.80q: %w", cert.Subject, err)
		}
		all = append(all, cert)
	}
	return all, nil
}

// EncodeCertificates is certificates as PEM.
func EncodeCertificates(all ...*x509.Certificate) []byte {
	var text []byte
	for _, cert := range all {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: cert.Raw})...)
	}
	return text
}

// parseKeys reads private keys from PEM.
func parseKeys(text []byte) ([]crypto.Signer, error) {
	encoded, err := blocks(text, pemKey, maxKeys)
	if err != nil {
		return nil, err
	}
	var all []crypto.Signer
	for _, der := range encoded {
		key, err := x509.ParsePKCS8PrivateKey(der)
		if err != nil {
			return nil, fmt.Errorf("%w: not a key in PKCS #8", ErrFormat) // without what the key holds
		}
		signer, ok := key.(crypto.Signer)
		if !ok {
			return nil, ErrKey
		}
		if err := checkKey(signer.Public()); err != nil {
			return nil, err
		}
		all = append(all, signer)
	}
	return all, nil
}

func encodeKeys(all ...crypto.Signer) ([]byte, error) {
	var text []byte
	for _, key := range all {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: der})...)
	}
	return text, nil
}

// isKeyOf reports whether a private key belongs to a certificate.
func isKeyOf(key crypto.Signer, cert *x509.Certificate) bool {
	public, ok := key.Public().(interface{ Equal(x crypto.PublicKey) bool })
	return ok && public.Equal(cert.PublicKey)
}
