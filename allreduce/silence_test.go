package allreduce

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

// muted is a link that carries nothing while cut says so. Neither end gets an error.
type muted struct {
	*inProcessLink
	cut func() bool
}

func (o *muted) send(h header, encode func(scratch func() []byte) []byte) error {
	if o.cut() {
		return nil
	}
	return o.inProcessLink.send(h, encode)
}

func (o *muted) alive(h header) error {
	if o.cut() {
		return nil
	}
	return o.inProcessLink.alive(h)
}

// silentTo are the ranks that were silent, as the error of another rank names them.
func silentTo(err error) []int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Silent
	}
	return nil
}

// silentCluster has rings of which link from → to is cut where cut says so.
func silentCluster(t *testing.T, world int, topology Topology, cut func(from, to int) bool) (cluster, []*Ring) {
	m := NewInProcess()
	c := memoryClusterOn(m, world)
	m.mute(c, cut)
	return c, mustJoin(t, c, 7, Options{Topology: topology})
}

// mute cuts the links from → to where cut says so.
func (m *InProcess) mute(c cluster, cut func(from, to int) bool) {
	m.tamper = func(greeting hello, address string, o outgoing) outgoing {
		from, to := greeting.id.Rank, slices.Index(c.peers, address)
		return &muted{o.(*inProcessLink), func() bool { return cut(from, to) }}
	}
}

// A link between two ranks that carries nothing ends the ring on all of them within two
// seconds, and the ranks that it should have brought something name the silent one. The
// others report only that a neighbour is lost.
func TestSilentLink(t *testing.T) {
	type pair struct{ from, to int }
	for name, cuts := range map[string][]pair{"one way": {{0, 1}}, "both ways": {{0, 1}, {1, 0}}} {
		for world := 2; world <= 4; world++ {
			for _, topology := range []Topology{Mesh, Circle, Doubling} {
				for _, n := range []int{100, 200_000} {
					t.Run(fmt.Sprintf("%s/%d/%v/%d", name, world, topology, n), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							var broken atomic.Bool
							_, rings := silentCluster(t, world, topology, func(from, to int) bool {
								return broken.Load() && slices.Contains(cuts, pair{from, to})
							})
							v := make([][]float32, world)
							for r := range v {
								v[r] = make([]float32, n)
							}
							if err := errors.Join(each(world, func(r int) error { return rings[r].AllReduce(0, v[r]) })...); err != nil {
								t.Fatal(err)
							}
							time.Sleep(time.Minute) // on the bubble's clock: a long gradient
							broken.Store(true)
							began := time.Now()
							errs := each(world, func(r int) error { return rings[r].AllReduce(1, v[r]) })
							if d := time.Since(began); d > 2*time.Second || d < time.Second {
								t.Errorf("noticed after %v", d)
							}
							if errs[1] == nil {
								t.Error("rank 1 has a sum without rank 0")
							}
							named := false
							for _, err := range errs {
								if e, ok := errors.AsType[*Error](err); ok && len(e.Silent) > 0 {
									named = true
									if len(e.Silent) != 1 || !slices.Contains(cuts, pair{e.Silent[0], e.Rank}) {
										t.Errorf("rank %d calls %v silent", e.Rank, e.Silent)
									}
									if errors.Is(err, ErrSilent) && e.Peer != e.Silent[0] {
										t.Errorf("rank %d blames %d for the silence of %v", e.Rank, e.Peer, e.Silent)
									}
								}
							}
							for r := 2; r < world; r++ {
								if errors.Is(errs[r], ErrSilent) {
									t.Errorf("rank %d, which hears all others, reports the silence of one: %v", r, errs[r])
								}
							}
							if !named {
								t.Errorf("nobody names the silent rank: %v", errs)
							}
						})
					})
				}
			}
		}
	}
}

// Silence is noticed while others have not joined yet, too.
func TestSilenceWhileJoining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewInProcess()
		c := memoryClusterOn(m, 3)
		m.tamper = func(greeting hello, address string, o outgoing) outgoing {
			return &muted{o.(*inProcessLink), func() bool { return greeting.id.Rank == 0 && address == c.peers[1] }}
		}
		began := time.Now()
		errs := each(2, func(r int) error { // rank 2 does not join
			_, err := c.servers[r].Join(t.Context(), Identity{1, r, 3}, c.peers, Options{})
			return err
		})
		if d := time.Since(began); !errors.Is(errs[1], ErrSilent) || !slices.Equal(silentTo(errs[1]), []int{0}) || d > 2*time.Second {
			t.Errorf("rank 1 after %v: %v, silent %v", d, errs[1], silentTo(errs[1]))
		}
		if errs[0] == nil {
			t.Error("rank 0 has joined")
		}
	})
}

// A rank that hears none of the others names all of them.
func TestSilentToAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rings := silentCluster(t, 4, Mesh, func(from, to int) bool { return to == 2 })
		errs := each(4, func(r int) error { return rings[r].AllReduce(0, make([]float32, 10)) })
		if !errors.Is(errs[2], ErrSilent) || !slices.Equal(silentTo(errs[2]), []int{3, 0, 1}) {
			t.Errorf("rank 2: %v, silent %v", errs[2], silentTo(errs[2]))
		}
	})
}

// A rank may compute or compile for as long as it likes, and be stopped for a second and a
// half: the others wait for it.
func TestSlowIsNotSilent(t *testing.T) {
	for _, topology := range []Topology{Mesh, Circle, Doubling} {
		synctest.Test(t, func(t *testing.T) {
			const world = 3
			var stopped atomic.Bool
			_, rings := silentCluster(t, world, topology, func(from, to int) bool { return from == 1 && stopped.Load() })
			for step := range ergoflow.Step(4) {
				errs := each(world, func(r int) error {
					if r == 1 {
						time.Sleep(time.Hour) // on the bubble's clock: a compilation
						stopped.Store(true)
						time.Sleep(1499 * time.Millisecond) // on the bubble's clock: the process is stopped
						stopped.Store(false)
					}
					return rings[r].AllReduce(step, make([]float32, 100_000))
				})
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
			}
			closeAll(t, rings)
		})
	}
}

// A process that was stopped has not read what came meanwhile: it does not blame others for
// the silence.
func TestOwnSleepIsNotSilence(t *testing.T) {
	const look = beatInterval
	var s silence
	looks := func(n int, passed time.Duration) (silent bool) {
		for range n {
			silent = s.look(0, true, passed)
		}
		return silent
	}
	if looks(silentBeats-1, look) {
		t.Error("silent too early")
	}
	if looks(100, 10*time.Second) {
		t.Error("late looks count")
	}
	if !looks(1, look+look/2) {
		t.Error("a link that brings nothing after a sleep either is not silent")
	}
	if s.look(1, true, look) || looks(silentBeats-1, look) {
		t.Error("a byte is no sign of life")
	}
	if s.look(1, false, look) || looks(silentBeats-1, look) {
		t.Error("silence counts while the rank does not sum")
	}
}

// unreachable cannot reach any address: a dial fails after the time that it has for the address.
type unreachable map[string]time.Duration

func (u unreachable) dial(ctx context.Context, address string, _ int, _ hello) (outgoing, hello, error) {
	select {
	case <-time.After(u[address]):
		return nil, hello{}, fmt.Errorf("%w: no route to host", ErrSilent)
	case <-ctx.Done():
		return nil, hello{}, context.Cause(ctx)
	}
}

// A rank that cannot connect to several others names all of them whose attempts fail at
// about the same time.
func TestUnreachableRanksAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(unreachable{"b": time.Second, "c": time.Second + dialGrace/2, "d": time.Second + 2*dialGrace})
		_, err := s.Join(t.Context(), Identity{1, 0, 4}, []string{"a", "b", "c", "d"}, Options{})
		if !errors.Is(err, ErrSilent) || !slices.Equal(silentTo(err), []int{1, 2}) {
			t.Errorf("%v, silent %v", err, silentTo(err))
		}
	})
}

// A rank whose generation is ended by others also tells which links were silent.
func TestSilenceBesideAnotherEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := NewInProcess()
		c := memoryClusterOn(m, 2)
		m.tamper = func(_ hello, _ string, o outgoing) outgoing {
			return &muted{o.(*inProcessLink), func() bool { return true }}
		}
		rings := make([]*Ring, 2)
		if err := errors.Join(each(2, func(r int) (err error) {
			rings[r], err = c.servers[r].Join(ctx, Identity{1, r, 2}, c.peers, Options{})
			return err
		})...); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(alsoSilent*beatInterval+beatInterval/2, cancel)
		for r, err := range each(2, func(r int) error { return rings[r].AllReduce(0, make([]float32, 10)) }) {
			if !errors.Is(err, context.Canceled) || !slices.Equal(silentTo(err), []int{1 - r}) {
				t.Errorf("rank %d: %v, silent %v", r, err, silentTo(err))
			}
		}
	})
}

// holdable carries connections to an address until it is held. Then it keeps them open and
// carries nothing.
type holdable struct {
	net.Listener
	held chan struct{} // closed when it is held
}

func holdableTo(t *testing.T, address string) *holdable {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &holdable{l, make(chan struct{})}
	t.Cleanup(func() { l.Close() })
	carry := func(to, from net.Conn) {
		defer to.Close()
		b := make([]byte, 1<<16)
		for {
			n, err := from.Read(b)
			select {
			case <-h.held:
				<-t.Context().Done() // it ends before the cleanup
				return
			default:
			}
			if _, failed := to.Write(b[:n]); failed != nil || err != nil {
				return
			}
		}
	}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", address)
			if err != nil {
				in.Close()
				continue
			}
			go carry(out, in)
			go carry(in, out)
		}
	}()
	return h
}

// Over TCP a link that carries nothing is noticed in the same way: the rank that hears
// nothing notices it, whether it waits for that link or for another.
func TestSilentLinkOverGRPC(t *testing.T) {
	t.Run("plain text", func(t *testing.T) { testSilentLink(t, grpcCluster(t, 3)) })
	t.Run("TLS", func(t *testing.T) { testSilentLink(t, tcpCluster(t, workers(t, trusttest.Authority(t, "lab"), 3)...)) })
}

func testSilentLink(t *testing.T, c cluster) {
	world := len(c.servers)
	links := make([][]*holdable, world)
	rings := make([]*Ring, world)
	peers := make([][]string, world)
	for from := range world {
		for to := range world {
			h := holdableTo(t, c.peers[to])
			links[from] = append(links[from], h)
			peers[from] = append(peers[from], h.Addr().String())
		}
	}
	if err := errors.Join(each(world, func(r int) (err error) {
		rings[r], err = c.servers[r].Join(t.Context(), Identity{1, r, world}, peers[r], Options{Topology: Mesh})
		return err
	})...); err != nil {
		t.Fatal(err)
	}
	const n = 1 << 20
	for step := range ergoflow.Step(2) {
		if err := errors.Join(each(world, func(r int) error { return rings[r].AllReduce(step, make([]float32, n)) })...); err != nil {
			t.Fatal(err)
		}
	}
	for _, ring := range rings { // signs of life pile up unread, as in a long gradient
		for _, to := range ring.sinks {
			for range 10 {
				if err := to.out.alive(signOfLife(1)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	close(links[2][0].held)
	errs := each(world, func(r int) error { return rings[r].AllReduce(2, make([]float32, n)) })
	// On a busy machine rank 1 may be quiet for a while, too.
	if !errors.Is(errs[0], ErrSilent) || !slices.Contains(silentTo(errs[0]), 2) {
		t.Errorf("rank 0: %v, silent %v", errs[0], silentTo(errs[0]))
	}
	if slices.Contains(errs, nil) {
		t.Errorf("a rank has a sum: %v", errs)
	}
}

// No way to a host is silence; a host without the process is not.
func TestUnreachableIsSilent(t *testing.T) {
	for address, silent := range map[string]bool{"255.255.255.255:1": true, "127.0.0.1:1": false} {
		s := NewServer(nil)
		_, err := s.Join(t.Context(), Identity{1, 0, 2}, []string{"127.0.0.1:2", address}, Options{})
		if err == nil || (len(silentTo(err)) > 0) != silent {
			t.Errorf("%s: %v, silent %v", address, err, silentTo(err))
		}
	}
}
