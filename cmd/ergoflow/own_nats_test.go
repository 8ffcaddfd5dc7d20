package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/internal/natstest"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// TestOwnNATS: jobs and shards are at three NATS servers on hosts of their own, with the documented
// accounts. One of the servers is killed while shards are made and another one while workers
// train, and so is the coordinator. The parameters have the bits of an undisturbed run.
func TestOwnNATS(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, func(t *testing.T) { ownNATS(t, 1) })
}

// TestOwnNATSSeveral is the same with three coordinators, of which the one that leads is killed. The
// first server is cut off instead.
func TestOwnNATSSeveral(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, func(t *testing.T) { ownNATS(t, 3) })
}

func ownNATS(t *testing.T, coordinators int) {
	e := slowData(t, 2000)
	network := hosts.New(t)
	want := final(t, undisturbed(t, network.Host("alone"), e))

	servers, url := startNATS(t, network)
	user := func(name, password string) (dir string) {
		dir = t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "user.password"), []byte(name+":"+password), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	c := startSeveralWith(t, network, coordinators, 2, "nats://shards?replicas=3",
		[]string{"--nats", url, "--nats-replicas", "3", "--nats-files", user("coordinator", "hush-1")}, []string{"--nats-files", user("worker", "hush-2")})
	c.submit(e)
	c.until("some shards are made", func(st coordinator.Status) bool { return st.State == "generating" && st.Shards.Done >= 3 })
	if coordinators == 1 {
		servers[0].kill()
	} else {
		servers[0].host.Unplug() // nobody's connection ends
	}
	st := c.until("shards are made without a server", func(st coordinator.Status) bool { return st.Shards.Done >= 10 })
	t.Logf("%s with %d shards", st.State, st.Shards.Done)
	lead := c.coordinator
	if coordinators > 1 {
		lead = c.leading()
	}
	lead.kill()
	lead.start(t)
	st = c.until("two workers train", training(2, 20))
	if coordinators == 1 {
		servers[0].start(t)
	} else {
		servers[0].host.Plug()
	}
	servers[1].kill()
	st = c.until("they go on", training(2, int(st.Step)+20))
	servers[1].start(t)
	servers[2].kill()
	if coordinators > 1 {
		lead = c.leading()
	}
	lead.kill()
	lead.start(t)
	c.until("they go on under a coordinator that began without a server", func(now coordinator.Status) bool { return now.State == "done" || now.Step > st.Step+20 })
	c.finish()
	if coordinators > 1 {
		lead = c.leading()
	}
	c.end()
	equalBits(t, "with servers of NATS that were killed", final(t, directoryOf(lead)), want)
	for _, s := range servers {
		said, err := os.ReadFile(s.log)
		if err != nil || strings.Contains(string(said), "Violation") {
			t.Errorf("%s: %v\n%s", s.name, err, said)
		}
	}
}

// slowData is a small run whose sixteen shards take as long as chains of so many steps.
func slowData(t *testing.T, burnIn int) experiment.Experiment {
	t.Helper()
	e, err := experiment.Load("vn1d", "smoke", "", []string{"data.shards=16", fmt.Sprint("data.training.burn_in=", burnIn), "data.reference.burn_in=2000",
		"training.checkpoint_every=25", "training.steps=300", "training.reproducible=true"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// startNATS starts three NATS servers with the documented accounts, each on a host.
func startNATS(t *testing.T, network *hosts.Network) (servers []*daemon, url string) {
	t.Helper()
	accounts, err := os.ReadFile("../../deploy/nats/accounts.conf")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var on []*hosts.Host
	var routes, urls []string
	for i := range 3 {
		h := network.Host(fmt.Sprint("nats", i))
		on, routes, urls = append(on, h), append(routes, "nats://"+h.Address+":6222"), append(urls, "nats://"+h.Address+":4222")
	}
	for _, h := range on {
		dir := t.TempDir()
		file := filepath.Join(dir, "nats.conf")
		text := natstest.Config(h.Name, dir, h.Address+":4222", h.Address+":8222", h.Address+":6222", routes, "") + string(accounts)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &daemon{name: h.Name, host: h, log: filepath.Join(dir, "nats.log"), command: []string{
			"env", natstest.Variable + "=" + file, "COORDINATOR_PASSWORD=hush-1", "WORKER_PASSWORD=hush-2", self}}
		s.start(t)
		t.Cleanup(func() {
			if s.alive() {
				s.kill()
			}
		})
		servers = append(servers, s)
	}
	return servers, strings.Join(urls, ",")
}
