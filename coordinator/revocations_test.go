package coordinator

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/ergoflow/ergoflow/coordinator/leader"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/addresstest"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

// What one of three coordinators revokes, each refuses: whether it leads or not, whether it has
// the authority or credentials of it alone, and after it was away with an old list.
func TestRevocationsOfSeveralCoordinators(t *testing.T) {
	t.Parallel()
	dirs, peers := []string{t.TempDir(), t.TempDir(), t.TempDir()}, []string{addresstest.Free(t), addresstest.Free(t), addresstest.Free(t)}
	store := filepath.Join(t.TempDir(), "shards")
	ca := filepath.Join(dirs[0], authorityDir)
	first, err := trust.CreateAuthority(t.Context(), ca, clusterName, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dirs[1], authorityDir), os.DirFS(ca)); err != nil {
		t.Fatal(err)
	}
	second, err := trust.OpenAuthority(t.Context(), filepath.Join(dirs[1], authorityDir))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(dirs[2], credentialsDir)
	issueInto(t, first, elsewhere, trust.Coordinator, "third")
	viewer := func(name string) *trust.Credentials { return trusttest.Credentials(t, first, trust.Viewer, name) }
	early, byFirst, bySecond, byThird, good := viewer("early"), viewer("by-first"), viewer("by-second"), viewer("by-third"), viewer("good")
	// Revoked when each coordinator had a list of its own.
	if err := trust.SaveRevocations(elsewhere, trust.Revocations{Identities: []trust.RevokedIdentity{{Identity: early.Identity(), Time: time.Now()}}}); err != nil {
		t.Fatal(err)
	}
	var list []*server
	for i, dir := range dirs {
		list = append(list, startMember(t, dir, store, peers[i], peers))
	}
	// answer is what the coordinator i says to somebody; "" if it serves.
	answer := func(i int, c *trust.Credentials) string {
		conn, err := grpc.NewClient(list[i].Control, grpc.WithTransportCredentials(secure.Dial(c, trust.Coordinator)))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err = wire.NewCoordinatorsClient(conn).List(t.Context(), &wire.ListCoordinatorsRequest{Brief: true}); err != nil {
			return err.Error()
		}
		return ""
	}
	allRefuse := func(c *trust.Credentials) {
		t.Helper()
		until(t, "all refuse "+c.Identity().String(), func() bool {
			return answer(0, c) != "" && answer(1, c) != "" && answer(2, c) != ""
		})
	}
	allRefuse(early)
	for i := range list {
		if said := answer(i, good); said != "" {
			t.Errorf("coordinator %d refuses a good certificate: %s", i, said)
		}
	}

	// One of these leads, and two do not.
	if err := first.RevokeIdentity(t.Context(), byFirst.Identity(), time.Now()); err != nil {
		t.Fatal(err)
	}
	allRefuse(byFirst)
	if err := second.RevokeSerial(t.Context(), trust.SerialOf(bySecond.Certificate()), time.Now()); err != nil {
		t.Fatal(err)
	}
	allRefuse(bySecond)
	known, err := trust.RevocationsIn(elsewhere).Read()
	if err != nil {
		t.Fatal(err)
	}
	known.Identities = append(known.Identities, trust.RevokedIdentity{Identity: byThird.Identity(), Time: time.Now()})
	if err := trust.SaveRevocations(elsewhere, known); err != nil {
		t.Fatal(err)
	}
	allRefuse(byThird)
	for i, a := range []*trust.Authority{first, second} {
		if _, err := a.Issue(t.Context(), trust.Request{Role: trust.Viewer, Name: "by-third"}, time.Now()); !errors.Is(err, trust.ErrRevoked) {
			t.Errorf("the authority of coordinator %d signs for a revoked name: %v", i, err)
		}
	}

	// All end, and one comes back with an old list. The cluster's ledger has the new one.
	for _, s := range list {
		s.close()
	}
	if err := trust.SaveRevocations(elsewhere, trust.Revocations{}); err != nil {
		t.Fatal(err)
	}
	for i, dir := range dirs {
		list[i] = startMember(t, dir, store, peers[i], peers)
	}
	for _, c := range []*trust.Credentials{early, byFirst, bySecond, byThird} {
		allRefuse(c)
	}
	operator, err := trust.OpenCredentials(OperatorDir(dirs[0]))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := leader.Dial(peers[0], secure.Dial(operator, trust.Coordinator))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	until(t, "one leads again", func() bool {
		_, err := wire.NewControlClient(conn).Status(t.Context(), &wire.StatusRequest{})
		return err == nil
	})
	list[0].close()
	if warning, err := VerifyLedger(dirs[0]); err != nil || warning != "" {
		t.Errorf("the ledger: %s, %v", warning, err)
	}
	l, err := openLedger(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if r, err := l.revoked(); err != nil || r.Len() != 4 {
		t.Errorf("the ledger has %+v, %v", r, err)
	}
}

// An entry that nobody could read again does not reach the ledger.
func TestRevocationsThatNameNobody(t *testing.T) {
	l, err := openLedger(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for _, text := range []string{`{"identities": [{}]}`, `{"serials": [{}]}`} {
		r, err := readTold([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.revoke(r); err == nil {
			t.Errorf("it enters %s", text)
		}
	}
	if r, err := l.revoked(); err != nil || r.Len() > 0 {
		t.Errorf("the ledger has %+v, %v", r, err)
	}
}

// What a coordinator tells is checked before the leader enters it.
func TestToldRevocations(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":        "x",
		"no identity":    `{"identities": [{"identity": "root", "time": "2026-01-01T00:00:00Z"}]}`,
		"no serial":      `{"serials": [{"serial": "xyz", "time": "2026-01-01T00:00:00Z"}]}`,
		"too many bytes": strings.Repeat(" ", maxToldBytes) + "{}",
	} {
		if r, err := readTold([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
