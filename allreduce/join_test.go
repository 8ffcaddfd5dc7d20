package allreduce

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ergoflow/ergoflow"
)

func TestJoinRefusesWhatDoesNotFit(t *testing.T) {
	cases := map[string]struct {
		id   Identity
		opts Options
		says string
	}{
		"wire format": {Identity{1, 1, 3}, Options{Wire: BFloat16}, "wire format"},
		"world size":  {Identity{1, 1, 4}, Options{}, "world size"},
		"same rank":   {Identity{1, 0, 3}, Options{}, "rank"},
		"numerics":    {Identity{1, 1, 3}, Options{Numerics: "0.2"}, `numerics "0.2", ours is ""`},
		"plan":        {Identity{1, 1, 3}, Options{Plan: "other"}, `plan "other", ours is ""`},
		"topology":    {Identity{1, 1, 3}, Options{Topology: Circle}, "ring"},
		"token":       {Identity{1, 1, 3}, Options{Token: Token{15: 1}}, "does not know the token of generation 1"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := memoryCluster(t, 3)
				c.peers = append(c.peers, "memory-0")
				errs := each(3, func(r int) error {
					id, opts := Identity{1, r, 3}, Options{}
					if r == 1 {
						id, opts = test.id, test.opts
					}
					_, err := c.servers[r].Join(t.Context(), id, c.peers[:id.World], opts)
					return err
				})
				reason := false
				for r, err := range errs {
					if err == nil {
						t.Errorf("rank %d joined", r)
					}
					reason = reason || errors.Is(err, ErrRefused) && strings.Contains(err.Error(), test.says)
				}
				if !reason {
					t.Errorf("nobody says why: %v", errs)
				}
			})
		})
	}
}

func TestJoinValidates(t *testing.T) {
	for _, id := range []Identity{{0, 0, 1}, {1, 0, 0}, {1, 2, 2}, {1, -1, 2}, {1, 0, ergoflow.MaxWorld + 1}} {
		if _, err := newServer(nil).Join(t.Context(), id, make([]string, max(id.World, 0)), Options{}); err == nil {
			t.Errorf("%v: no error", id)
		}
	}
	if _, err := newServer(nil).Join(t.Context(), Identity{1, 0, 2}, []string{"a"}, Options{}); err == nil {
		t.Error("one address for two ranks: no error")
	}
	if _, err := newServer(nil).Join(t.Context(), Identity{1, 0, 1}, []string{"a"}, Options{Wire: 9}); err == nil {
		t.Error("unknown wire format: no error")
	}
	for name, opts := range map[string]Options{
		"topology":      {Topology: 9},
		"long plan":     {Plan: strings.Repeat("p", maxLabel+1)},
		"wild numerics": {Numerics: "0.1\n"},
	} {
		if _, err := newServer(nil).Join(t.Context(), Identity{1, 0, 1}, []string{"a"}, opts); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := newServer(nil).Join(t.Context(), Identity{1, 0, maxMesh + 1}, make([]string, maxMesh+1), Options{Topology: Mesh}); err == nil {
		t.Error("too large a mesh: no error")
	}
}

// Members do not hear of a generation at the same instant: the early ones wait.
func TestJoinWaitsForTheLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const world = 4
		c := memoryCluster(t, world)
		rings := make([]*Ring, world)
		if err := errors.Join(each(world, func(r int) (err error) {
			time.Sleep(time.Duration(r) * time.Minute) // on the bubble's clock, which takes no real time
			rings[r], err = c.servers[r].Join(t.Context(), Identity{1, r, world}, c.peers, Options{})
			return err
		})...); err != nil {
			t.Fatal(err)
		}
		testSums(t, rings, []int{10, 10_000})
		closeAll(t, rings)
	})
}

// Join ends with its context and says who did not come.
func TestJoinNamesTheAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := memoryCluster(t, 3)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		errs := each(2, func(r int) error {
			_, err := c.servers[r].Join(ctx, Identity{1, r, 3}, c.peers, Options{})
			return err
		})
		for r, err := range errs {
			if e, ok := errors.AsType[*Error](err); !ok || e.Peer != 2 || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("rank %d: %v", r, err)
			}
		}
	})
}

func TestJoinFailsAtOnceWhereNobodyListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := memoryCluster(t, 1)
		_, err := c.servers[0].Join(t.Context(), Identity{1, 0, 2}, []string{"memory-0", "nowhere"}, Options{})
		if e, ok := errors.AsType[*Error](err); !ok || e.Peer != 1 || e.Address != "nowhere" || !errors.Is(err, ErrPeerLost) {
			t.Errorf("%v", err)
		}
	})
}

// A newer generation fences the older ring, also in the middle of an
// all-reduce, and keeps its streams out.
func TestNewGenerationFences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := memoryCluster(t, 2)
		old := mustJoin(t, c, 4, Options{})
		stuck := make(chan error)
		go func() { stuck <- old[0].AllReduce(0, make([]float32, 10)) }()
		synctest.Wait()
		rings := mustJoin(t, c, 6, Options{})
		if err := <-stuck; !errors.Is(err, ErrFenced) && !errors.Is(err, ErrPeerLost) {
			t.Errorf("all-reduce of the old generation: %v", err)
		}
		for r, ring := range old {
			if err := ring.AllReduce(1, nil); err == nil {
				t.Errorf("rank %d goes on in the old generation", r)
			}
		}
		for _, g := range []ergoflow.Generation{5, 6} {
			if _, err := c.servers[0].Join(t.Context(), Identity{g, 0, 1}, []string{""}, Options{}); !errors.Is(err, ErrFenced) {
				t.Errorf("joining generation %d after 6: %v", g, err)
			}
		}
		// A laggard that still believes in generation 5 is told so.
		laggard := c.servers[0].dialer.(*InProcess).Listen("laggard")
		_, err := laggard.Join(t.Context(), Identity{5, 1, 2}, []string{c.peers[0], "laggard"}, Options{})
		if !errors.Is(err, ErrFenced) || !strings.Contains(err.Error(), "newest is 6") {
			t.Errorf("laggard: %v", err)
		}
		testSums(t, rings, []int{10})
		closeAll(t, rings)
	})
}

// Streams that wait for a generation are bounded, and give up their place.
func TestWaitingStreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewInProcess()
		m.Listen("target")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		flood := make(chan error, maxWaiting)
		dial := func(ctx context.Context) error {
			_, _, err := m.dial(ctx, "target", 1, hello{id: Identity{9, 0, 2}, opts: Options{Topology: Mesh}})
			return err
		}
		for range maxWaiting {
			go func() { flood <- dial(ctx) }()
		}
		synctest.Wait()
		if err := dial(t.Context()); !errors.Is(err, ErrRefused) {
			t.Errorf("one more than the bound: %v", err)
		}
		cancel()
		for range maxWaiting {
			if err := <-flood; !errors.Is(err, context.Canceled) {
				t.Errorf("given up: %v", err)
			}
		}
		late, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := dial(late); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the flood: %v", err)
		}
	})
}

// A second stream that claims to be the predecessor changes nothing.
func TestSecondPredecessorIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := memoryCluster(t, 2)
		rings := mustJoin(t, c, 1, Options{})
		m := c.servers[0].dialer.(*InProcess)
		_, _, err := m.dial(t.Context(), c.peers[1], 1, hello{id: Identity{1, 0, 2}, opts: Options{Topology: Mesh}})
		if !errors.Is(err, ErrRefused) || !strings.Contains(fmt.Sprint(err), "connected already") {
			t.Errorf("second predecessor: %v", err)
		}
		testSums(t, rings, []int{10})
		closeAll(t, rings)
	})
}

// A stranger who knows everything of a generation but its token, and comes first,
// takes nobody's place in it.
func TestStrangerComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := memoryCluster(t, 2)
		m := c.servers[0].dialer.(*InProcess)
		refused := make(chan error, 2)
		for _, token := range []Token{{}, {15: 2}} {
			go func() {
				_, _, err := m.dial(t.Context(), c.peers[1], 1, hello{id: Identity{1, 0, 2}, opts: Options{Topology: Mesh, Token: token}})
				refused <- err
			}()
		}
		synctest.Wait() // they wait for the generation
		rings := mustJoin(t, c, 1, Options{Token: Token{15: 1}})
		for range 2 {
			if err := <-refused; !errors.Is(err, ErrRefused) || !strings.Contains(fmt.Sprint(err), "token") {
				t.Errorf("a stranger: %v", err)
			}
		}
		testSums(t, rings, []int{10})
		closeAll(t, rings)
	})
}

// Streams of generations that are made up keep nobody out whose generation comes next,
// and are reported.
func TestFloodOfFarGenerations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := memoryCluster(t, 2)
		m := c.servers[0].dialer.(*InProcess)
		for range 2 * maxWaiting {
			go m.dial(t.Context(), c.peers[1], 1, hello{id: Identity{1 << 60, 0, 2}, opts: Options{Topology: Mesh}})
		}
		synctest.Wait()
		if err := errors.Join(each(2, func(r int) error {
			time.Sleep(time.Duration(r) * 5 * time.Millisecond) // on the bubble's clock: rank 0 dials before rank 1 has joined
			_, err := c.servers[r].Join(t.Context(), Identity{1, r, 2}, c.peers, Options{})
			return err
		})...); err != nil {
			t.Error(err)
		}
	})
}
