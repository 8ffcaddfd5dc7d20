package trust

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ergoflow/ergoflow/internal/filelock"
)

var (
	// ErrNoAuthority: the directory has no authority.
	ErrNoAuthority = errors.New("there is no authority")
	// ErrExists: the directory has one already.
	ErrExists = errors.New("there is an authority already")
)

// Files of an authority.
const (
	bundleFile  = "ca.pem"
	keyFile     = "ca-key.pem"
	nextKeyFile = "ca-next-key.pem" // only while the CA is rotated
	issuedFile  = "issued.json"
	revokedFile = "revoked.json"
	lockFile    = "ca.lock"
)

// Authority is a directory with a CA. Several processes may use it at once: each operation
// locks it, and reads what the others have written.
type Authority struct {
	dir     string
	cluster string
	revoked *RevocationList
}

// held is what an operation reads of the directory.
type held struct {
	bundle []*x509.Certificate // the first one signs; a second one is trusted beside it
	key    crypto.Signer       // of the first
	next   crypto.Signer       // of the second, if it shall sign; else nil
}

func (h held) signing() *x509.Certificate { return h.bundle[0] }

// CreateAuthority makes an authority for a cluster. Killed at any time it leaves either
// none, which the next call makes, or a complete one.
func CreateAuthority(ctx context.Context, dir, cluster string, now time.Time) (*Authority, error) {
	if err := CheckCluster(cluster); err != nil {
		return nil, err
	}
	if err := makePrivateDir(dir); err != nil {
		return nil, err
	}
	a := &Authority{dir: dir, cluster: cluster, revoked: RevocationsIn(dir)}
	err := a.locked(ctx, syscall.LOCK_EX, func() error { return a.create(now) })
	if err != nil {
		return nil, err
	}
	return a, nil
}

// create writes ca.pem last: it is what makes the directory an authority.
func (a *Authority) create(now time.Time) error {
	if _, err := os.Lstat(a.path(bundleFile)); err == nil {
		return fmt.Errorf("%w in %s", ErrExists, a.dir)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := obtainKey(a.path(keyFile))
	if err != nil {
		return err
	}
	cert, err := makeCA(a.cluster, key, now)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name  string
		write func() error
	}{
		{issuedFile, func() error { return writeIssued(a.dir, nil, now) }},
		{revokedFile, func() error { return writeRevoked(a.dir, Revocations{}) }},
	} {
		if _, err := os.Lstat(a.path(file.name)); errors.Is(err, fs.ErrNotExist) {
			if err := file.write(); err != nil {
				return err
			}
		}
	}
	return writeCertificates(a.path(bundleFile), cert)
}

// obtainKey reads the key that an earlier call has left, or makes one.
func obtainKey(path string) (crypto.Signer, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	made, err := newKey()
	if err != nil {
		return nil, err
	}
	return made, writeKeys(path, made)
}

func newKey() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func readKey(path string) (crypto.Signer, error) {
	keys, err := readPEM(path, parseKeys)
	switch {
	case err != nil:
		return nil, err
	case len(keys) != 1:
		return nil, fmt.Errorf("%s has %d keys: %w", path, len(keys), ErrFormat)
	}
	return keys[0], nil
}

// makeCA signs a CA's own certificate. Its URI names the cluster, without role and name.
func makeCA(cluster string, key crypto.Signer, now time.Time) (*x509.Certificate, error) {
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	now = now.UTC().Truncate(time.Second)
	template := &x509.Certificate{
		SerialNumber: newSerial(),
		// Two CAs of a rotation need two names: some programs look for a CA by its name alone.
		Subject:               pkix.Name{Organization: []string{"ergoflow"}, OrganizationalUnit: []string{cluster}, CommonName: "CA " + Fingerprint(sha256.Sum256(public)).String()[:16]},
		URIs:                  []*url.URL{{Scheme: "ergoflow", Host: cluster}},
		NotBefore:             now.Add(-maxBackdate),
		NotAfter:              now.AddDate(caYears, 0, 0),
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	return signed(template, template, key.Public(), key)
}

func signed(template, parent *x509.Certificate, public any, key crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// newSerial is a random number of 128 bits, not 0.
func newSerial() *big.Int {
	b := make([]byte, 16)
	for {
		rand.Read(b) // never fails
		if n := new(big.Int).SetBytes(b); n.Sign() > 0 {
			return n
		}
	}
}

// OpenAuthority opens the authority of a directory.
func OpenAuthority(ctx context.Context, dir string) (*Authority, error) {
	a := &Authority{dir: dir, revoked: RevocationsIn(dir)}
	if _, err := os.Stat(a.path(bundleFile)); errors.Is(err, fs.ErrNotExist) { // before a lock is made there
		return nil, fmt.Errorf("%w in %s", ErrNoAuthority, dir)
	}
	err := a.locked(ctx, syscall.LOCK_SH, func() error {
		h, err := a.read()
		if err != nil {
			return err
		}
		a.cluster, err = clusterOf(h.signing())
		return err
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Cluster is the cluster for which the authority signs.
func (a *Authority) Cluster() string { return a.cluster }

// Bundle is the certificates of the trusted CAs. The first one signs.
func (a *Authority) Bundle(ctx context.Context) (all []*x509.Certificate, err error) {
	err = a.locked(ctx, syscall.LOCK_SH, func() error {
		h, err := a.read()
		all = h.bundle
		return err
	})
	return all, err
}

// Fingerprint is that of the CA that signs. Tokens need Credentials.Pin.
func (a *Authority) Fingerprint(ctx context.Context) (Fingerprint, error) {
	all, err := a.Bundle(ctx)
	if err != nil {
		return Fingerprint{}, err
	}
	return FingerprintOf(all[0]), nil
}

func (a *Authority) path(name string) string { return filepath.Join(a.dir, name) }

// locked runs an operation alone (LOCK_EX) or beside others that only read (LOCK_SH).
func (a *Authority) locked(ctx context.Context, how int, operation func() error) (err error) {
	f, err := os.OpenFile(a.path(lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := filelock.Wait(ctx, f, how); err != nil {
		return err
	}
	if how == syscall.LOCK_EX {
		a.sweep()
	}
	return operation()
}

// sweep removes keys that a killed process left under temporary names. They are private in
// any case, so what cannot be removed may stay.
func (a *Authority) sweep() {
	entries, _ := os.ReadDir(a.dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+keyFile) || strings.HasPrefix(e.Name(), "."+nextKeyFile) {
			os.Remove(a.path(e.Name()))
		}
	}
}

// read reads CAs and keys, and checks that they belong together.
func (a *Authority) read() (held, error) {
	bundle, err := readPEM(a.path(bundleFile), ParseBundle)
	if err != nil {
		return held{}, err
	}
	h := held{bundle: bundle}
	if n := len(h.bundle); n > 2 {
		return held{}, fmt.Errorf("%s has %d certificates; an authority has one, and a second while it is rotated: %w", a.path(bundleFile), n, ErrFormat)
	}
	key, err := readKey(a.path(keyFile))
	if err != nil {
		return held{}, err
	}
	next, err := readKey(a.path(nextKeyFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return held{}, err
	}
	switch {
	case isKeyOf(key, h.bundle[0]):
		h.key = key
		if next != nil && len(h.bundle) == 2 && isKeyOf(next, h.bundle[1]) {
			h.next = next
		}
	case next != nil && isKeyOf(next, h.bundle[0]):
		h.key = next
	}
	if h.key == nil {
		return held{}, fmt.Errorf("the key of the first certificate of %s is not in %s: %w", a.path(bundleFile), a.path(keyFile), ErrFormat)
	}
	return h, nil
}

// clusterOf is the cluster that a CA's certificate names.
func clusterOf(ca *x509.Certificate) (string, error) {
	if len(ca.URIs) != 1 {
		return "", fmt.Errorf("%w: the certificate of the authority does not name a cluster", ErrIdentity)
	}
	cluster, found := strings.CutPrefix(ca.URIs[0].String(), scheme)
	if !found {
		return "", fmt.Errorf("%w: the certificate of the authority does not name a cluster", ErrIdentity)
	}
	return cluster, CheckCluster(cluster)
}
