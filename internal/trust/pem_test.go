package trust

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseBundle(t *testing.T) {
	a, b := authority(t, "lab"), authority(t, "lab")
	one, two := EncodeCertificates(bundle(t, a)...), EncodeCertificates(bundle(t, b)...)
	key, err := os.ReadFile(a.path(keyFile))
	if err != nil {
		t.Fatal(err)
	}
	all, err := ParseBundle(append(append([]byte("# of the lab\n"), one...), two...))
	if err != nil || len(all) != 2 || FingerprintOf(all[1]) != FingerprintOf(bundle(t, b)[0]) {
		t.Errorf("%v, %v", all, err)
	}
	damaged := bytes.Clone(one)
	damaged[60] = '!'
	for name, text := range map[string][]byte{
		"nothing":             nil,
		"a leaf":              EncodeCertificates(issue(t, a, Worker, "w1", today).Certificate),
		"a key":               key,
		"a key after":         append(bytes.Clone(one), key...),
		"a damaged one":       append(bytes.Clone(two), damaged...),
		"a damaged one first": append(bytes.Clone(damaged), two...),
		"a part":              one[:len(one)/2],
		"no certificate":      pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: []byte("x")}),
		"too many":            bytes.Repeat(one, maxCertificates+1),
		"too long":            append(bytes.Clone(one), bytes.Repeat([]byte(" "), maxPEM)...),
	} {
		if all, err := ParseBundle(text); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v, %v", name, all, err)
		}
	}
	path := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(path, bytes.Repeat(one, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readPEM(path, ParseBundle); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), path) {
		t.Errorf("a long file: %v", err)
	}
}

// An error of a key's file does not show the key.
func TestParseKeys(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	encode := func(keys ...crypto.Signer) []byte {
		text, err := encodeKeys(keys...)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if keys, err := parseKeys(encode(good, good)); err != nil || len(keys) != 2 {
		t.Errorf("%v, %v", keys, err)
	}
	if _, err := parseKeys(encode(weak)); !errors.Is(err, ErrKey) {
		t.Errorf("RSA: %v", err)
	}
	for _, text := range [][]byte{nil, encode(good, good, good), pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: []byte("hush")})} {
		if _, err := parseKeys(text); !errors.Is(err, ErrFormat) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v", err)
		}
	}
}

func FuzzBundle(f *testing.F) {
	a := authority(f, "lab")
	one := EncodeCertificates(bundle(f, a)...)
	f.Add(one)
	f.Add(append(bytes.Clone(one), one...))
	f.Add(EncodeCertificates(issue(f, a, Worker, "w1", today).Certificate))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := ParseBundle(text)
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrKey) {
				t.Errorf("%v", err)
			}
			return
		}
		if again, err := ParseBundle(EncodeCertificates(all...)); err != nil || len(again) != len(all) {
			t.Errorf("again: %v, %v", again, err)
		}
		for _, cert := range all {
			checkChain(cert, all, x509.ExtKeyUsageAny, today)
		}
	})
}
