package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
)

// TestSecuredLater: a cluster that speaks plain text ends in the middle of a training. Started
// again without --insecure it is secured, and goes on where it was.
func TestSecuredLater(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, securedLater)
}

func securedLater(t *testing.T) {
	network := hosts.New(t)
	e := tiny(t, 400, false)
	want := final(t, undisturbed(t, network.Host("alone"), e))
	on := limitedHosts(network, "20mbit", "a", "b")
	dir := t.TempDir()
	store := filepath.Join(dir, "shards")
	plain := startPlain(t, on, dir, store)
	plain.until("two workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 2 })
	plain.submit(e)
	plain.until("two train", training(2, 40))
	began := time.Now()
	plain.end()

	c := startHosts(t, on, dir, store)
	st := c.until("two train on", training(2, 1))
	t.Logf("two train %.1f s after the order to end", time.Since(began).Seconds())
	if st.Step < 40 {
		t.Errorf("it goes on from step %d", st.Step)
	}
	if !st.Secured {
		t.Error("it is not secured")
	}
	c.finish()
	c.end()
	equalToRounding(t, "a cluster that was secured in the middle", final(t, dir), want)
}

// TestJoinByName: workers join by a name that has several addresses, at one of which nobody is.
func TestJoinByName(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, joinByName)
}

func joinByName(t *testing.T) {
	network := hosts.New(t)
	a, b := network.Host("a"), network.Host("b")
	network.Names("coordinators.example", "10.77.0.99", a.Address)
	for _, start := range []func(*testing.T, []*hosts.Host, string, string, ...string) *hostCluster{startPlain, startHosts} {
		dir := t.TempDir()
		c := start(t, []*hosts.Host{a}, dir, filepath.Join(dir, "shards"))
		c.name = "dns+coordinators.example"
		began := time.Now()
		c.add(b, b.Address)
		c.until("two workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 2 })
		t.Logf("secured %t: joined by name after %.1f s", c.secured, time.Since(began).Seconds())
		c.end()
	}
}

// TestCoordinatorMoves: the coordinator's host is lost in the middle of a training, and the
// coordinator starts on another one, at another address, as a pod does. Workers that joined by
// its name find it again.
func TestCoordinatorMoves(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, coordinatorMoves)
}

func coordinatorMoves(t *testing.T) {
	network := hosts.New(t)
	e := tiny(t, 2000, false) // long enough that two still train when all have found each other
	want := final(t, undisturbed(t, network.Host("alone"), e))
	on := limitedHosts(network, "20mbit", "a", "b", "c", "d")
	const name = "coordinator.example"
	network.Names(name, on[0].Address)
	dir := t.TempDir()
	c := startHosts(t, on[:1], dir, filepath.Join(dir, "shards"))
	c.name = "dns+" + name
	for _, h := range on[1:3] {
		c.add(h, h.Address)
	}
	c.until("three workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 3 })
	c.submit(e)
	c.until("three train", training(3, 40))

	on[0].Unplug()
	c.coordinator.kill()
	c.workers[0].kill()
	c.workers = c.workers[1:]
	network.Names(name, on[3].Address)
	began := time.Now()
	c.move(on[3])
	st := c.until("two train on", training(2, 1))
	t.Logf("two train %.1f s after the start at another address", time.Since(began).Seconds())
	if st.Step < 25 { // training.checkpoint_every
		t.Errorf("it goes on from step %d", st.Step)
	}
	c.finish()
	c.end()
	equalToRounding(t, "a cluster whose coordinator has moved", final(t, dir), want)
}

// TestOfflineAuthority: the authority's key is on no machine of the cluster. Somebody has
// brought each its credentials.
func TestOfflineAuthority(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, offlineAuthority)
}

func offlineAuthority(t *testing.T) {
	network := hosts.New(t)
	on := []*hosts.Host{network.Host("a"), network.Host("b")}
	dir, ca := t.TempDir(), filepath.Join(t.TempDir(), "ca")
	c := newHosts(t, on, dir, filepath.Join(dir, "shards"))
	c.run("certs", "init", "--cluster", "lab", "--ca", ca)
	c.run("certs", "issue", "coordinator/main", "-o", filepath.Join(dir, "credentials"), "--ca", ca)
	c.run("certs", "issue", "operator/ada", "-o", coordinator.OperatorDir(dir), "--ca", ca)
	for _, h := range on {
		c.run("certs", "issue", "worker/"+h.Name, "-o", c.credentials(h), "--ca", ca)
	}
	c.coordinator.start(t)
	c.beginSecured()
	c.until("two workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 2 && st.Secured })
	c.submit(tiny(t, 50, false))
	c.run("status", "--dir", dir)
	c.finish()
	c.end()
}

// readToken reads the command to join by that the coordinator prints at its first start.
func (c *hostCluster) readToken() {
	c.t.Helper()
	join := regexp.MustCompile(`(?m)^ergoflow worker --join (\S+) --token (ERGO1\S+)$`)
	var printed []string
	for deadline := time.Now().Add(patience); printed == nil && time.Now().Before(deadline); {
		<-time.After(10 * time.Millisecond) // another process's log is polled
		said, err := os.ReadFile(c.coordinator.said())
		if err != nil {
			c.t.Fatal(err)
		}
		printed = join.FindStringSubmatch(string(said))
	}
	if printed == nil || printed[1] != c.hosts[0].Address+":7071" {
		c.t.Fatalf("the coordinator prints no command to join by\n%s", c.logs())
	}
	c.token = printed[2]
}
