package gossip

import (
	"context"
	"errors"
	"flag"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"go.uber.org/goleak"

	"github.com/ergoflow/ergoflow/coordinator/gossip/gossiptest"
)

// TestMain finds leaks.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // the parallel ones wait for most of their time
	goleak.VerifyTestMain(m, gossiptest.Outlives()...)
}

func join(t *testing.T, name string, meta Meta, seeds ...string) *Gossip {
	t.Helper()
	g, err := Join(t.Context(), Config{Name: name, Bind: "127.0.0.1:0", Seeds: seeds, Meta: meta})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// Any member can be a seed: the third joins through the second and still finds the
// coordinator.
func TestCoordinatorIsFoundThroughAnyMember(t *testing.T) {
	c := join(t, CoordinatorName("127.0.0.1:7000", 1), Meta{Role: RoleCoordinator, ControlAddress: "127.0.0.1:7000"})
	a := join(t, "a", Meta{Role: RoleWorker, DataAddress: "127.0.0.1:7001"}, c.Address())
	b := join(t, "b", Meta{Role: RoleWorker}, a.Address())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	control, err := b.Coordinator(ctx, "")
	if err != nil || control != "127.0.0.1:7000" {
		t.Fatalf("coordinator %q, %v", control, err)
	}
	for len(c.Members()) < 3 {
		changed := c.Changed()
		if len(c.Members()) == 3 {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("coordinator sees %v", c.Members())
		}
	}
	if m := c.Members()[0]; m.Name != "a" || m.Meta.DataAddress != "127.0.0.1:7001" {
		t.Errorf("first member %+v", m)
	}
}

// A coordinator that ends and starts again at another address is found again; so is one
// that starts after the search for it.
func TestCoordinatorComesBack(t *testing.T) {
	first, err := Join(t.Context(), Config{Name: CoordinatorName("127.0.0.1:1", 1), Bind: "127.0.0.1:0",
		Meta: Meta{Role: RoleCoordinator, ControlAddress: "127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	address := first.Address()
	w := join(t, "w", Meta{Role: RoleWorker}, address)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Join(t.Context(), Config{Name: CoordinatorName("127.0.0.1:2", 2), Bind: address,
		Meta: Meta{Role: RoleCoordinator, ControlAddress: "127.0.0.1:2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	finds(t, w, "", "127.0.0.1:2")
}

// finds waits until a member finds the coordinator at an address, beside one that does not answer.
func finds(t *testing.T, w *Gossip, avoid, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		changed := w.Changed()
		control, err := w.Coordinator(ctx, avoid)
		if err != nil {
			t.Fatal(err)
		}
		if control == want {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("still sees %s", control)
		}
	}
}

// A coordinator that is killed is listed until memberlist has found it dead. Who looks for another
// one finds its successor before that.
func TestKilledCoordinatorComesBack(t *testing.T) {
	const old, next = "127.0.0.1:1", "127.0.0.1:2"
	first, err := Join(t.Context(), Config{Name: CoordinatorName(old, 1), Bind: "127.0.0.1:0",
		Meta: Meta{Role: RoleCoordinator, ControlAddress: old}})
	if err != nil {
		t.Fatal(err)
	}
	w := join(t, "w", Meta{Role: RoleWorker}, first.Address())
	first.stop()
	first.healer.Wait()
	if err := first.list.Shutdown(); err != nil { // without a farewell
		t.Fatal(err)
	}
	second, err := Join(t.Context(), Config{Name: CoordinatorName(next, 2), Bind: first.Address(),
		Meta: Meta{Role: RoleCoordinator, ControlAddress: next}})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	finds(t, w, old, next)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.coordinators) != 2 {
		t.Errorf("it waited until the first was found dead: %v", w.coordinators)
	}
}

// A coordinator that comes back at another address for its gossip, too, is found where Seek says.
func TestCoordinatorMoves(t *testing.T) {
	t.Parallel() // it waits for seconds
	at := func(control string) *Gossip {
		g, err := Join(t.Context(), Config{Name: CoordinatorName(control, 1), Bind: "127.0.0.1:0",
			Meta: Meta{Role: RoleCoordinator, ControlAddress: control}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
		return g
	}
	first, second := at("127.0.0.1:1"), at("127.0.0.1:2")
	w, err := Join(t.Context(), Config{Name: "w", Bind: "127.0.0.1:0", Seeds: []string{first.Address()}, Meta: Meta{Role: RoleWorker},
		Seek: func(context.Context) []string { return []string{second.Address()} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	listed(t, w, CoordinatorName("127.0.0.1:1", 1), true)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	listed(t, w, CoordinatorName("127.0.0.1:2", 1), true)
}

func TestNoSeedAnswers(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	_, err = Join(t.Context(), Config{Name: "w", Bind: "127.0.0.1:0",
		Meta: Meta{Role: RoleWorker}, Seeds: []string{silent.Addr().String()}, Wait: 300 * time.Millisecond})
	if !errors.Is(err, ErrNoSeed) || !strings.Contains(err.Error(), silent.Addr().String()) {
		t.Fatalf("error %v", err)
	}
}

func TestJoinEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Join(ctx, Config{Name: "w", Bind: "127.0.0.1:0", Meta: Meta{Role: RoleWorker}, Seeds: []string{"127.0.0.1:1"}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
}

func TestRefusedConfigurations(t *testing.T) {
	worker := Meta{Role: RoleWorker}
	for name, c := range map[string]Config{
		"no port":       {Name: "w", Bind: "127.0.0.1", Meta: worker},
		"port too high": {Name: "w", Bind: "127.0.0.1:70000", Meta: worker},
		"no such host":  {Name: "w", Bind: "nohost.invalid:0", Meta: worker}, // memberlist would take all interfaces
		"long metadata": {Name: "w", Bind: "127.0.0.1:0", Meta: Meta{Role: RoleWorker, Device: strings.Repeat("x", 600)}},
		"no role":       {Name: "w", Bind: "127.0.0.1:0"},
		"no name":       {Bind: "127.0.0.1:0", Meta: worker},
		"name":          {Name: "w\n", Bind: "127.0.0.1:0", Meta: worker},
		"other control": {Name: CoordinatorName("127.0.0.1:1", 1), Bind: "127.0.0.1:0", Meta: Meta{Role: RoleCoordinator, ControlAddress: "127.0.0.1:2"}},
	} {
		if _, err := Join(t.Context(), c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestNoCoordinator(t *testing.T) {
	w := join(t, "w", Meta{Role: RoleWorker})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := w.Coordinator(ctx, ""); !errors.Is(err, ErrNoCoordinator) {
		t.Fatalf("error %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatalf("second close: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	for _, address := range []string{"127.0.0.1:7", "node.example:7", "nonsense"} {
		if got := Advertise(address); got != address {
			t.Errorf("%s is advertised as %s", address, got)
		}
	}
	if host, port, err := net.SplitHostPort(Advertise("[::]:7")); err != nil || port != "7" || host == "" {
		t.Errorf("all interfaces are advertised as %s:%s, %v", host, port, err)
	}
}

// memberlist updates a member's record while others read the list of members: this is a
// test for the race detector.
func TestMembersAreReadWhileTheyChange(t *testing.T) {
	t.Parallel() // it waits for seconds
	a := join(t, CoordinatorName("127.0.0.1:7000", 1), Meta{Role: RoleCoordinator, ControlAddress: "127.0.0.1:7000"})
	b := join(t, "b", Meta{Role: RoleWorker, DataAddress: "127.0.0.1:7001"}, a.Address())
	said := make(chan error)
	go func() {
		var err error
		for range 50 {
			if err = b.list.UpdateNode(time.Second); err != nil {
				break
			}
		}
		said <- err
	}()
	for {
		select {
		case err := <-said:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
			for _, m := range a.Members() {
				if m.Name == "b" && (m.Meta.DataAddress != "127.0.0.1:7001" || m.Address != b.Address()) {
					t.Fatalf("%+v", m)
				}
			}
		}
	}
}

// Members learn how far away others are, and forget who leaves.
func TestLatencies(t *testing.T) {
	t.Parallel() // it waits for seconds
	a := join(t, "a", Meta{Role: RoleWorker, DataAddress: "127.0.0.1:7001"})
	b, err := Join(t.Context(), Config{Name: "b", Bind: "127.0.0.1:0", Seeds: []string{a.Address()}, Meta: Meta{Role: RoleWorker}})
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(patience)
	for len(a.Latencies()) == 0 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond) // memberlist probes by its own clock
	}
	if l := a.Latencies(); len(l) != 1 || l[0].Name != "b" || l[0].Role != RoleWorker || l[0].Latency <= 0 || l[0].Latency > time.Second {
		t.Errorf("%+v", l)
	}
	for _, took := range []time.Duration{5, 3, 9} {
		a.probed("b", took)
	}
	a.probed("stranger", 1)
	if l := a.Latencies(); len(l) != 1 || l[0].Latency != 3 {
		t.Errorf("not the least of the last probes, of members: %+v", l)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	a.gone(&memberlist.Node{Name: "b"})
	if l := a.Latencies(); len(l) != 0 {
		t.Errorf("of a member that is gone: %+v", l)
	}
}

// A member that lists some of the others is listed by all.
func TestListsSome(t *testing.T) {
	c := join(t, CoordinatorName("127.0.0.1:7000", 1), Meta{Role: RoleCoordinator, ControlAddress: "127.0.0.1:7000"})
	join(t, "a", Meta{Role: RoleWorker}, c.Address())
	listed(t, c, "a", true)
	b, err := Join(t.Context(), Config{Name: "b", Bind: "127.0.0.1:0", Seeds: []string{c.Address()}, Meta: Meta{Role: RoleWorker},
		Lists: func(name string) bool { return name != "a" }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	listed(t, c, "b", true)
	if m := b.Members(); len(m) != 2 || m[0].Name != "b" || m[1].Meta.Role != RoleCoordinator {
		t.Errorf("it lists %+v", m)
	}
}
