package coordinator

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

// issueInto writes credentials for a role and a name into a directory.
func issueInto(t *testing.T, a *trust.Authority, dir string, role trust.Role, name string) {
	t.Helper()
	if err := trust.SaveCredentials(dir, trusttest.Issue(t, a, role, name), trusttest.Bundle(t, a)); err != nil {
		t.Fatal(err)
	}
}

// A coordinator whose authority is elsewhere takes those who have credentials of it, signs
// nothing, and reads new credentials and revocations when somebody puts them there.
func TestAuthorityElsewhere(t *testing.T) {
	t.Parallel()
	authority := trusttest.Authority(t, "lab")
	dir := t.TempDir()
	own := filepath.Join(dir, credentialsDir)
	refused := func(want error) {
		t.Helper()
		if err := Run(t.Context(), Config{Dir: dir, Log: slog.New(slog.DiscardHandler)}); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	issueInto(t, authority, own, trust.Worker, "gpu")
	refused(ErrNotCoordinator)
	if err := os.RemoveAll(own); err != nil {
		t.Fatal(err)
	}
	issueInto(t, authority, own, trust.Coordinator, "main")
	refused(ErrNoRevocations)
	if err := trust.SaveRevocations(own, trust.Revocations{}); err != nil {
		t.Fatal(err)
	}
	s := &securedServer{authority: authority}
	s.server = startWith(t, dir, func(c *Config) { c.FirstToken = func(_, token string) { t.Errorf("it makes the token %s", token) } })
	if _, err := os.Stat(filepath.Join(dir, authorityDir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it makes an authority: %v", err)
	}
	operator := wire.NewControlClient(s.dialWith(s.Control, secure.Dial(trusttest.Credentials(t, authority, trust.Operator, "ada"), trust.Coordinator)))
	stream := s.enrolledSession("gpu")

	// What needs the authority is refused, with the reason.
	csr, _, err := trust.NewRequest(trust.Identity{Cluster: "lab", Role: trust.Operator, Name: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"a token": func() error {
			_, err := operator.CreateToken(t.Context(), &wire.CreateTokenRequest{Role: string(trust.Worker), Seconds: 60, Uses: 1})
			return err
		},
		"a renewal": func() error {
			_, err := operator.Renew(t.Context(), &wire.RenewRequest{Request: csr})
			return err
		},
		"a join": func() error {
			conn := s.dialWith(s.Join, secure.Dial(trusttest.Credentials(t, authority, trust.Worker, "new"), trust.Coordinator))
			_, err := wire.NewJoinClient(conn).Admit(t.Context(), &wire.AdmitRequest{Name: "x", Request: csr})
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), ErrElsewhere.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}

	// New credentials are taken as they come.
	before := s.shown()
	issueInto(t, authority, own, trust.Coordinator, "main")
	for deadline := time.Now().Add(patience); s.shown() == before; {
		if time.Now().After(deadline) {
			t.Fatal("it does not take its new certificate")
		}
		<-time.After(10 * time.Millisecond) // the coordinator looks by the clock
	}
	// So are revocations.
	id := trust.Identity{Cluster: "lab", Role: trust.Worker, Name: "gpu"}
	if err := authority.RevokeIdentity(t.Context(), id, time.Now()); err != nil {
		t.Fatal(err)
	}
	list, err := authority.Revocations()
	if err != nil {
		t.Fatal(err)
	}
	if err := trust.SaveRevocations(own, list); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if !strings.Contains(err.Error(), "revoked") {
		t.Error(err)
	}
}

// shown is the serial of the certificate that the coordinator shows.
func (s *securedServer) shown() trust.Serial {
	s.t.Helper()
	c := trusttest.Credentials(s.t, s.authority, trust.Viewer, "looker")
	config := c.ClientConfig(trust.AllowRoles(trust.Coordinator))
	var serial trust.Serial
	verify := config.VerifyConnection
	config.VerifyConnection = func(cs tls.ConnectionState) error {
		serial = trust.SerialOf(cs.PeerCertificates[0])
		return verify(cs)
	}
	conn, err := grpc.NewClient(s.Control, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := wire.NewControlClient(conn).Status(s.t.Context(), &wire.StatusRequest{}); err != nil {
		s.t.Fatal(err)
	}
	return serial
}
