package allreduce

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

// encrypted says by rank whether a ring's streams to the others are.
func encrypted(r *Ring) map[int]bool {
	all := make(map[int]bool)
	for _, to := range r.sinks {
		p, _ := peer.FromContext(to.out.(*streamOutgoing).stream.Context())
		_, all[to.rank] = p.AuthInfo.(credentials.TLSInfo)
	}
	return all
}

// mixed has workers with certificates, and behind them one without, and what the coordinator
// says of them.
func mixed(t *testing.T, own ...*trust.Credentials) (c cluster, opts Options) {
	t.Helper()
	c = tcpCluster(t, slices.Concat(own, []*trust.Credentials{nil})...)
	for _, s := range c.servers {
		s.AcceptPlaintext(true)
	}
	return c, Options{Token: Token{1}, Identities: append(identities(own), string(trust.Plaintext))}
}

// A ring whose third rank has no certificate sums as any. Between ranks that have one it
// encrypts.
func TestMixedRing(t *testing.T) {
	for name, topology := range map[string]Topology{"mesh": Mesh, "circle": Circle} {
		t.Run(name, func(t *testing.T) {
			c, opts := mixed(t, workers(t, trusttest.Authority(t, "lab"), 2)...)
			opts.Topology = topology
			rings := mustJoin(t, c, 1, opts)
			for from, r := range rings {
				for to, is := range encrypted(r) {
					if want := from < 2 && to < 2; is != want {
						t.Errorf("rank %d to %d: encrypted %t, want %t", from, to, is, want)
					}
				}
			}
			testSums(t, rings, []int{7, 5000, 270_000})
			closeAll(t, rings)
			if len(c.refusals) > 0 {
				t.Error(<-c.refusals)
			}
		})
	}
}

// While members accept plain text, they do not take a process without a certificate for a rank that
// has one, nor a process with a certificate for a rank in plain text. It makes no difference which
// of the two dials.
func TestNoDowngrade(t *testing.T) {
	lab := trusttest.Authority(t, "lab")
	w := workers(t, lab, 3)
	t.Run("dials without a certificate", func(t *testing.T) {
		c, opts := mixed(t, w[:2]...)
		opts.Topology = Mesh
		impostor := make(chan error, 1)
		go func() { // it knows all that plain text has told it, and is there first
			_, _, err := c.servers[2].dialer.dial(t.Context(), c.peers[0], 0, hello{id: Identity{1, 1, 3}, opts: opts})
			impostor <- err
		}()
		awaitWaiter(t, c.servers[0])
		rings := mustJoin(t, c, 1, opts)
		said := "rank 1 speaks plain text, and the coordinator named it with a certificate"
		if err := <-impostor; !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), said) {
			t.Errorf("it was told: %v", err)
		}
		if err := c.refusal(t); !strings.Contains(err.Error(), said) {
			t.Errorf("reported: %v", err)
		}
		testSums(t, rings, []int{10})
		closeAll(t, rings)
	})
	t.Run("listens without a certificate", func(t *testing.T) {
		c := tcpCluster(t, w[0], nil)
		c.servers[0].AcceptPlaintext(true)
		_, err := c.servers[0].Join(soon(t), Identity{1, 0, 2}, c.peers, Options{Identities: identities(w[:2])})
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "it does not encrypt") {
			t.Errorf("join: %v", err)
		}
		if err := c.servers[0].Reach(t.Context(), c.peers[1], w[1].Identity().String()); !errors.Is(err, ErrRefused) {
			t.Errorf("reach: %v", err)
		}
	})
	t.Run("any worker", func(t *testing.T) { // no coordinator has named anybody
		c, _ := mixed(t, w[0])
		go c.servers[0].Join(t.Context(), Identity{1, 0, 2}, c.peers, Options{})
		_, _, err := c.servers[1].dialer.dial(soon(t), c.peers[0], 0, hello{id: Identity{1, 1, 2}, opts: Options{Topology: Mesh}})
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "rank 1 speaks plain text") {
			t.Errorf("it was told: %v", err)
		}
	})
	t.Run("another's certificate", func(t *testing.T) {
		c, opts := mixed(t, w[0])
		c.serve(t, w[2], false)
		impostor := make(chan error, 1)
		go func() {
			theirs := opts
			theirs.Identities, theirs.Topology = nil, Mesh
			_, _, err := c.servers[2].dialer.dial(t.Context(), c.peers[0], 0, hello{id: Identity{1, 1, 2}, opts: theirs})
			impostor <- err
		}()
		awaitWaiter(t, c.servers[0])
		members := c
		members.servers, members.peers = c.servers[:2], c.peers[:2]
		rings := mustJoin(t, members, 1, opts)
		if err := <-impostor; !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), w[2].Identity().String()) {
			t.Errorf("it was told: %v", err)
		}
		closeAll(t, rings)
	})
}

// When the coordinator says that the change is over, connections in plain text end, and new ones
// are refused, also those of a rank that an old message names.
func TestPlaintextEnds(t *testing.T) {
	c, opts := mixed(t, workers(t, trusttest.Authority(t, "lab"), 2)...)
	rings := mustJoin(t, c, 1, opts)
	testSums(t, rings, []int{10})
	for _, s := range c.servers[:2] {
		s.AcceptPlaintext(false)
	}
	for r, err := range each(3, func(r int) error { return rings[r].AllReduce(9, make([]float32, 10)) }) {
		if err == nil {
			t.Errorf("rank %d sums with a rank whose connections have ended", r)
		}
	}
	for len(c.refusals) > 0 {
		<-c.refusals
	}
	errs := each(3, func(r int) error {
		_, err := c.servers[r].Join(soon(t), Identity{2, r, 3}, c.peers, opts)
		return err
	})
	if !slices.ContainsFunc(errs, func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "it may demand a certificate")
	}) {
		t.Errorf("a rank without a certificate is told: %v", errs)
	}
	if err := c.refusal(t); !strings.Contains(err.Error(), "it does not encrypt, and this process has certificates") {
		t.Errorf("reported: %v", err)
	}
}
