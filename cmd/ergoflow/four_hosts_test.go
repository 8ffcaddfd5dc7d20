package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/machine"
)

// TestFourHosts: workers on four hosts join by the command that the coordinator prints. A
// worker that is unplugged stops while the others continue. Plugged in again it takes
// their state, and the result is that of an undisturbed run.
func TestFourHosts(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, fourHosts)
}

func fourHosts(t *testing.T) {
	network := hosts.New(t)
	e := tiny(t, 300, false)
	want := final(t, undisturbed(t, network.Host("alone"), e))

	on := limitedHosts(network, "20mbit", "a", "b", "c", "d") // slow enough to unplug a host in the middle
	dir := t.TempDir()
	c := startHosts(t, on, dir, filepath.Join(dir, "shards"))
	c.until("four workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 4 })
	c.submit(e)
	c.until("four workers train", training(4, 20))

	d := on[3]
	d.Unplug()
	cut := c.until("three continue without d", func(st coordinator.Status) bool { return training(3, 0)(st) && st.Step > 25 })
	c.until("they have made 20 steps", training(3, int(cut.Step)+20))
	if st, _ := c.status(); st.WorldSize != 3 {
		t.Errorf("a generation of %d trains while d is cut off", st.WorldSize)
	}
	d.Plug()
	back := c.until("d is back", training(4, int(cut.Step)+21))
	c.finish()
	c.end()
	c.checkSecrets()

	// The state that d held when it came back is behind the others' committed one: it took
	// another's state and followed, or fetched it when it was admitted.
	behind := false
	if took := regexp.MustCompile(`msg=following .*held="step (\d+) of`).FindStringSubmatch(c.read(c.workers[3])); took != nil {
		held, err := strconv.Atoi(took[1])
		behind = err == nil && held <= int(cut.Step)
	}
	for g := cut.Generation + 1; g <= back.Generation; g++ {
		behind = behind || regexp.MustCompile(fmt.Sprintf("generation %d: [123] of 4 members hold step", g)).MatchString(c.read(c.coordinator))
	}
	if !behind {
		t.Errorf("d was not behind when it came back: it took steps while it was cut off\n%s", c.logs())
	}
	if strings.Contains(c.read(c.coordinator), "differ") {
		t.Errorf("states differed\n%s", c.logs())
	}
	equalToRounding(t, "four hosts, one of which was cut off", final(t, dir), want)
}

// TestUnreachableWorkers: three workers have data ports that the others cannot reach. The
// one on loopback is refused. The one to which there is no way from the start is
// left out of generations. The one whose port does not answer is not admitted to a run
// in training. The others continue, and the status says why.
func TestUnreachableWorkers(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, unreachableWorkers)
}

func unreachableWorkers(t *testing.T) {
	network := hosts.New(t)
	e := tiny(t, 400, false)
	want := final(t, undisturbed(t, network.Host("alone"), e))

	a, b, refused, silent := network.Host("a"), network.Host("b"), network.Host("refused"), network.Host("silent")
	const nowhere, dropped = "10.78.0.1", "10.78.0.2"
	refused.Hide(nowhere)
	silent.Hide(dropped)
	for _, h := range []*hosts.Host{a, b, refused} {
		h.Limit("20mbit") // slow enough for the last worker to come before the end
		h.Drop(dropped, network.Host("hole-"+h.Name))
	}
	dir := t.TempDir()
	c := startHosts(t, []*hosts.Host{a, b}, dir, filepath.Join(dir, "shards"))
	c.add(refused, nowhere)
	c.until("three workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 3 })
	c.add(network.Host("forgetful"), "127.0.0.1")
	forgetful := c.workers[len(c.workers)-1]
	select {
	case <-forgetful.ended:
	case <-time.After(patience):
	}
	if said := c.read(forgetful); !strings.Contains(said, "other hosts cannot reach 127.0.0.1:7083") {
		t.Errorf("a worker with a data port on loopback logs\n%s", said)
	}
	c.submit(e)
	c.until("it is left out and two train", func(st coordinator.Status) bool {
		return training(2, 10)(st) && slices.ContainsFunc(st.Workers, func(w machine.WorkerStatus) bool {
			return strings.HasPrefix(w.Addr, nowhere) && w.State == "aside"
		})
	})
	c.add(silent, dropped)
	before := c.until("it is not admitted", func(st coordinator.Status) bool {
		return slices.ContainsFunc(st.Refused, func(r coordinator.Refusal) bool { return strings.Contains(r.Reason, "cannot connect to "+dropped) })
	})
	c.until("two continue", training(2, int(before.Step)+20))
	c.finish()
	c.end()
	if prepared := regexp.MustCompile(`worker \S+-7084 is prepared`); prepared.MatchString(c.read(c.coordinator)) {
		t.Errorf("a worker that no other reaches was admitted\n%s", c.logs())
	}
	equalToRounding(t, "two workers that others tried to join", final(t, dir), want)
}
