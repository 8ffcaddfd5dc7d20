package jobs

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

// A lab is a cluster with certificates, or without.
type lab struct {
	authority *trust.Authority // nil: plain text
	workers   atomic.Int32
}

// both runs a test in plain text and over TLS, where all have the roles that they have in a
// cluster.
func both(t *testing.T, test func(*testing.T, *lab)) {
	t.Run("plain", func(t *testing.T) { test(t, &lab{}) })
	t.Run("tls", func(t *testing.T) { test(t, certified(t)) })
}

func certified(t *testing.T) *lab {
	t.Helper()
	return &lab{authority: trusttest.Authority(t, "lab")}
}

// of makes the credentials of an identity, which refuse what the authority has revoked.
func (l *lab) of(t *testing.T, role trust.Role, name string) *trust.Credentials {
	t.Helper()
	if l.authority == nil {
		return nil
	}
	c := trusttest.Credentials(t, l.authority, role, name)
	c.SetRevoked(l.authority.Revoked)
	return c
}

func (l *lab) serve(t *testing.T, dir string) *Server {
	t.Helper()
	s, err := Serve(dir, "", l.of(t, trust.Coordinator, "main"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// connected is the coordinator's connection.
func (l *lab) connected(t *testing.T, s *Server, o options) *Queue {
	t.Helper()
	q, err := open(t.Context(), s.URL(), Access{Credentials: l.of(t, trust.Coordinator, "main")}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// worker is the connection of a new worker.
func (l *lab) worker(t *testing.T, s *Server, o options) *Queue {
	t.Helper()
	return l.workerAt(t, s.URL(), o)
}

func (l *lab) workerAt(t *testing.T, url string, o options) *Queue {
	t.Helper()
	q, err := connectWorker(url, Access{Credentials: l.of(t, trust.Worker, fmt.Sprint("w", l.workers.Add(1)))}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}
