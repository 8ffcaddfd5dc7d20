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

// train all-reduces n numbers step after step until that fails.
func train(r *Ring, n int, steps ergoflow.Step) error {
	v := make([]float32, n)
	for step := range steps {
		if err := r.AllReduce(step, v); err != nil {
			clear(v) // the transport must have let go: the race detector watches
			return err
		}
	}
	return nil
}

// A rank that vanishes at any step, whichever way sums take, ends every other
// rank's all-reduce at once, with an error that says where it was.
func TestVanishedRankEndsAllAtOnce(t *testing.T) {
	const world = 4
	for topology, lengths := range map[Topology][]int{Mesh: {100, 100_000}, Circle: {100, 100_000}, ByWorld: {circleBytes / 4}} {
		for _, n := range lengths {
			for victim := range world {
				for _, step := range []ergoflow.Step{0, 3} {
					t.Run(fmt.Sprintf("%v/%d/rank%d/step%d", topology, n, victim, step), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { vanish(t, world, topology, n, victim, step) })
					})
				}
			}
		}
	}
}

func vanish(t *testing.T, world int, topology Topology, n, victim int, step ergoflow.Step) {
	vanishFrom(t, memoryCluster(t, world), topology, n, victim, step)
}

func vanishFrom(t *testing.T, c cluster, topology Topology, n, victim int, step ergoflow.Step) {
	world := len(c.servers)
	rings := make([]*Ring, world)
	life, kill := context.WithCancel(t.Context())
	if err := errors.Join(each(world, func(r int) (err error) {
		ctx := t.Context()
		if r == victim {
			ctx = life
		}
		rings[r], err = c.servers[r].Join(ctx, Identity{7, r, world}, c.peers, Options{Topology: topology})
		return err
	})...); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	errs := each(world, func(r int) error {
		if r == victim {
			err := train(rings[r], n, step)
			time.Sleep(time.Second) // on the bubble's clock: the other ranks wait for this one
			kill()
			return err
		}
		return train(rings[r], n, 10)
	})
	if d := time.Since(start); d != time.Second {
		t.Errorf("the others ended %v after the death", d-time.Second)
	}
	for r, err := range errs {
		if r == victim {
			if err != nil {
				t.Errorf("victim: %v", err)
			}
			continue
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, ErrPeerLost) {
			t.Errorf("rank %d: %v", r, err)
			continue
		}
		if e.Generation != 7 || e.Rank != r || e.Step != step || e.Address != c.peers[e.Peer] {
			t.Errorf("rank %d: %+v", r, *e)
		}
		if next := (r + 1) % world; topology == Circle && e.Peer != next && (e.Peer+1)%world != r {
			t.Errorf("rank %d blames rank %d, no neighbour", r, e.Peer)
		}
		if again := rings[r].AllReduce(step+1, nil); !errors.Is(again, ErrPeerLost) {
			t.Errorf("rank %d: a failed ring went on: %v", r, again)
		}
	}
}

// tampered passes a rank's messages through change, which returns what is to
// be sent in place of message i.
type tampered struct {
	*inProcessLink
	i      int
	change func(i int, message []byte) [][]byte
}

func (o *tampered) send(h header, encode func(scratch func() []byte) []byte) error {
	out := o.change(o.i, encodeMessage(h, encode))
	o.i++
	for _, m := range out {
		if err := o.put(m); err != nil {
			return err
		}
	}
	return nil
}

// Whatever a rank sends instead of what it should, its successor refuses and
// says why; nobody ends with a wrong sum.
func TestForgedMessagesAreRefused(t *testing.T) {
	edit := func(at int, f func(h *header) (payload int)) func(int, []byte) [][]byte {
		return func(i int, m []byte) [][]byte {
			if i != at {
				return [][]byte{m}
			}
			h := parseHeader((*[headerBytes]byte)(m))
			n := f(&h)
			b := make([]byte, headerBytes+n)
			copy(b, m)
			h.put((*[headerBytes]byte)(b))
			return [][]byte{b}
		}
	}
	keep := func(h *header) int { return int(h.length) }
	var held []byte
	cases := map[string]struct {
		change func(i int, m []byte) [][]byte
		kind   error
		says   string
	}{
		"duplicated": {func(i int, m []byte) [][]byte {
			if i == 2 {
				return [][]byte{m, m}
			}
			return [][]byte{m}
		}, ErrProtocol, "want"},
		"reordered": {func(i int, m []byte) [][]byte {
			switch i {
			case 1:
				held = m
				return nil
			case 2:
				return [][]byte{m, held}
			}
			return [][]byte{m}
		}, ErrProtocol, "want"},
		"dropped": {func(i int, m []byte) [][]byte {
			if i == 1 {
				return nil
			}
			return [][]byte{m}
		}, ErrProtocol, "want"},
		"other generation": {edit(1, func(h *header) int { h.generation--; return keep(h) }), ErrFenced, "generation 6"},
		"replayed step":    {edit(1, func(h *header) int { h.step--; return keep(h) }), ErrProtocol, "step 3"},
		"other bucket":     {edit(1, func(h *header) int { h.bucket = 9; return keep(h) }), ErrProtocol, "bucket 9"},
		"other segment":    {edit(1, func(h *header) int { h.segment ^= 1; return keep(h) }), ErrProtocol, "segment"},
		"other phase":      {edit(1, func(h *header) int { h.phase = phaseGather; return keep(h) }), ErrProtocol, "phase 4"},
		"other format":     {edit(1, func(h *header) int { h.format = formatInt64; return keep(h) }), ErrProtocol, "format int64"},
		"unknown format":   {edit(1, func(h *header) int { h.format = 99; return keep(h) }), ErrProtocol, "format wire(99)"},
		"other chunk":      {edit(1, func(h *header) int { h.chunk += 2; return keep(h) }), ErrProtocol, "chunk 3"},
		"unknown phase":    {edit(1, func(h *header) int { h.phase = 99; return keep(h) }), ErrProtocol, "phase 99"},
		"truncated":        {edit(1, func(h *header) int { return int(h.length) - 1 }), ErrProtocol, "announces"},
		"short":            {edit(1, func(h *header) int { h.length -= 4; return keep(h) }), ErrProtocol, "want"},
		"oversized": {edit(1, func(h *header) int {
			h.length = localChunkBytes + 4
			return keep(h)
		}), ErrProtocol, "exceeds"},
		"no header": {func(i int, m []byte) [][]byte {
			if i == 1 {
				m = m[:5]
			}
			return [][]byte{m}
		}, ErrProtocol, "shorter"},
	}
	for name, test := range cases {
		for _, topology := range []Topology{Mesh, Circle, Doubling} {
			t.Run(fmt.Sprintf("%s/%v", name, topology), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const world, forger = 3, 1
					m := NewInProcess()
					c := memoryClusterOn(m, world)
					m.tamper = func(greeting hello, address string, o outgoing) outgoing {
						if greeting.id.Rank != forger || address != c.peers[forger+1] {
							return o
						}
						return &tampered{inProcessLink: o.(*inProcessLink), change: test.change}
					}
					rings, err := c.join(t.Context(), 7, Options{Topology: topology})
					if err != nil {
						t.Fatal(err)
					}
					errs := each(world, func(r int) error {
						return rings[r].AllReduce(4, make([]float32, 4*world*chunkBytes/4))
					})
					for r, err := range errs {
						if err == nil {
							t.Errorf("rank %d has a sum", r)
						}
					}
					e, ok := errors.AsType[*Error](errs[forger+1])
					if !ok || !errors.Is(e, test.kind) || e.Peer != forger || e.Op != "receive" || !strings.Contains(e.Error(), test.says) {
						t.Errorf("successor says: %v", errs[forger+1])
					}
				})
			})
		}
	}
}

// Ranks that disagree on the length of the vector find out.
func TestDifferentLengthsAreRefused(t *testing.T) {
	for _, n := range []int{10, 4096, 4097, 500_000} {
		synctest.Test(t, func(t *testing.T) {
			rings := mustJoin(t, memoryCluster(t, 3), 1, Options{})
			errs := each(3, func(r int) error { return rings[r].AllReduce(0, make([]float32, n+r%2)) })
			protocol := false
			for r, err := range errs {
				if err == nil {
					t.Errorf("length %d: rank %d has a sum", n, r)
				}
				protocol = protocol || errors.Is(err, ErrProtocol)
			}
			if !protocol {
				t.Errorf("length %d: nobody says why: %v", n, errs)
			}
		})
	}
}

// Close waits for a neighbour that is late, but not for ever.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rings := mustJoin(t, memoryCluster(t, 3), 1, Options{})
		start := time.Now()
		errs := each(2, func(r int) error { return rings[r].Close() })
		if d := time.Since(start); d != closeTimeout {
			t.Errorf("closed after %v", d)
		}
		for r, err := range errs {
			if err == nil {
				t.Errorf("rank %d: closed as if rank 2 had confirmed", r)
			}
		}
		if err := rings[2].Close(); err != nil {
			t.Errorf("closing a ring that has failed: %v", err)
		}
		if err := rings[2].Close(); err != nil {
			t.Errorf("closing twice: %v", err)
		}
		if err := rings[2].AllReduce(0, nil); !errors.Is(err, ErrClosed) {
			t.Errorf("all-reduce on a closed ring: %v", err)
		}
	})
}

// Close during an all-reduce ends it.
func TestCloseEndsAllReduce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rings := mustJoin(t, memoryCluster(t, 2), 1, Options{})
		done := make(chan error)
		go func() { done <- rings[0].AllReduce(0, make([]float32, 10)) }()
		synctest.Wait()
		if err := rings[0].Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Errorf("all-reduce: %v", err)
		}
	})
}

func TestStepsDoNotDecrease(t *testing.T) {
	ring, err := memoryCluster(t, 1).servers[0].Join(t.Context(), Identity{1, 0, 1}, []string{""}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := []float32{1, 2}
	for _, step := range []ergoflow.Step{3, 3, 5} {
		if err := ring.AllReduce(step, v); err != nil || v[0] != 1 || v[1] != 2 {
			t.Fatalf("step %d alone: %v, %v", step, v, err)
		}
	}
	for _, step := range []ergoflow.Step{4, -1} {
		if err := ring.AllReduce(step, v); err == nil {
			t.Errorf("step %d after step 5: no error", step)
		}
	}
}
