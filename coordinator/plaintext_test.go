package coordinator

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

// acceptPlaintext has a coordinator accept workers without a certificate.
func acceptPlaintext(c *Config) { c.AcceptPlaintext = "127.0.0.1:0" }

// A cluster that changes from plain text: a worker without a certificate and one with one train
// together, and the members learn who has none. Once the coordinator is started without the
// flag it refuses the first.
func TestChangeFromPlaintext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeShards(t, dir, 0, 1, 2, 3, 4)
	s := startSecuredWith(t, dir, acceptPlaintext)
	gpu := trusttest.Credentials(t, s.authority, trust.Worker, "gpu")
	s.submit(endless, wire.Stage_STAGE_TRAIN)
	plain := connect(t, s.server, "open", -1)
	secured := connectBy(t, s.server, secure.Dial(gpu, trust.Coordinator), "gpu", "gpu:1", -1)
	st := s.await("both train", func(st Status) bool { return st.State == "training" && st.WorldSize == 2 && st.Step > 2 })
	if !st.Secured || !st.AcceptsPlaintext || !slices.Equal(st.Plaintext, []string{"open"}) {
		t.Errorf("status: secured %t, accepts plain text %t from %v", st.Secured, st.AcceptsPlaintext, st.Plaintext)
	}
	names := map[string]string{"open": string(trust.Plaintext), "gpu": gpu.Identity().String()}
	for _, f := range []*fake{plain, secured} {
		f.mu.Lock()
		for _, m := range f.assign.GetMembers() {
			if m.Identity != names[m.Id] {
				t.Errorf("%s is told that %s is %q", f.id, m.Id, m.Identity)
			}
		}
		f.mu.Unlock()
	}
	// A rotation of the gossip's key waits for workers that have it.
	if how, err := s.client.RotateGossip(t.Context(), &wire.RotateGossipRequest{Begin: true}); err != nil || !slices.Equal(how.Missing, []string{"gpu"}) {
		t.Errorf("the rotation waits for %v: %v", how.GetMissing(), err)
	}
	plain.kill()
	secured.kill()
	s.close()

	s = startSecuredWith(t, dir, func(*Config) {})
	if st := s.status(); !st.Secured || st.AcceptsPlaintext || len(st.Plaintext) > 0 {
		t.Errorf("after the change: secured %t, accepts plain text %t from %v", st.Secured, st.AcceptsPlaintext, st.Plaintext)
	}
	code, said := s.call(s.dialWith(s.Control, insecure.NewCredentials()), wire.Control_Session_FullMethodName)
	if code != codes.Unavailable {
		t.Errorf("a worker without a certificate: %v (%s)", code, said)
	}
	s.await("it says why", func(st Status) bool {
		return slices.ContainsFunc(st.Refused, func(r Refusal) bool { return strings.Contains(r.Reason, secure.ErrPlain.Error()) })
	})
}

// In plain text one may call what a worker needs to train, and nothing else: nothing that makes
// certificates, tokens or keys, nothing that changes runs.
func TestMethodsInPlaintext(t *testing.T) {
	t.Parallel()
	s := startSecuredWith(t, t.TempDir(), acceptPlaintext)
	conn := s.dialWith(s.Control, insecure.NewCredentials())
	var open []string
	for method, roles := range wire.Roles {
		if !strings.Contains(method, ".Control/") {
			continue
		}
		code, said := s.call(conn, method)
		refused := code == codes.Unauthenticated && strings.Contains(said, "needs a certificate")
		if refused == slices.Contains(roles, trust.Plaintext) {
			t.Errorf("%s: %v (%s)", method, code, said)
		}
		if !refused {
			open = append(open, method)
		}
	}
	slices.Sort(open)
	if want := []string{wire.Control_LoadCheckpoint_FullMethodName, wire.Control_SaveCheckpoint_FullMethodName, wire.Control_Session_FullMethodName}; !slices.Equal(open, want) {
		t.Errorf("in plain text one may call %v", open)
	}
	if code, said := s.call(s.dialWith(s.Join, insecure.NewCredentials()), wire.Join_Admit_FullMethodName); code != codes.Unavailable {
		t.Errorf("to join in plain text: %v (%s)", code, said)
	}
}

// Only a coordinator that has certificates can accept plain text beside them. It gets them, also
// on loopback.
func TestAcceptPlaintextNeedsCertificates(t *testing.T) {
	t.Parallel()
	if _, err := (Config{Dir: t.TempDir(), Insecure: true, AcceptPlaintext: "127.0.0.1:0"}).validated(); err == nil {
		t.Error("an insecure coordinator that accepts plain text beside TLS")
	}
	token := ""
	s := startWith(t, t.TempDir(), func(c *Config) {
		acceptPlaintext(c)
		c.FirstToken = func(_, first string) { token = first }
	})
	if token == "" || s.Join == "" {
		t.Errorf("join at %q, token made: %t", s.Join, token != "")
	}
}

// Workers without a certificate find the coordinator by a gossip of their own. Those with one
// are not in it.
func TestTwoGossips(t *testing.T) {
	t.Parallel()
	s := startSecuredWith(t, t.TempDir(), acceptPlaintext)
	g, err := gossip.Join(t.Context(), gossip.Config{Name: "open", Bind: "127.0.0.1:0", Seeds: []string{s.Plaintext}, Meta: gossip.Meta{Role: gossip.RoleWorker}, Wait: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if control, err := g.Coordinator(t.Context(), ""); err != nil || control != s.Control {
		t.Errorf("the coordinator is at %s: %v", control, err)
	}
	if _, err := gossip.Join(t.Context(), gossip.Config{Name: "late", Bind: "127.0.0.1:0", Seeds: []string{s.Gossip}, Meta: gossip.Meta{Role: gossip.RoleWorker}, Wait: time.Second}); err == nil {
		t.Error("the encrypted gossip takes a member in plain text")
	}
}
