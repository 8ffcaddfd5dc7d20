package natstest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An Authority is of the web's kind: it knows hosts, and nothing of ergoflow.
type Authority struct {
	Certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes one, whose certificates count for an hour.
func NewAuthority(t testing.TB) Authority {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Authority{sign(t, template, template, key.Public(), key), key}
}

// Issue makes the certificate of a server on loopback, which a client can show too.
func (a Authority) Issue(t testing.TB) (der []byte, key crypto.Signer) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour)}
	return sign(t, template, a.Certificate, own.Public(), a.key).Raw, own
}

func sign(t testing.TB, template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err == nil {
		var c *x509.Certificate
		if c, err = x509.ParseCertificate(der); err == nil {
			return c
		}
	}
	t.Fatal(err)
	return nil
}

// Write writes the authority's certificate, and a new certificate with its key, into a directory, as
// `--nats-files` names them.
func (a Authority) Write(t testing.TB, dir string) {
	t.Helper()
	der, key := a.Issue(t)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]pem.Block{
		"ca.pem":   {Type: "CERTIFICATE", Bytes: a.Certificate.Raw},
		"cert.pem": {Type: "CERTIFICATE", Bytes: der},
		"key.pem":  {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// mutual is the configuration of TLS on which both sides show a certificate of the authority, by
// the files in a directory.
func mutual(dir string) string {
	return fmt.Sprintf("tls { ca_file: %q, cert_file: %q, key_file: %q, verify: true, timeout: 10 }",
		filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
}
