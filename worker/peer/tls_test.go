package peer

import (
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
	"github.com/ergoflow/ergoflow/worker/replica"
	"github.com/ergoflow/ergoflow/worker/replica/replicatest"
)

// secured serves a replica to peers over TCP with TLS, by a worker with a certificate.
func secured(t *testing.T, a *trust.Authority, name string, r *replica.Replica) (*allreduce.Server, message.Member) {
	t.Helper()
	own := trusttest.Credentials(t, a, trust.Worker, name)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rings := allreduce.NewServer(own)
	g := grpc.NewServer(append(rings.Options(), wire.Roles.Interceptors(func(string, error) {})...)...)
	wire.RegisterPeerServer(g, &Server{Replica: func() *replica.Replica { return r }, Rings: rings})
	done := make(chan error, 1)
	go func() { done <- rings.Serve(g, l, "") }()
	t.Cleanup(func() {
		g.Stop()
		<-done
	})
	return rings, message.Member{ID: ergoflow.WorkerID(name), DataAddress: l.Addr().String(), Identity: own.Identity().String()}
}

// Peers that have certificates know each other by them, in all calls and both ways.
func TestPeersWithCertificates(t *testing.T) {
	lab := trusttest.Authority(t, "lab")
	leader, follower := replicatest.Open(t), replicatest.Open(t)
	replicatest.Advance(t, leader, 3, 5)
	_, member := secured(t, lab, "leader", leader)
	rings, us := secured(t, lab, "follower", follower)
	_, other := secured(t, lab, "other", leader)
	log := slog.New(slog.DiscardHandler)
	mark := ergoflow.Mark{Generation: 3, Step: 5}

	if st, err := FetchState(t.Context(), rings, member, follower, mark, log); err != nil || st.Step != mark.Step {
		t.Errorf("state: %v", err)
	}
	if err := CheckLink(t.Context(), rings, member, us.DataAddress); err != nil {
		t.Errorf("link: %v", err)
	}
	following := Follow(t.Context(), rings, follower, member, log, func(ergoflow.Mark) {})
	following.Stop()
	if want, _ := encoded(t, leader); want != first(encoded(t, follower)) {
		t.Error("the follower has another state")
	}

	names := func(err error, parts ...string) bool {
		for _, part := range parts {
			if !strings.Contains(fmt.Sprint(err), part) {
				return false
			}
		}
		return err != nil
	}
	elsewhere := member
	elsewhere.DataAddress = other.DataAddress
	if _, err := FetchState(t.Context(), rings, elsewhere, follower, mark, log); !names(err, member.Identity, other.Identity) {
		t.Errorf("state from another worker: %v", err)
	}
	// The member looks whether the one that asks is the one that listens.
	if err := CheckLink(t.Context(), rings, member, other.DataAddress); !names(err, us.Identity, other.Identity) {
		t.Errorf("a link to another worker: %v", err)
	}
	if err := CheckLink(t.Context(), plain, member, us.DataAddress); !names(err, "leader") {
		t.Errorf("a peer without a certificate: %v", err)
	}
	if _, err := FetchState(t.Context(), plain, member, follower, mark, log); !names(err, "may demand a certificate") {
		t.Errorf("a peer without a certificate: %v", err)
	}
}

// While a cluster changes from plain text, workers of both kinds take states from one another,
// and look whether they reach each other. A member that the coordinator names with a certificate
// is not asked without it, and when the change is over nobody is answered in plain text.
func TestPeersOfBothKinds(t *testing.T) {
	lab := trusttest.Authority(t, "lab")
	leader, own := replicatest.Open(t), replicatest.Open(t)
	replicatest.Advance(t, leader, 3, 5)
	rings, with := secured(t, lab, "with", leader)
	without := served(t, leader)
	without.Identity = string(trust.Plaintext)
	log := slog.New(slog.DiscardHandler)
	mark := ergoflow.Mark{Generation: 3, Step: 5}
	ask := func() (state, link error) {
		_, state = FetchState(t.Context(), plain, with, own, mark, log)
		return state, CheckLink(t.Context(), plain, with, without.DataAddress)
	}
	if state, link := ask(); state == nil || link == nil {
		t.Errorf("before the change, in plain text: %v, %v", state, link)
	}
	rings.AcceptPlaintext(true)
	if state, link := ask(); state != nil || link != nil {
		t.Errorf("in plain text: %v, %v", state, link)
	}
	if _, err := FetchState(t.Context(), rings, without, own, mark, log); err != nil {
		t.Errorf("from one in plain text: %v", err)
	}
	named := without
	named.Identity = "ergoflow://lab/worker/without"
	if _, err := FetchState(t.Context(), rings, named, own, mark, log); !strings.Contains(fmt.Sprint(err), "it does not encrypt") {
		t.Errorf("from one in plain text that has a certificate: %v", err)
	}
	rings.AcceptPlaintext(false)
	if state, link := ask(); state == nil || link == nil {
		t.Errorf("after the change, in plain text: %v, %v", state, link)
	}
}

func first[A, B any](a A, _ B) A { return a }
