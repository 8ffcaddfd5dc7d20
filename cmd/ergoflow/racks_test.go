package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/credentials/insecure"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/machine"
)

// TestRacks: workers join in turn from two racks, whose hosts share a slow cable. Latencies do not tell
// the racks apart. Workers measure what each can send to them, and the ring leaves each rack once.
func TestRacks(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, racks)
}

func racks(t *testing.T) {
	network := hosts.New(t)
	const each = 3
	var on []*hosts.Host
	rackOf := make(map[string]int) // address → rack
	both := []*hosts.Rack{network.Rack("rack0", "50mbit"), network.Rack("rack1", "50mbit")}
	for i := range each {
		for r, rack := range both {
			h := rack.Host(fmt.Sprintf("r%dh%d", r, i))
			h.Limit("400mbit")
			on, rackOf[h.Address] = append(on, h), r
		}
	}
	dir := t.TempDir()
	c := newHosts(t, on, dir, filepath.Join(dir, "shards"), "--insecure")
	c.coordinator.start(t)
	c.connect(insecure.NewCredentials())
	for i, h := range on {
		c.add(h, h.Address)
		c.until("it has joined", func(st coordinator.Status) bool { return len(st.Workers) == i+1 })
	}
	c.until("all have measured all", func(coordinator.Status) bool {
		return !slices.ContainsFunc(c.workers, func(w *daemon) bool {
			return !strings.Contains(c.read(w), fmt.Sprintf(`this one" workers=%d`, len(on)-1))
		})
	})
	c.submit(tiny(t, 60, false))
	st := c.until("all train", training(len(on), 5))
	members := slices.SortedFunc(slices.Values(st.Workers), func(a, b machine.WorkerStatus) int { return a.Rank - b.Rank })
	crossings, ring := 0, ""
	rack := func(w machine.WorkerStatus) int { return rackOf[w.Addr[:strings.LastIndex(w.Addr, ":")]] }
	for i, w := range members {
		ring += fmt.Sprint(rack(w))
		if rack(w) != rack(members[(i+1)%len(members)]) {
			crossings++
		}
	}
	t.Logf("racks in the ring's order: %s", ring)
	if crossings != 2 {
		t.Errorf("the ring goes from rack to rack %d times\n%s", crossings, c.logs())
	}
	c.until("the end", done)
	c.end()
}
