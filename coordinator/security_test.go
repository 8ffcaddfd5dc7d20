package coordinator

import (
	"context"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

// securedServer is a secured coordinator on loopback. There a cluster is secured where its
// authority was made beforehand.
type securedServer struct {
	*server
	authority *trust.Authority
	token     string // of the first start
}

func startSecured(t *testing.T) *securedServer {
	t.Helper()
	return startSecuredWith(t, t.TempDir(), func(*Config) {})
}

// startSecuredWith starts one on a directory; the first start makes an authority.
func startSecuredWith(t *testing.T, dir string, change func(*Config)) *securedServer {
	t.Helper()
	s := &securedServer{}
	var err error
	ca := filepath.Join(dir, authorityDir)
	s.authority, err = trust.OpenAuthority(t.Context(), ca)
	if errors.Is(err, trust.ErrNoAuthority) {
		s.authority, err = trust.CreateAuthority(t.Context(), ca, "lab", time.Now().AddDate(0, 0, -2))
	}
	if err != nil {
		t.Fatal(err)
	}
	s.server = startWith(t, dir, func(c *Config) {
		c.FirstToken = func(_, token string) { s.token = token }
		change(c)
	})
	operator, err := trust.OpenCredentials(OperatorDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	s.conn.Close()
	if s.conn, err = grpc.NewClient(s.Control, grpc.WithTransportCredentials(secure.Dial(operator, trust.Coordinator))); err != nil {
		t.Fatal(err)
	}
	s.client = wire.NewControlClient(s.conn)
	return s
}

func (s *securedServer) dialWith(address string, transport credentials.TransportCredentials) *grpc.ClientConn {
	s.t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(transport))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	return conn
}

// call calls a method with an empty message, and returns the code of its error.
func (s *securedServer) call(conn *grpc.ClientConn, method string) (codes.Code, string) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err == nil {
		err = stream.SendMsg(&emptypb.Empty{})
	}
	if err == nil {
		err = stream.CloseSend()
	}
	if stream != nil { // RecvMsg has the reason
		err = stream.RecvMsg(&emptypb.Empty{})
	}
	return status.Code(err), status.Convert(err).Message()
}

// Every method is called with every role, and by one without a certificate.
func TestEveryRoleCallsEveryMethod(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	for _, role := range trust.Roles() {
		c := trusttest.Credentials(t, s.authority, role, "one")
		control, joins := s.dialWith(s.Control, secure.Dial(c, trust.Coordinator)), s.dialWith(s.Join, secure.Dial(c, trust.Coordinator))
		for method, roles := range wire.Roles {
			conn := control
			switch {
			case strings.Contains(method, ".Peer/"), method == wire.RingLink:
				continue // of workers
			case strings.Contains(method, ".Join/"):
				conn = joins
			}
			code, said := s.call(conn, method)
			allowed := len(roles) == 0 || slices.Contains(roles, role)
			if refused := code == codes.PermissionDenied && strings.Contains(said, "may not call"); refused == allowed {
				t.Errorf("a %s calls %s: %v (%s)", role, method, code, said)
			}
		}
	}
	token, err := trust.ParseToken(s.token)
	if err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]codes.Code{
		wire.Join_Admit_FullMethodName:     codes.PermissionDenied, // without a token
		wire.Join_Introduce_FullMethodName: codes.Unauthenticated,
		wire.Control_Status_FullMethodName: codes.Unavailable, // the handshake fails
	} {
		address := s.Join
		if want == codes.Unavailable {
			address = s.Control
		}
		if code, said := s.call(s.dialWith(address, secure.DialToJoin(token.Pin)), method); code != want {
			t.Errorf("without a certificate %s: %v (%s), want %v", method, code, said, want)
		}
	}
}

// careless is a client that accepts any server.
func careless(c *trust.Credentials) credentials.TransportCredentials {
	config := c.ClientConfig(trust.AllowRoles(trust.Coordinator))
	config.VerifyConnection = nil
	return credentials.NewTLS(config)
}

// A first start beyond loopback makes an authority and a token; a second start makes neither.
// Insecure speaks plain text.
func TestBeyondLoopback(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for start, want := range []bool{true, false} {
		token := ""
		s := startWith(t, dir, func(c *Config) {
			c.Listen, c.FirstToken = "0.0.0.0:0", func(_, first string) { token = first }
		})
		if s.Join == "" || (token != "") != want {
			t.Errorf("start %d: join at %q, token made: %v", start, s.Join, token != "")
		}
		s.close()
	}
	s := startWith(t, t.TempDir(), func(c *Config) { c.Listen, c.Insecure = "0.0.0.0:0", true })
	if s.Join != "" || s.status().Secured {
		t.Error("an insecure coordinator is secured")
	}
}

// Strangers reach no method of any port, and the coordinator says who was refused, and why.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	other := trusttest.Authority(t, "lab")
	foreign := trusttest.Credentials(t, other, trust.Operator, "local")
	revoked := trusttest.Credentials(t, s.authority, trust.Operator, "lost")
	if err := s.authority.RevokeIdentity(t.Context(), revoked.Identity(), time.Now()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		transport credentials.TransportCredentials
		reason    string // in the coordinator's status
	}{
		"plain text":    {insecure.NewCredentials(), secure.ErrPlain.Error()},
		"another CA":    {careless(foreign), trust.ErrAuthority.Error()},
		"a revoked one": {secure.Dial(revoked, trust.Coordinator), "revoked"},
	} {
		for _, address := range []string{s.Control, s.Join} {
			if code, said := s.call(s.dialWith(address, c.transport), wire.Control_Status_FullMethodName); code != codes.Unavailable {
				t.Errorf("%s at %s: %v (%s)", name, address, code, said)
			}
		}
		s.await(name+" in the status", func(st Status) bool {
			return slices.ContainsFunc(st.Refused, func(r Refusal) bool { return strings.Contains(r.Reason, c.reason) })
		})
	}
	if st := s.status(); !st.Secured {
		t.Error("the status says that the cluster is not secured")
	}
}

// A process whose clock is not that of its authority says so, with both clocks.
func TestClocks(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	for days, want := range map[int]string{1: "not valid yet", -1: "has expired"} {
		pair, err := s.authority.Issue(t.Context(), trust.Request{Role: trust.Operator, Name: "off", Life: time.Hour}, time.Now().AddDate(0, 0, days))
		if err != nil {
			t.Fatal(err)
		}
		c, err := trust.NewCredentials(pair, trusttest.Bundle(t, s.authority))
		if err != nil {
			t.Fatal(err)
		}
		code, said := s.call(s.dialWith(s.Control, secure.Dial(c, trust.Coordinator)), wire.Control_Status_FullMethodName)
		if code != codes.Unavailable || !strings.Contains(said, want) || !strings.Contains(said, "by the clock of its authority, and this machine's clock says") {
			t.Errorf("%d days: %v (%s)", days, code, said)
		}
	}
}

// A process joins by a token, with the token's role and a name of its own.
func TestJoinByToken(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	created := func(role trust.Role, life time.Duration, uses uint32) string {
		t.Helper()
		reply, err := s.client.CreateToken(t.Context(), &wire.CreateTokenRequest{Role: string(role), Seconds: int64(life / time.Second), Uses: uses})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Token
	}
	admit := func(token, name string) (*x509.Certificate, error) {
		parsed, err := trust.ParseToken(token)
		if err != nil {
			t.Fatal(err)
		}
		csr, _, err := trust.NewJoinRequest()
		if err != nil {
			t.Fatal(err)
		}
		reply, err := wire.NewJoinClient(s.dialWith(s.Join, secure.DialToJoin(parsed.Pin))).Admit(t.Context(), &wire.AdmitRequest{Token: token, Name: name, Request: csr})
		if err != nil {
			return nil, err
		}
		return trust.ParseCertificate(reply.Certificate)
	}
	worker := created(trust.Worker, time.Hour, 2)
	for _, want := range []string{"worker/gpu", "worker/gpu-2"} {
		cert, err := admit(worker, "gpu")
		if err != nil {
			t.Fatal(err)
		}
		if id, err := trust.IdentityOf(cert); err != nil || id.Subject() != want || id.Cluster != "lab" {
			t.Errorf("%v (%v), want %s", id, err, want)
		}
	}
	revoked, wrong := created(trust.Viewer, time.Hour, 5), created(trust.Viewer, time.Hour, 5)
	id, err := trust.ParseToken(revoked)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.RevokeToken(t.Context(), &wire.RevokeTokenRequest{Id: id.ID}); err != nil {
		t.Fatal(err)
	}
	last := wrong[len(wrong)-1]
	for name, c := range map[string]struct{ token, name, want string }{
		"used up":      {worker, "gpu", "no uses left"},
		"revoked":      {revoked, "me", "revoked"},
		"wrong secret": {wrong[:len(wrong)-1] + string('0'+(last-'0'+1)%10), "me", trust.ErrRefused.Error()},
		"a bad name":   {wrong, "../../ca", "name"},
	} {
		if _, err := admit(c.token, c.name); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if cert, err := admit(wrong, "eve"); err != nil {
		t.Error(err)
	} else if id, err := trust.IdentityOf(cert); err != nil || id.Role != trust.Viewer {
		t.Errorf("%v, %v", id, err)
	}
	ledger, err := os.ReadFile(LedgerPath(s.dir))
	if err != nil {
		t.Fatal(err)
	}
	secret := worker[strings.LastIndexByte(worker, '.')+1:]
	if strings.Contains(string(ledger), secret) {
		t.Error("the ledger has a token's secret")
	}
	if reply, err := s.client.Tokens(t.Context(), &wire.TokensRequest{}); err != nil || strings.Contains(string(reply.Json), secret) {
		t.Errorf("the list of tokens: %s, %v", reply.GetJson(), err)
	}
}

// A session ends when its certificate is revoked.
func TestRevocationEndsASession(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	c := trusttest.Credentials(t, s.authority, trust.Worker, "gpu")
	stream, err := wire.NewControlClient(s.dialWith(s.Control, secure.Dial(c, trust.Coordinator))).Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Hello{Hello: &wire.Hello{Id: "a", Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol, DataAddress: "127.0.0.1:1", Device: "go", Pid: 7}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	if err := s.authority.RevokeIdentity(t.Context(), c.Identity(), time.Now()); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if !strings.Contains(err.Error(), "revoked") {
		t.Error(err)
	}
}

// A renewal gives the own identity alone, and sessions of that identity the new certificate.
func TestRenew(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	c := trusttest.Credentials(t, s.authority, trust.Worker, "gpu")
	client := wire.NewControlClient(s.dialWith(s.Control, secure.Dial(c, trust.Coordinator)))
	other := c.Identity()
	other.Name = "another"
	for id, want := range map[trust.Identity]error{c.Identity(): nil, other: trust.ErrRequest} {
		csr, _, err := trust.NewRequest(id)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := client.Renew(t.Context(), &wire.RenewRequest{Request: csr})
		if want != nil {
			if err == nil || !strings.Contains(err.Error(), want.Error()) {
				t.Errorf("%v: %v", id, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		cert, err := trust.ParseCertificate(reply.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := trust.IdentityOf(cert); err != nil || got != id {
			t.Errorf("%v, %v", got, err)
		}
	}
	l := &loop{}
	old, fresh := trusttest.Credentials(t, s.authority, trust.Worker, "a").Certificate(), trusttest.Credentials(t, s.authority, trust.Worker, "a").Certificate()
	mine, others := &session{cert: old}, &session{cert: c.Certificate()}
	l.sessions = map[machine.Session]*session{1: mine, 2: others}
	id, err := trust.IdentityOf(fresh)
	if err != nil {
		t.Fatal(err)
	}
	if l.renewed(id, fresh); mine.cert != fresh || others.cert != c.Certificate() {
		t.Error("the wrong session has the new certificate")
	}
}

// A coordinator renews its credentials before they end, and connections take the new ones.
func TestCoordinatorRenewsItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx := t.Context()
	authority, err := trust.CreateAuthority(ctx, filepath.Join(dir, authorityDir), "lab", time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	s := &security{authority: authority, dir: dir, life: time.Hour}
	if s.own, err = s.hold(ctx, credentialsDir, trust.Coordinator, coordinatorName); err != nil {
		t.Fatal(err)
	}
	before := s.own.Certificate()
	if err := s.renewDue(ctx); err != nil || s.own.Certificate() != before {
		t.Errorf("renewed long before its time (%v)", err)
	}
	old, err := authority.Issue(ctx, trust.Request{Role: trust.Coordinator, Name: coordinatorName, Life: time.Hour}, time.Now().Add(-50*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if err := trust.SaveCredentials(filepath.Join(dir, credentialsDir), old, trusttest.Bundle(t, authority)); err != nil {
		t.Fatal(err)
	}
	if err := s.renewDue(ctx); err != nil || !s.own.Certificate().NotAfter.After(old.Certificate.NotAfter) {
		t.Errorf("not renewed: it ends at %v (%v)", s.own.Certificate().NotAfter, err)
	}
}

// enrolledSession is the session of a worker with a certificate of its own.
func (s *securedServer) enrolledSession(name string) wire.Control_SessionClient {
	s.t.Helper()
	c := trusttest.Credentials(s.t, s.authority, trust.Worker, name)
	stream, err := wire.NewControlClient(s.dialWith(s.Control, secure.Dial(c, trust.Coordinator))).Session(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	hello := &wire.Hello{Id: name, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol, DataAddress: "127.0.0.1:1", Device: "go", Pid: 7}
	if err := stream.Send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Hello{Hello: hello}}); err != nil {
		s.t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		s.t.Fatal(err)
	}
	return stream
}

// A worker confirms the gossip's keys for itself alone.
func TestOnlyAWorkerConfirmsForItself(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	clientOf := func(name string) wire.ControlClient {
		return wire.NewControlClient(s.dialWith(s.Control, secure.Dial(trusttest.Credentials(t, s.authority, trust.Worker, name), trust.Coordinator)))
	}
	s.enrolledSession("gpu")
	mine := clientOf("gpu")
	for _, c := range []struct {
		client  wire.ControlClient
		missing int
	}{{clientOf("eve"), 1}, {mine, 0}} {
		keys, err := c.client.GossipKeys(t.Context(), &wire.GossipKeysRequest{Worker: "gpu"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.client.GossipKeys(t.Context(), &wire.GossipKeysRequest{Worker: "gpu", Version: keys.Version}); err != nil {
			t.Fatal(err)
		}
		if how, err := s.client.RotateGossip(t.Context(), &wire.RotateGossipRequest{}); err != nil || len(how.Missing) != c.missing {
			t.Errorf("%v has not confirmed, want %d (%v)", how.GetMissing(), c.missing, err)
		}
	}
}
