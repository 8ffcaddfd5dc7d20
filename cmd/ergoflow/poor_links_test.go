package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
)

// TestPoorLinks: the cables of two of three hosts lose, delay, reorder and repeat packets, as
// wide-area networks and bad switches do. Training goes on, more slowly. While a cable loses
// half of all packets, the other workers may go on without its host, which comes back. The
// result is that of an undisturbed run.
func TestPoorLinks(t *testing.T) {
	if *chaosFor == 0 {
		t.Skip("time-outs of real connections take a minute: `make chaos` runs this too")
	}
	hosts.Isolated(t, poorLinks)
}

func poorLinks(t *testing.T) {
	network := hosts.New(t)
	e := tiny(t, 1000, false) // of which two fast workers make 250 while the third is cut off
	want := final(t, undisturbed(t, network.Host("alone"), e))

	a := network.Host("a") // has the coordinator
	b, toB := network.Poor("b", 1)
	c, toC := network.Poor("c", 2)
	cables := []*hosts.Cable{toB, toC}
	dir := t.TempDir()
	cluster := startHosts(t, []*hosts.Host{a, b, c}, dir, filepath.Join(dir, "shards"))
	cluster.until("three workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 3 })
	cluster.submit(e)
	step := int(cluster.until("three train", training(3, 5)).Step)

	for _, fault := range []struct {
		name string
		hosts.Faults
	}{
		{"packets come 20 to 40 ms late and overtake each other", hosts.Faults{Delay: 20 * time.Millisecond, Jitter: 20 * time.Millisecond}},
		{"one packet in 50 is lost, and one in 50 comes twice", hosts.Faults{Loss: 0.02, Repeat: 0.02, Delay: time.Millisecond, Jitter: 5 * time.Millisecond}},
	} {
		for _, cable := range cables {
			cable.Set(fault.Faults)
		}
		began := time.Now()
		step = int(cluster.until("ten more steps while "+fault.name, training(3, step+10)).Step)
		t.Logf("%s: ten steps of three in %.1f s", fault.name, time.Since(began).Seconds())
	}
	for _, cable := range cables {
		cable.Set(hosts.Faults{})
	}
	toC.Set(hosts.Faults{Loss: 0.5})
	began := time.Now()
	st := cluster.until("ten more steps while half of c's packets are lost", func(st coordinator.Status) bool {
		return training(2, step+10)(st) || training(3, step+10)(st)
	})
	t.Logf("half of c's packets are lost: step %d of %d workers after %.1f s", st.Step, st.WorldSize, time.Since(began).Seconds())
	step = int(st.Step)
	toC.Set(hosts.Faults{})
	began = time.Now()
	back := cluster.until("three train again", training(3, step+1))
	t.Logf("step %d of three %.1f s after the cable is whole", back.Step, time.Since(began).Seconds())
	cluster.finish()
	cluster.end()
	equalToRounding(t, "three hosts on poor cables", final(t, dir), want)
	for i, cable := range cables {
		if n := cable.Counts(); n.Lost == 0 || n.Repeated == 0 {
			t.Errorf("cable %d: %+v", i, n)
		} else {
			t.Logf("cable %d: %d frames carried, %d lost, %d repeated", i, n.Carried, n.Lost, n.Repeated)
		}
	}
}
