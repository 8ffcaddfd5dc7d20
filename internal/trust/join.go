package trust

import (
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// ErrPin: the server's CA is not the one that the token names.
var ErrPin = errors.New("the server's authority is not the one that the token names")

// JoinConfig is for a process that has only a token. It connects to a coordinator of the CA
// whose key has the fingerprint, of any cluster, and to nobody else. The secret is safe to
// send once the handshake is done.
func JoinConfig(pin Fingerprint) *tls.Config { return joinConfig(pin, time.Now) }

func joinConfig(pin Fingerprint, now func() time.Time) *tls.Config {
	return &tls.Config{
		Time:               now,
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // of host names and system CAs: VerifyConnection checks instead
		VerifyConnection: func(cs tls.ConnectionState) error {
			if len(cs.PeerCertificates) == 0 {
				return ErrNoCertificate
			}
			ca := pinned(cs.PeerCertificates[1:], pin)
			if ca == nil {
				return fmt.Errorf("%w: %v", ErrPin, pin)
			}
			check := checker{bundle: []*x509.Certificate{ca}, usage: x509.ExtKeyUsageServerAuth, allow: AllowRoles(Coordinator)}
			_, err := check.check(cs.PeerCertificates, now())
			return err
		},
	}
}

// pinned is the CA with the pinned key. Anybody can show its certificate: whether it signed
// the server's is checked afterwards.
func pinned(chain []*x509.Certificate, pin Fingerprint) *x509.Certificate {
	for _, cert := range chain[:min(len(chain), maxCertificates)] {
		f := FingerprintOf(cert)
		if subtle.ConstantTimeCompare(f[:], pin[:]) == 1 && cert.IsCA && checkKey(cert.PublicKey) == nil {
			return cert
		}
	}
	return nil
}
