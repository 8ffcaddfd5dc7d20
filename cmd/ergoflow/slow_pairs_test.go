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
	"github.com/ergoflow/ergoflow/model/experiment"
)

// TestSlowPairs: six hosts in a circle, each of which sends slowly to the two beside it. Latencies are
// those of all others. Workers join in the order of the circle, and the ring would have that order.
// They measure what each can send to them, and the ring passes no slow pair.
func TestSlowPairs(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, slowPairs)
}

func slowPairs(t *testing.T) {
	network := hosts.New(t)
	const n = 6
	var on []*hosts.Host
	at := make(map[string]int) // address → place in the circle
	for i := range n {
		on = append(on, network.Host(fmt.Sprintf("h%d", i)))
		at[on[i].Address] = i
	}
	for i, h := range on {
		h.LimitTo("25mbit", "400mbit", on[(i+1)%n], on[(i+n-1)%n])
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
			return !strings.Contains(c.read(w), fmt.Sprintf(`this one" workers=%d`, n-1))
		})
	})
	e, err := experiment.Load("vn1d", "smoke", "", []string{"data.shards=8", "data.training.burn_in=50", "data.reference.burn_in=50",
		"training.steps=20", "training.batch_samples=4", "model.deeponet.trunk_width=500"}) // long enough vectors that rates matter
	if err != nil {
		t.Fatal(err)
	}
	c.submit(e)
	st := c.until("all train", training(n, 2))
	members := slices.SortedFunc(slices.Values(st.Workers), func(a, b machine.WorkerStatus) int { return a.Rank - b.Rank })
	var ring []int
	for _, w := range members {
		host, _, _ := strings.Cut(w.Addr, ":")
		ring = append(ring, at[host])
	}
	t.Logf("the ring passes %v", ring)
	for r, i := range ring {
		if next := ring[(r+1)%n]; (next-i+n)%n == 1 || (i-next+n)%n == 1 {
			t.Errorf("it passes the slow pair %d, %d\n%s", i, next, c.logs())
		}
	}
	c.finish()
	c.end()
}
