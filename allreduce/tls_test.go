package allreduce

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

// holder has a certificate, and trusts its authority and others.
func holder(t testing.TB, a *trust.Authority, role trust.Role, name string, others ...*trust.Authority) *trust.Credentials {
	t.Helper()
	trusted := trusttest.Bundle(t, a)
	for _, other := range others {
		trusted = append(trusted, trusttest.Bundle(t, other)...)
	}
	c, err := trust.NewCredentials(trusttest.Issue(t, a, role, name), trusted)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// workers are w0, w1, …
func workers(t testing.TB, a *trust.Authority, n int) (all []*trust.Credentials) {
	t.Helper()
	for i := range n {
		all = append(all, holder(t, a, trust.Worker, fmt.Sprintf("w%d", i)))
	}
	return all
}

func identities(all []*trust.Credentials) (names []string) {
	for _, c := range all {
		names = append(names, c.Identity().String())
	}
	return names
}

// Sums over TLS have the same bits as in plain text, whichever way they take.
func TestTLSChangesNoSum(t *testing.T) {
	lab := trusttest.Authority(t, "lab")
	for world := 2; world <= 4; world++ {
		secret, open := tcpCluster(t, workers(t, lab, world)...), tcpCluster(t, make([]*trust.Credentials, world)...)
		var g ergoflow.Generation
		for _, topology := range []Topology{Mesh, Circle} {
			for _, wire := range []Wire{Float32, BFloat16, Int8} {
				g++
				opts := Options{Topology: topology, Wire: wire}
				sums := func(c cluster, opts Options) (bits []uint32) {
					rings := mustJoin(t, c, g, opts)
					for _, used := range networks(rings[0]) {
						if used != "tcp" {
							t.Errorf("connected by %s", used)
						}
					}
					rng := rand.New(rand.NewPCG(uint64(world), uint64(g)))
					for step, n := range []int{7, 5000, 270_000} {
						v := make([][]float32, world)
						for r := range v {
							v[r] = make([]float32, n)
							for i := range v[r] {
								v[r][i] = rng.Float32() - 0.5
							}
						}
						if err := errors.Join(each(world, func(r int) error { return rings[r].AllReduce(ergoflow.Step(step), v[r]) })...); err != nil {
							t.Fatal(err)
						}
						for r := range v {
							for _, x := range v[r] {
								bits = append(bits, math.Float32bits(x))
							}
						}
					}
					closeAll(t, rings)
					return bits
				}
				want := sums(open, opts)
				opts.Identities = identities(credentialsOf(secret))
				if got := sums(secret, opts); !slices.Equal(got, want) {
					t.Errorf("%d ranks, %v, %v: other sums", world, topology, wire)
				}
			}
		}
	}
}

func credentialsOf(c cluster) (all []*trust.Credentials) {
	for _, s := range c.servers {
		all = append(all, s.own)
	}
	return all
}

// soon ends what would wait for ever.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// refusal is the next one that a server reports.
func (c cluster) refusal(t *testing.T) error {
	t.Helper()
	select {
	case err := <-c.refusals:
		return err
	case <-soon(t).Done():
		t.Fatal("nothing was reported")
		return nil
	}
}

// seen is what interceptors learn of the streams of a server.
type seen struct {
	mu    sync.Mutex
	infos []credentials.AuthInfo
}

func (s *seen) option() grpc.ServerOption {
	return grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		p, _ := peer.FromContext(stream.Context())
		s.mu.Lock()
		s.infos = append(s.infos, p.AuthInfo)
		s.mu.Unlock()
		return next(srv, stream)
	})
}

func (s *seen) last() credentials.AuthInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.infos[len(s.infos)-1]
}

func (s *seen) lastTLS(t *testing.T) credentials.TLSInfo {
	t.Helper()
	info, ok := s.last().(credentials.TLSInfo)
	if !ok {
		t.Fatalf("a stream of %T", s.last())
	}
	return info
}

// An interceptor sees who sends. The second generation resumes the sessions of the first; a
// renewed certificate is shown at once.
func TestInterceptorsAndResumption(t *testing.T) {
	lab := trusttest.Authority(t, "lab")
	own := workers(t, lab, 2)
	var c cluster
	var streams seen
	for _, own := range own {
		c.serve(t, own, false, streams.option())
	}
	join := func(g ergoflow.Generation) {
		rings := mustJoin(t, c, g, Options{Identities: identities(own)})
		testSums(t, rings, []int{100_000})
		closeAll(t, rings)
	}
	for g, resumed := range []bool{false, true, true} {
		join(ergoflow.Generation(g + 1))
		info := streams.lastTLS(t)
		if info.State.DidResume != resumed || info.State.Version != tls.VersionTLS13 || info.State.CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
			t.Errorf("generation %d: resumed %t, version %#x, cipher %#x", g+1, info.State.DidResume, info.State.Version, info.State.CipherSuite)
		}
		if id, err := trust.IdentityOf(info.State.PeerCertificates[0]); err != nil || id.Role != trust.Worker {
			t.Errorf("generation %d: sent by %v, %v", g+1, id, err)
		}
	}
	for i := range own {
		if err := own[i].Replace(trusttest.Issue(t, lab, trust.Worker, fmt.Sprintf("w%d", i)), trusttest.Bundle(t, lab)); err != nil {
			t.Fatal(err)
		}
	}
	join(4)
	shown := streams.lastTLS(t).State.PeerCertificates[0]
	if streams.lastTLS(t).State.DidResume || !shown.Equal(own[0].Certificate()) && !shown.Equal(own[1].Certificate()) {
		t.Error("after the renewal a server saw an old certificate")
	}
}

// Who has no right to connect is refused, each side says why in one line, and neither waits.
func TestWhoMayConnect(t *testing.T) {
	lab, other, foreign := trusttest.Authority(t, "lab"), trusttest.Authority(t, "other"), trusttest.Authority(t, "lab")
	w0, w1 := holder(t, lab, trust.Worker, "w0"), holder(t, lab, trust.Worker, "w1")
	for name, test := range map[string]struct {
		dials, listens *trust.Credentials
		says, refusal  string
		kind, seen     error // what the one that dials says, and the one that listens
	}{
		"an operator":              {dials: holder(t, lab, trust.Operator, "o"), listens: w1, kind: ErrRefused, says: "it does not accept ergoflow://lab/operator/o", seen: trust.ErrRole, refusal: "ergoflow://lab/operator/o"},
		"to a coordinator":         {dials: w0, listens: holder(t, lab, trust.Coordinator, "c"), kind: trust.ErrRole, says: "ergoflow://lab/coordinator/c", seen: ErrRefused, refusal: "it does not accept ergoflow://lab/coordinator/c"},
		"another cluster":          {dials: holder(t, other, trust.Worker, "w0", lab), listens: holder(t, lab, trust.Worker, "w1", other), kind: trust.ErrCluster, says: "ergoflow://lab/worker/w1", seen: ErrRefused, refusal: "does not accept"},
		"a foreign CA":             {dials: holder(t, foreign, trust.Worker, "w0"), listens: w1, kind: trust.ErrAuthority, says: "ergoflow://lab/worker/w1", seen: ErrRefused, refusal: "does not accept"},
		"a foreign CA that trusts": {dials: holder(t, foreign, trust.Worker, "w0", lab), listens: w1, kind: ErrRefused, says: "does not accept", seen: trust.ErrAuthority, refusal: "ergoflow://lab/worker/w0"},
		"plain text to TLS":        {dials: nil, listens: w1, kind: ErrPeerLost, says: "it may demand a certificate", seen: ErrRefused, refusal: "it does not encrypt"},
		"TLS to plain text":        {dials: w0, listens: nil, kind: ErrRefused, says: "it does not encrypt", seen: ErrRefused, refusal: "it demands TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := tcpCluster(t, test.dials, test.listens)
			// Rank 1 does not join: nothing waits for that.
			_, err := c.servers[0].Join(soon(t), Identity{1, 0, 2}, c.peers, Options{})
			if !errors.Is(err, test.kind) || !strings.Contains(fmt.Sprint(err), test.says) || strings.Contains(fmt.Sprint(err), "\n") {
				t.Errorf("join: %v", err)
			}
			refusal := c.refusal(t)
			if !errors.Is(refusal, test.seen) || !strings.Contains(refusal.Error(), test.refusal) || strings.Contains(refusal.Error(), "\n") {
				t.Errorf("the other side: %v", refusal)
			}
			if test.dials == nil {
				return // Reach of a process without certificates asks only for a connection
			}
			if err := c.servers[0].Reach(t.Context(), c.peers[1], ""); !errors.Is(err, test.kind) {
				t.Errorf("reach: %v", err)
			}
			c.refusal(t)
			if n := len(c.refusals); n > 0 {
				t.Errorf("%d lines more, the first of them: %v", n, <-c.refusals)
			}
		})
	}
}

func TestNoCertificate(t *testing.T) {
	c := tcpCluster(t, workers(t, trusttest.Authority(t, "lab"), 1)...)
	conn, err := tls.Dial("tcp", c.peers[0], &tls.Config{InsecureSkipVerify: true, NextProtos: protocols})
	if err == nil {
		defer conn.Close()
		_, err = conn.Read(make([]byte, 1))
	}
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("the client: %v", err)
	}
	if err := c.refusal(t); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("the server: %v", err)
	}
}

// A member of the cluster that is not the member of the generation, but knows all of it, gets
// no greeting from the others, and gives none.
func TestAnotherIdentity(t *testing.T) {
	lab := trusttest.Authority(t, "lab")
	w0, w1, w2 := holder(t, lab, trust.Worker, "w0"), holder(t, lab, trust.Worker, "w1"), holder(t, lab, trust.Worker, "w2")
	opts := Options{Topology: Mesh, Token: Token{1}, Identities: identities([]*trust.Credentials{w0, w1})}
	both := func(err error) bool {
		return errors.Is(err, ErrRefused) && strings.Contains(err.Error(), w1.Identity().String()) && strings.Contains(err.Error(), w2.Identity().String())
	}
	t.Run("listens", func(t *testing.T) {
		c := tcpCluster(t, w0, w2)
		_, err := c.servers[0].Join(soon(t), Identity{1, 0, 2}, c.peers, opts)
		if e, ok := errors.AsType[*Error](err); !ok || e.Peer != 1 || !both(err) {
			t.Errorf("join: %v", err)
		}
		if err := c.refusal(t); !strings.Contains(err.Error(), "does not accept "+w2.Identity().String()) {
			t.Errorf("the other: %v", err)
		}
		if err := c.servers[0].Reach(t.Context(), c.peers[1], w1.Identity().String()); !both(err) {
			t.Errorf("reach: %v", err)
		}
		if err := c.servers[0].Reach(t.Context(), c.peers[1], w2.Identity().String()); err != nil {
			t.Errorf("reach of the right one: %v", err)
		}
	})
	t.Run("dials", func(t *testing.T) {
		c := tcpCluster(t, w0, w1, w2)
		members := c
		members.servers, members.peers = c.servers[:2], c.peers[:2]
		impostor := make(chan error, 1)
		go func() { // it waits for the generation, and is there first
			theirs := opts
			theirs.Identities, theirs.Topology = nil, Mesh
			_, _, err := c.servers[2].dialer.dial(t.Context(), c.peers[0], 0, hello{id: Identity{1, 1, 2}, opts: theirs})
			impostor <- err
		}()
		awaitWaiter(t, c.servers[0])
		rings := mustJoin(t, members, 1, opts)
		if err := <-impostor; !both(err) {
			t.Errorf("it was told: %v", err)
		}
		if err := c.refusal(t); !both(err) {
			t.Errorf("reported: %v", err)
		}
		testSums(t, rings, []int{10})
		closeAll(t, rings)
	})
	t.Run("has no name", func(t *testing.T) { // the coordinator does not know who rank 1 is
		c := tcpCluster(t, w0, w1)
		_, err := c.servers[0].Join(soon(t), Identity{1, 0, 2}, c.peers, Options{Identities: []string{w0.Identity().String(), ""}})
		if !errors.Is(err, ErrRefused) {
			t.Errorf("join: %v", err)
		}
	})
}

// awaitWaiter waits until a stream waits for its generation.
func awaitWaiter(t *testing.T, s *Server) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		s.mu.Lock()
		n := len(s.waiting)
		s.mu.Unlock()
		if n > 0 || t.Context().Err() != nil {
			return
		}
	}
}

// Processes that begin a handshake and do not end it keep nobody out, and are let go.
func TestUnfinishedHandshakes(t *testing.T) {
	t.Parallel()
	own := workers(t, trusttest.Authority(t, "lab"), 2)
	c := tcpCluster(t, own...)
	var idle []net.Conn
	for i := range 40 {
		conn, err := net.Dial("tcp", c.peers[i%2])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%4 < 2 {
			conn.Write([]byte{recordHandshake, 3, 1, 2, 0, 1}) // of a long hello
		}
		idle = append(idle, conn)
	}
	rings := mustJoin(t, c, 1, Options{Identities: identities(own)})
	testSums(t, rings, []int{100_000})
	closeAll(t, rings)
	for _, conn := range idle {
		io.Copy(io.Discard, conn) // until the process lets it go
		if err := c.refusal(t); !errors.Is(err, ErrSilent) || !strings.Contains(err.Error(), "no handshake of TLS within") {
			t.Errorf("reported: %v", err)
		}
	}
}

// A process that takes connections and says nothing is silent.
func TestSilentListener(t *testing.T) {
	t.Parallel()
	own := workers(t, trusttest.Authority(t, "lab"), 1)
	c := tcpCluster(t, own...)
	l, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	reached := make(chan error, 1)
	go func() { reached <- c.servers[0].Reach(t.Context(), l.Addr().String(), "") }()
	_, err = c.servers[0].Join(soon(t), Identity{1, 0, 2}, []string{c.peers[0], l.Addr().String()}, Options{})
	if !errors.Is(err, ErrSilent) || !slices.Equal(silentTo(err), []int{1}) {
		t.Errorf("join: %v, silent %v", err, silentTo(err))
	}
	if err := <-reached; !errors.Is(err, ErrSilent) {
		t.Errorf("reach: %v", err)
	}
}

// The handshake of both ends, new and resumed.
func BenchmarkReach(b *testing.B) {
	c := tcpCluster(b, workers(b, trusttest.Authority(b, "lab"), 2)...)
	for _, resumed := range []bool{false, true} {
		b.Run(fmt.Sprintf("resumed=%t", resumed), func(b *testing.B) {
			for b.Loop() {
				if !resumed {
					c.servers[0].sessions = tls.NewLRUClientSessionCache(1)
				}
				if err := c.servers[0].Reach(b.Context(), c.peers[1], ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
