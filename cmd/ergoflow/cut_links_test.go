package main

import (
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/machine"
)

// TestCutLinks: two of three workers no longer reach each other, and both reach the
// coordinator. Training continues without one of them, and the status names the link. When
// the link is mended the worker is back, and the result is that of an undisturbed run. A
// route is lost, with errors for the sender, or a firewall drops what one sends the other,
// or what both send. Of the last two workers one goes on alone.
func TestCutLinks(t *testing.T) {
	if *chaosFor == 0 {
		t.Skip("time-outs of real connections take a minute: `make chaos` runs this too")
	}
	hosts.Isolated(t, cutLinks)
}

func cutLinks(t *testing.T) {
	network := hosts.New(t)
	e := tiny(t, 1200, false)
	want := final(t, undisturbed(t, network.Host("alone"), e))

	on := limitedHosts(network, "20mbit", "a", "b", "c") // slow enough to cut links in the middle
	b, c := on[1], on[2]                                 // a has the coordinator
	hole := network.Host("hole")
	dir := t.TempDir()
	cluster := startHosts(t, on, dir, filepath.Join(dir, "shards"))
	cluster.until("three workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 3 })
	cluster.submit(e)
	cluster.until("three train", training(3, 20))

	for _, fault := range []struct {
		name      string
		cut, mend func()
	}{
		{"b has no route to c", func() { b.Blackhole(c.Address) }, func() { b.Reroute(c.Address) }},
		{"what c sends to b is dropped", func() { c.Drop(b.Address, hole) }, func() { c.Reroute(b.Address) }},
		{"what b and c send each other is dropped", func() { b.Drop(c.Address, hole); c.Drop(b.Address, hole) },
			func() { b.Reroute(c.Address); c.Reroute(b.Address) }},
	} {
		began := time.Now()
		fault.cut()
		cut := cluster.until("two continue while "+fault.name, func(st coordinator.Status) bool {
			return training(2, 0)(st) && len(st.CutLinks) == 1 &&
				slices.ContainsFunc(st.Workers, func(w machine.WorkerStatus) bool { return w.State == "aside" && w.Reason != "" })
		})
		first := cluster.until("they make a step while "+fault.name, training(2, int(cut.Step)+1))
		noticed := time.Since(began)
		cluster.until("they have made ten steps while "+fault.name, training(2, int(first.Step)+10))
		began = time.Now()
		fault.mend()
		back := cluster.until("three train after "+fault.name, training(3, int(first.Step)+11))
		if len(back.CutLinks) > 0 {
			t.Errorf("three train, and %v are cut", back.CutLinks)
		}
		t.Logf("%s: a step of two after %.1f s, one of three %.1f s after it is mended", fault.name, noticed.Seconds(), time.Since(began).Seconds())
	}

	cluster.workers[0].signal(syscall.SIGTERM) // the coordinator stays on its host
	two := cluster.until("two train", func(st coordinator.Status) bool { return training(2, 0)(st) && len(st.Workers) == 2 })
	began := time.Now()
	b.Blackhole(c.Address)
	one := cluster.until("one continues alone", training(1, int(two.Step)+1))
	t.Logf("one alone makes a step after %.1f s", time.Since(began).Seconds())
	b.Reroute(c.Address)
	// A link that was cut four times is left alone for 8 s: one alone may be done before.
	cluster.until("two train again, or one has reached the end", func(st coordinator.Status) bool { return training(2, int(one.Step)+1)(st) || done(st) })
	cluster.finish()
	cluster.end()
	equalToRounding(t, "three hosts with cut links", final(t, dir), want)
}
