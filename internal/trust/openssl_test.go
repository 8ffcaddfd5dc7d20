package trust

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// OpenSSL, another implementation, accepts what is signed, and reads the same from it.
func TestOpenSSL(t *testing.T) {
	program, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("no openssl")
	}
	a := authority(t, "lab")
	run := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		return string(out), err
	}
	at := []string{"-attime", "1795608000"} // today
	verify := func(a *Authority, purpose, path string) (string, error) {
		return run(append(append([]string{"verify", "-x509_strict", "-purpose", purpose, "-CAfile", a.path(bundleFile)}, at...), path)...)
	}
	write := func(pair KeyPair) string {
		path := filepath.Join(t.TempDir(), "cert.pem")
		if err := os.WriteFile(path, EncodeCertificates(pair.Certificate), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pair, err := a.Issue(t.Context(), Request{Role: Worker, Name: "w1", DNS: []string{"w1.example.org"}, IPs: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}, today)
	if err != nil {
		t.Fatal(err)
	}
	worker, operator := write(pair), write(issue(t, a, Operator, "o1", today))
	for _, test := range []struct {
		a             *Authority
		purpose, path string
		ok            bool
	}{
		{a, "sslserver", worker, true}, {a, "sslclient", worker, true}, {a, "sslclient", operator, true},
		{a, "sslserver", operator, false}, {authority(t, "lab"), "sslclient", worker, false},
	} {
		if out, err := verify(test.a, test.purpose, test.path); (err == nil) != test.ok {
			t.Errorf("%+v: %v\n%s", test, err, out)
		}
	}
	// During a rotation it verifies certificates of both CAs.
	if err := a.BeginRotation(t.Context(), today); err != nil {
		t.Fatal(err)
	}
	if err := a.UseNext(t.Context(), today, true); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{worker, write(issue(t, a, Worker, "w2", today))} {
		if out, err := verify(a, "sslserver", path); err != nil {
			t.Errorf("rotated: %v\n%s", err, out)
		}
	}

	text, err := run("x509", "-in", worker, "-noout", "-text", "-serial", "-fingerprint", "-sha256")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	issued, err := a.Issued(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// -serial leaves out zero bytes at the beginning.
	serial := strings.TrimLeft(strings.ToUpper(string(issued[0].Serial)), "0")
	for _, want := range []string{
		"URI:ergoflow://lab/worker/w1", "DNS:w1.example.org", "IP Address:10.0.0.1", "CA:FALSE", "Digital Signature",
		"TLS Web Server Authentication, TLS Web Client Authentication", "ecdsa-with-SHA256", serial,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !strings.Contains(strings.ToLower(strings.ReplaceAll(text, ":", "")), issued[0].Fingerprint) {
		t.Errorf("the fingerprint is not %s:\n%s", issued[0].Fingerprint, text)
	}
	ca, err := run("x509", "-in", a.path(bundleFile), "-noout", "-text")
	if err != nil || !strings.Contains(ca, "CA:TRUE, pathlen:0") || !strings.Contains(ca, "Certificate Sign") || !strings.Contains(ca, "URI:ergoflow://lab") {
		t.Errorf("%v\n%s", err, ca)
	}

	// A CSR that OpenSSL made is signed.
	key, csr := filepath.Join(t.TempDir(), "key.pem"), filepath.Join(t.TempDir(), "csr.pem")
	if out, err := run("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=anybody", "-keyout", key, "-out", csr); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	request, err := os.ReadFile(csr)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := a.Sign(t.Context(), request, Request{Role: Operator, Name: "o2"}, today)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := readPEM(key, parseKeys)
	if err != nil {
		t.Fatal(err)
	}
	holding(t, KeyPair{cert, keys[0]}, bundle(t, a), today)
}
