package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/leader"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

var (
	failovers     = flag.Int("failovers", 0, "how often TestFailover kills the coordinator that leads, and ten times as often as TestDeposedLeaders stops it and cuts it off; 0 skips both")
	failoverStore = flag.String("failover-store", "", "where the shards are meanwhile, such as nats://shards (default: a directory that all see)")
)

// TestFailover kills the coordinator that leads, again and again, under a reproducible training.
// No step is lost, and the parameters have the bits of an undisturbed run.
func TestFailover(t *testing.T) {
	if *failovers == 0 {
		t.Skip("several coordinators on hosts take a minute or more, and root: `make many-e2e` runs them")
	}
	hosts.Isolated(t, failover)
}

func failover(t *testing.T) {
	kills := *failovers
	e := tiny(t, 200+75*kills, true) // a kill takes about 16 steps, and 60 where it takes 3 s
	network := hosts.New(t)
	want := final(t, undisturbed(t, network.Host("alone"), e))

	c := startSeveralWith(t, network, 3, 2, *failoverStore, nil, nil)
	c.submit(e)
	st := c.until("two workers train", training(2, 20))
	var pauses []time.Duration
	for kill := range kills {
		lead := c.leading()
		st = c.until("they go on", training(2, int(st.Step)+10))
		lead.kill()
		killed := time.Now()
		after := c.until("another coordinator has them train", func(now coordinator.Status) bool {
			return now.State == "training" && now.Generation > st.Generation && now.Step > st.Step
		})
		pauses = append(pauses, time.Since(killed))
		t.Logf("kill %d: %v until the next step; step %d before, %d after", kill+1, pauses[kill].Round(time.Millisecond), st.Step, after.Step)
		lead.start(t)
		c.agree()
		next := c.until("two workers train", training(2, int(after.Step)+1))
		if next.Step < after.Step {
			t.Errorf("step %d after step %d", next.Step, after.Step)
		}
		st = next
	}
	slices.Sort(pauses)
	t.Logf("next step after %d kills: median %v, longest %v", kills, pauses[len(pauses)/2].Round(time.Millisecond), pauses[len(pauses)-1].Round(time.Millisecond))
	for _, w := range c.workers {
		w.host.Unlimit() // nothing is left to disturb
	}
	c.finish()
	lead := c.leading()
	c.end()
	equalBits(t, "after failovers", final(t, directoryOf(lead)), want)
}

// TestDeposedLeaders: the coordinator that leads is stopped for longer than any lease and goes on,
// is cut off from all and comes back, and all are restarted in order, one by one. Each time
// another one takes over, no step is lost, and the parameters have the bits of an undisturbed run.
func TestDeposedLeaders(t *testing.T) {
	if *failovers == 0 {
		t.Skip("several coordinators on hosts take a minute or more, and root: `make many-e2e` runs them")
	}
	hosts.Isolated(t, deposedLeaders)
}

func deposedLeaders(t *testing.T) {
	rounds := 1 + *failovers/10
	e := tiny(t, 500+300*rounds, true)
	network := hosts.New(t)
	want := final(t, undisturbed(t, network.Host("alone"), e))
	c := startSeveral(t, network, 3, 2)
	c.submit(e)
	c.until("two workers train", training(2, 20))

	for range rounds {
		stopped := c.takenOver("stopped", func(lead *daemon) { lead.signal(syscall.SIGSTOP) })
		<-time.After(6 * time.Second) // longer than the lease, and the wait for holders
		stopped.signal(syscall.SIGCONT)
		c.agree()

		cut := c.takenOver("cut off", func(lead *daemon) { lead.host.Unplug() })
		cut.host.Plug()
		c.agree()
	}

	for _, d := range c.coordinators {
		before := c.until("two workers train", training(2, 1))
		d.signal(syscall.SIGTERM)
		<-d.ended
		d.start(t)
		c.agree()
		if now := c.until("two workers train", training(2, 1)); now.Step < before.Step {
			t.Errorf("step %d after step %d", now.Step, before.Step)
		}
	}
	for _, d := range c.coordinators {
		if said := c.read(d); strings.Contains(said, "level=ERROR") {
			t.Errorf("%s\n%s", d.name, said)
		}
	}
	c.finish()
	lead := c.leading()
	c.end()
	equalBits(t, "after leaders were deposed", final(t, directoryOf(lead)), want)
}

// takenOver does something to the coordinator that leads, waits until workers train under another,
// and returns the first.
func (c *severalCluster) takenOver(how string, do func(*daemon)) *daemon {
	c.t.Helper()
	lead := c.leading()
	before := c.until("two workers train", training(2, 1))
	follows := c.control
	defer func() { c.control = follows }()
	c.control = c.without(lead)
	do(lead)
	began := time.Now()
	c.until("another coordinator has them train", func(now coordinator.Status) bool {
		return now.State == "training" && now.Term > before.Term && now.Generation > before.Generation && now.Step > before.Step
	})
	c.t.Logf("%s: %v until the next step", how, time.Since(began).Round(time.Millisecond))
	return lead
}

// survivors are the coordinators that follow, of which one will lead and answer. A client that follows
// the leader waits up to 2 s for one that is silent, and would time that.
type survivors struct {
	wire.ControlClient
	all []wire.ControlClient
}

// without are all coordinators but one.
func (c *severalCluster) without(one *daemon) (s survivors) {
	c.t.Helper()
	for _, d := range c.coordinators {
		if d == one {
			continue
		}
		conn, err := grpc.NewClient(d.host.Address+":7070", grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Cleanup(func() { conn.Close() })
		s.all = append(s.all, wire.NewControlClient(conn))
	}
	return s
}

func (s survivors) Status(ctx context.Context, r *wire.StatusRequest, o ...grpc.CallOption) (reply *wire.StatusReply, err error) {
	for _, c := range s.all {
		if reply, err = c.Status(ctx, r, o...); err == nil {
			return reply, nil
		}
	}
	return nil, err
}

// startSeveral starts coordinators, each on a host and in a directory of its own, and workers.
func startSeveral(t *testing.T, network *hosts.Network, coordinators, workers int) *severalCluster {
	t.Helper()
	return startSeveralWith(t, network, coordinators, workers, "", nil, nil)
}

// startSeveralWith has flags for coordinators and for workers. With a store workers do not see the
// coordinators' directories, nor one another's caches; without one it is a directory that all see.
func startSeveralWith(t *testing.T, network *hosts.Network, coordinators, workers int, store string, flags, workerFlags []string) *severalCluster {
	t.Helper()
	var on []*hosts.Host
	var peers []string
	for i := range coordinators {
		h := network.Host(fmt.Sprint("coordinator", i))
		on, peers = append(on, h), append(peers, h.Address+":7070")
	}
	common := t.TempDir()
	flags = append(slices.Clone(flags), "--insecure")
	if coordinators > 1 {
		flags = append(flags, "--peers", strings.Join(peers, ","))
	}
	c := &severalCluster{hostCluster: newHosts(t, on[:1], filepath.Join(common, "0"), cmp.Or(store, filepath.Join(common, "shards")), flags...)}
	c.workerFlags = workerFlags
	if store != "" {
		c.hidden = common
	}
	c.coordinators = append(c.coordinators, c.coordinator)
	for i, h := range on[1:] {
		other := *c.coordinator
		other.name, other.host, other.log = h.Name, h, filepath.Join(filepath.Dir(c.program), h.Name+".log")
		other.command = slices.Clone(c.coordinator.command)
		for k, word := range other.command {
			other.command[k] = strings.Replace(word, on[0].Address+":", h.Address+":", 1)
			if word == filepath.Join(common, "0") {
				other.command[k] = filepath.Join(common, strconv.Itoa(i+1))
			}
			if word == strings.Join(peers, ",") {
				other.command[k] = word
			}
		}
		c.coordinators = append(c.coordinators, &other)
	}
	t.Cleanup(func() {
		for _, d := range c.coordinators {
			if d.cmd != nil && d.alive() {
				d.kill()
			}
		}
	})
	for _, d := range c.coordinators {
		d.start(t)
	}
	conn, err := leader.Dial(peers[0], insecure.NewCredentials(), quickly)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c.control, c.members = wire.NewControlClient(conn), wire.NewCoordinatorsClient(conn)
	c.until("a coordinator leads", func(coordinator.Status) bool { return true })
	for i := range workers {
		h := network.Host(fmt.Sprint("worker", i))
		h.Limit("10mbit") // so that a step takes long enough to be disturbed
		c.add(h, h.Address)
	}
	return c
}

// severalCluster is a cluster with several coordinators.
type severalCluster struct {
	*hostCluster
	coordinators []*daemon
	members      wire.CoordinatorsClient
	unlisted     error // why the last list failed
}

// directoryOf is the directory of a coordinator.
func directoryOf(d *daemon) string { return d.command[slices.Index(d.command, "--dir")+1] }

// list asks a coordinator for all.
func (c *severalCluster) list() (list coordinator.Coordinators) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
	defer cancel()
	reply, err := c.members.List(ctx, &wire.ListCoordinatorsRequest{})
	if err == nil {
		err = json.Unmarshal(reply.GetJson(), &list)
	}
	c.unlisted = err
	return list
}

// leading is the coordinator that leads.
func (c *severalCluster) leading() *daemon {
	c.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) { // another process is asked
		list := c.list()
		for _, d := range c.coordinators {
			if list.Leader == d.host.Address+":7070" && d.alive() {
				return d
			}
		}
	}
	c.t.Fatalf("no coordinator leads: %v\n%s", c.unlisted, c.logs())
	panic("unreachable")
}

// agree waits until all coordinators have the same entries.
func (c *severalCluster) agree() {
	c.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) { // another process is asked
		list := c.list()
		same := len(list.Members) == len(c.coordinators)
		for _, m := range list.Members {
			same = same && m.Answers && m.Applied == list.Applied
		}
		if same {
			return
		}
	}
	c.t.Fatalf("the coordinators do not agree: %+v, %v\n%s", c.list(), c.unlisted, c.logs())
}

// end lets all daemons leave in order.
func (c *severalCluster) end() {
	c.t.Helper()
	for _, w := range c.workers {
		w.signal(syscall.SIGTERM)
		<-w.ended
	}
	for _, d := range c.coordinators {
		d.signal(syscall.SIGTERM)
	}
	for _, d := range c.coordinators {
		<-d.ended
	}
}

// logs are the ends of the daemons' logs.
func (c *severalCluster) logs() string {
	var all strings.Builder
	for _, d := range append(slices.Clone(c.coordinators), c.workers...) {
		fmt.Fprintf(&all, "-- %s\n%s\n", d.name, strings.Join(tailLines(d.log, 4000), "\n"))
	}
	return all.String()
}
