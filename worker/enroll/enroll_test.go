package enroll_test

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"github.com/ergoflow/ergoflow/worker/enroll"

	"google.golang.org/grpc"
)

// cluster is a secured coordinator on loopback.
func cluster(t *testing.T) (at coordinator.Addresses, token string) {
	t.Helper()
	dir := t.TempDir()
	if _, err := trust.CreateAuthority(t.Context(), filepath.Join(dir, "ca"), "lab", time.Now()); err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan coordinator.Addresses, 1), make(chan error, 1)
	go func() {
		ended <- coordinator.Run(t.Context(), coordinator.Config{
			Dir: dir, Log: slog.New(slog.DiscardHandler),
			FirstToken: func(_, first string) { token = first }, Ready: func(a coordinator.Addresses) { ready <- a },
		})
	}()
	t.Cleanup(func() {
		if err := <-ended; err != nil { // t.Context has ended
			t.Error(err)
		}
	})
	select {
	case at = <-ready:
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	return at, token
}

// Processes that begin at once in one directory share one identity, and spend one use. Later
// ones need no token. The key is for its user's eyes alone.
func TestCredentials(t *testing.T) {
	at, token := cluster(t)
	dir := filepath.Join(t.TempDir(), "new", "credentials")
	if enroll.Has(dir) {
		t.Error("an empty directory has credentials")
	}
	var group sync.WaitGroup
	serials := make([]trust.Serial, 4)
	for i := range serials {
		group.Go(func() {
			c, err := enroll.Credentials(t.Context(), dir, at.Join, token, "gpu")
			if err != nil {
				t.Error(err)
				return
			}
			serials[i] = trust.SerialOf(c.Certificate())
		})
	}
	group.Wait()
	for _, s := range serials {
		if s != serials[0] {
			t.Errorf("several certificates: %v", serials)
		}
	}
	c, err := enroll.Credentials(t.Context(), dir, "127.0.0.1:1", "", "gpu")
	if err != nil || c.Identity() != (trust.Identity{Cluster: "lab", Role: trust.Worker, Name: "gpu"}) || !enroll.Has(dir) {
		t.Errorf("%v, %v", c.Identity(), err)
	}
	if info, err := os.Stat(filepath.Join(dir, "key.pem")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	where, err := enroll.Introduce(t.Context(), c, at.Join)
	if err != nil || where.Control != at.Control || where.Gossip != at.Gossip {
		t.Errorf("%+v, %v", where, err)
	}
	conn, err := grpc.NewClient(where.Control, grpc.WithTransportCredentials(secure.Dial(c, trust.Coordinator)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := enroll.Renew(t.Context(), c, dir, wire.NewControlClient(conn)); err != nil {
		t.Error(err)
	}
	kept, err := trust.OpenCredentials(dir)
	if err != nil || trust.SerialOf(c.Certificate()) == serials[0] || !kept.Certificate().Equal(c.Certificate()) {
		t.Errorf("not renewed, or not kept (%v)", err)
	}
}

// What goes wrong is said in a line, and leaves no credentials.
func TestRefusals(t *testing.T) {
	at, token := cluster(t)
	foreign, _ := cluster(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	last := token[len(token)-1]
	for name, c := range map[string]struct {
		address, token string
		want           error
		text           string
	}{
		"no token":            {at.Join, "", enroll.ErrNoToken, ""},
		"half a token":        {at.Join, token[:40], trust.ErrToken, ""},
		"another secret":      {at.Join, token[:len(token)-1] + string('0'+(last-'0'+1)%10), nil, trust.ErrRefused.Error()},
		"another cluster":     {foreign.Join, token, secure.ErrUntrusted, trust.ErrPin.Error()},
		"the control service": {at.Control, token, secure.ErrUntrusted, ""},
		"nothing there":       {"127.0.0.1:1", token, enroll.ErrUnreachable, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "c")
			_, err := enroll.Credentials(t.Context(), dir, c.address, c.token, "gpu")
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			if err != nil && len(token) > 70 && strings.Contains(err.Error(), token[len(token)-20:]) {
				t.Errorf("the error shows the token: %v", err)
			}
			if enroll.Has(dir) {
				t.Error("there are credentials")
			}
			t.Log(err)
		})
	}
}

// The error names a directory that cannot be made, such as one on a root that is read-only.
func TestNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := enroll.Credentials(t.Context(), filepath.Join(file, "ergoflow", "c"), "127.0.0.1:1", "", "gpu")
	if !errors.Is(err, enroll.ErrDirectory) || !strings.Contains(err.Error(), file) {
		t.Error(err)
	}
}
