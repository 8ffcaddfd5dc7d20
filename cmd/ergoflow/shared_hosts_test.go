package main

import (
	"net"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
)

// TestSharedHosts: four workers on two hosts, which come in turn, sum within their hosts first:
// those of a host have neighbouring ranks. One is killed, and three on uneven hosts go on; it is
// replaced. The result is that of an undisturbed run, bit for bit.
func TestSharedHosts(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, sharedHosts)
}

func sharedHosts(t *testing.T) {
	network := hosts.New(t)
	e := tiny(t, 250, true)
	want := final(t, undisturbed(t, network.Host("alone"), e))

	on := limitedHosts(network, "20mbit", "a", "b") // slow enough to kill a worker in the middle
	dir := t.TempDir()
	c := startPlain(t, on, dir, filepath.Join(dir, "shards"))
	add := func(h *hosts.Host) { c.add(h, h.Address) }
	add(on[0])
	add(on[1])
	c.until("four workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 4 })
	c.submit(e)
	checkRanks(t, c.until("four train", training(4, 20)))
	c.workers[2].kill()
	three := c.until("three train", training(3, 30))
	checkRanks(t, three)
	add(on[0])
	checkRanks(t, c.until("four train again", training(4, int(three.Step)+10)))
	c.finish()
	c.end()
	equalBits(t, "workers that share hosts", final(t, dir), want)
}

// checkRanks: the members on a host have neighbouring ranks.
func checkRanks(t *testing.T, st coordinator.Status) {
	t.Helper()
	byRank := make([]string, st.WorldSize)
	for _, w := range st.Workers {
		if w.Rank >= 0 && w.Rank < len(byRank) {
			byRank[w.Rank], _, _ = net.SplitHostPort(w.Addr)
		}
	}
	if parts := slices.Compact(slices.Clone(byRank)); len(parts) != 2 {
		t.Errorf("the ranks are on %v", byRank)
	}
}
