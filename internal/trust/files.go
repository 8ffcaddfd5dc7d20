package trust

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// readCredentials reads ca.pem, cert.pem and key.pem. Of two keys, which a renewal that was
// killed leaves, it takes that of the certificate.
func readCredentials(dir string) (KeyPair, []*x509.Certificate, error) {
	bundle, err := readPEM(filepath.Join(dir, bundleFile), ParseBundle)
	if err != nil {
		return KeyPair{}, nil, err
	}
	cert, err := readPEM(filepath.Join(dir, certFile), ParseCertificate)
	if err != nil {
		return KeyPair{}, nil, err
	}
	path := filepath.Join(dir, privateFile)
	keys, err := readPEM(path, parseKeys)
	if err != nil {
		return KeyPair{}, nil, err
	}
	at := slices.IndexFunc(keys, func(key crypto.Signer) bool { return isKeyOf(key, cert) })
	if at < 0 {
		return KeyPair{}, nil, fmt.Errorf("%s is not the key of %s: %w", path, certFile, ErrFormat)
	}
	return KeyPair{cert, keys[at]}, bundle, nil
}

// readPEM reads a file of PEM; errors name it.
func readPEM[T any](path string, parse func([]byte) (T, error)) (T, error) {
	text, err := readFile(path, maxPEM)
	if err != nil {
		var none T
		return none, err
	}
	parsed, err := parse(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return parsed, err
}

// SaveCredentials writes credentials into a directory, over those that are there. Killed at
// any time it leaves the old ones or the new ones: between its steps the bundle has the CAs of
// both, and key.pem the keys of both. Killed at the first time it may leave no key, and then
// the directory has no credentials.
func SaveCredentials(dir string, pair KeyPair, bundle []*x509.Certificate) error {
	next, err := checkPair(pair, bundle)
	if err != nil {
		return err
	}
	if err := makePrivateDir(dir); err != nil {
		return err
	}
	old, oldBundle, err := replaced(dir, next.identity)
	if err != nil {
		return err
	}
	both, keys := union(bundle, oldBundle), []crypto.Signer{pair.Key}
	if old.Key != nil && !isKeyOf(old.Key, pair.Certificate) {
		keys = []crypto.Signer{old.Key, pair.Key} // programs that read one key take the first
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	steps := []func() error{
		func() error { return writeCertificates(path(bundleFile), both...) },
		func() error { return writeKeys(path(privateFile), keys...) },
		func() error { return writeCertificates(path(certFile), pair.Certificate) },
		func() error { return writeKeys(path(privateFile), pair.Key) },
		func() error { return writeCertificates(path(bundleFile), bundle...) },
	}
	if old.Key == nil {
		// The key comes last: where there is one without a certificate, it is somebody else's.
		steps = []func() error{steps[0], steps[2], steps[3]}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func writeCertificates(path string, all ...*x509.Certificate) error {
	return atomicfile.Write(path, EncodeCertificates(all...))
}

func writeKeys(path string, keys ...crypto.Signer) error {
	text, err := encodeKeys(keys...)
	if err != nil {
		return err
	}
	return atomicfile.WritePrivate(path, text)
}

// CheckPlace refuses a directory in which SaveCredentials would destroy something: an
// authority, credentials of another identity, or files that are no credentials.
func CheckPlace(dir string, id Identity) error {
	_, _, err := replaced(dir, id)
	return err
}

// replaced reads the credentials that new ones of an identity will replace, if there are any.
func replaced(dir string, id Identity) (KeyPair, []*x509.Certificate, error) {
	if _, err := os.Lstat(filepath.Join(dir, keyFile)); err == nil {
		return KeyPair{}, nil, fmt.Errorf("%w in %s, where certificates of processes have no place", ErrExists, dir)
	}
	if _, err := os.Lstat(filepath.Join(dir, privateFile)); errors.Is(err, fs.ErrNotExist) { // no key can be lost
		return KeyPair{}, nil, nil
	}
	old, bundle, err := readCredentials(dir)
	if err != nil {
		return KeyPair{}, nil, fmt.Errorf("%s has a key that is not replaced: %w", dir, err)
	}
	if before, err := IdentityOf(old.Certificate); err != nil || before != id {
		return KeyPair{}, nil, fmt.Errorf("%s has credentials of %s: %w", dir, nameOf(old.Certificate), ErrOther)
	}
	return old, bundle, nil
}

// makePrivateDir makes a directory that only its user can enter, where it is missing.
func makePrivateDir(dir string) error {
	parent := filepath.Dir(filepath.Clean(dir))
	if err := atomicfile.MakeDirs(parent); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o700)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	return atomicfile.SyncDir(parent)
}

// union is the first bundle, and as many of the second as there is room for.
func union(first, second []*x509.Certificate) []*x509.Certificate {
	all := slices.Clone(first)
	for _, cert := range second {
		known := slices.ContainsFunc(all, func(c *x509.Certificate) bool { return bytes.Equal(c.Raw, cert.Raw) })
		if !known && len(all) < maxCertificates {
			all = append(all, cert)
		}
	}
	return all
}
