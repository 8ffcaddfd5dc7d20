package trust

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// clientsOf judges by the files of an authority, today.
func clientsOf(t *testing.T, dir string) *Clients {
	t.Helper()
	c, err := OpenClients(dir)
	if err != nil {
		t.Fatal(err)
	}
	c.now = func() time.Time { return today }
	return c
}

// shows is a connection whose client has shown a certificate.
func shows(pair KeyPair) *tls.ConnectionState {
	return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{pair.Certificate}}
}

// Certificates of other roles, authorities and times do not count, and revoked ones no longer.
func TestClients(t *testing.T) {
	lab, other := authority(t, "lab"), authority(t, "lab")
	c := clientsOf(t, lab.dir)
	allow := AllowRoles(Operator, Viewer)
	for name, test := range map[string]struct {
		connection *tls.ConnectionState
		want       error
	}{
		"viewer":          {shows(issue(t, lab, Viewer, "ada", today)), nil},
		"operator":        {shows(issue(t, lab, Operator, "ben", today)), nil},
		"worker":          {shows(issue(t, lab, Worker, "gpu-1", today)), ErrRole},
		"coordinator":     {shows(issue(t, lab, Coordinator, "main", today)), ErrRole},
		"other authority": {shows(issue(t, other, Viewer, "ada", today)), ErrAuthority},
		"not yet valid":   {shows(issue(t, lab, Viewer, "new", today.Add(25*time.Hour))), ErrNotYetValid},
		"no certificate":  {&tls.ConnectionState{}, ErrNoCertificate},
		"plain text":      {nil, ErrNoCertificate},
	} {
		if id, err := c.Check(test.connection, allow); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v, error %v, want %v", name, id, err, test.want)
		}
	}
	old := shows(issue(t, lab, Viewer, "old", today))
	c.now = func() time.Time { return today.Add(25 * time.Hour) }
	if _, err := c.Check(old, allow); !errors.Is(err, ErrExpired) {
		t.Errorf("an expired certificate: %v", err)
	}
	c.now = func() time.Time { return today }
	ada := shows(issue(t, lab, Viewer, "ada", today))
	if err := lab.RevokeIdentity(context.Background(), Identity{"lab", Viewer, "ada"}, today); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Check(ada, allow); !errors.Is(err, ErrRevoked) {
		t.Errorf("a revoked certificate: %v", err)
	}
}

// The files may be copies. Changes count at once; while a file is missing nobody is admitted.
func TestClientsOfCopies(t *testing.T) {
	lab, other := authority(t, "lab"), authority(t, "lab")
	dir := t.TempDir()
	if _, err := OpenClients(dir); err == nil {
		t.Error("a directory without files was opened")
	}
	replace := func(from *Authority, name string) {
		t.Helper()
		content, err := os.ReadFile(from.path(name))
		if err != nil {
			t.Fatal(err)
		}
		temporary := filepath.Join(dir, "new")
		if err := os.WriteFile(temporary, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(temporary, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	replace(lab, bundleFile)
	if _, err := OpenClients(dir); err == nil {
		t.Error("a directory without revocations was opened")
	}
	replace(lab, revokedFile)
	c := clientsOf(t, dir)
	ours, theirs := shows(issue(t, lab, Viewer, "ada", today)), shows(issue(t, other, Viewer, "ada", today))
	check := func(when string, wantOurs, wantTheirs error) {
		t.Helper()
		_, first := c.Check(ours, AllowRoles(Viewer))
		_, second := c.Check(theirs, AllowRoles(Viewer))
		if !errors.Is(first, wantOurs) || !errors.Is(second, wantTheirs) {
			t.Errorf("%s: %v and %v", when, first, second)
		}
	}
	check("before", nil, ErrAuthority)
	replace(other, bundleFile)
	check("after", ErrAuthority, nil)
	if err := os.Remove(filepath.Join(dir, bundleFile)); err != nil {
		t.Fatal(err)
	}
	check("without authority", os.ErrNotExist, os.ErrNotExist)
}
