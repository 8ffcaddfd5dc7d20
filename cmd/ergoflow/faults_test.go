package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// fullRate is the network rate of every host. It makes the tiny experiment last long enough.
const fullRate = "40mbit"

// A fault affects a cluster for a while.
type fault struct {
	kind  string
	what  string   // for the log
	on    []string // the daemons, cables, rates or disks that it affects
	hold  time.Duration
	begin func()
	end   func()

	since time.Time
	over  bool
	step  int           // when it began
	after time.Duration // until two more steps were committed; zero: not yet
}

// faults are the kinds of faults of a round. make draws the process or host.
var faults = []struct {
	name string
	make func(*round, *fault)
}{
	{"kill", func(r *round, f *fault) {
		w := r.worker()
		f.what, f.on = "kill the "+w.name, []string{w.name}
		f.begin, f.end = w.kill, func() { w.start(r.t) }
	}},
	{"kill two", func(r *round, f *fault) {
		i := r.rng.IntN(len(r.workers))
		v, w := r.workers[i], r.workers[(i+1+r.rng.IntN(len(r.workers)-1))%len(r.workers)]
		f.what, f.on = fmt.Sprintf("kill the %s and the %s", v.name, w.name), []string{v.name, w.name}
		f.begin = func() { v.kill(); w.kill() }
		f.end = func() { v.start(r.t); w.start(r.t) }
	}},
	{"drain", func(r *round, f *fault) {
		w := r.worker()
		f.what, f.on = "drain the "+w.name, []string{w.name}
		f.begin = func() { w.signal(syscall.SIGTERM) }
		f.end = func() {} // respawn starts it again
	}},
	{"stop", func(r *round, f *fault) {
		w := r.worker()
		f.what, f.on = "stop the "+w.name, []string{w.name}
		f.begin = func() { w.signal(syscall.SIGSTOP) }
		f.end = func() { w.signal(syscall.SIGCONT) }
	}},
	{"unplug", func(r *round, f *fault) {
		h := r.hosts[r.rng.IntN(len(r.hosts))]
		f.what, f.on = "unplug "+h.Name, []string{"cable of " + h.Name}
		f.begin, f.end = h.Unplug, h.Plug
	}},
	{"limit", func(r *round, f *fault) {
		h := r.hosts[r.rng.IntN(len(r.hosts))]
		rate := []string{"1mbit", "4mbit", "10mbit"}[r.rng.IntN(3)]
		f.what, f.on = fmt.Sprintf("limit %s to %s", h.Name, rate), []string{"rate of " + h.Name}
		f.begin = func() { h.Limit(rate) }
		f.end = func() { h.Limit(fullRate) }
	}},
	{"cut link", func(r *round, f *fault) {
		i := r.rng.IntN(len(r.hosts))
		from, to := r.hosts[i], r.hosts[(i+1+r.rng.IntN(len(r.hosts)-1))%len(r.hosts)]
		f.what, f.on = fmt.Sprintf("lose the route from %s to %s", from.Name, to.Name), []string{"route from " + from.Name}
		f.begin = func() { from.Blackhole(to.Address) }
		f.end = func() { from.Reroute(to.Address) }
	}},
	{"kill coordinator", func(r *round, f *fault) {
		f.what, f.on = "kill the coordinator", []string{r.coordinator.name}
		f.begin, f.end = r.coordinator.kill, func() { r.coordinator.start(r.t) }
	}},
	{"stop coordinator", func(r *round, f *fault) {
		f.what, f.on = "stop the coordinator", []string{r.coordinator.name}
		f.begin = func() { r.coordinator.signal(syscall.SIGSTOP) }
		f.end = func() { r.coordinator.signal(syscall.SIGCONT) }
	}},
	{"full disk", func(r *round, f *fault) {
		ballast := filepath.Join(r.disk, "ballast")
		f.what, f.on = "fill the coordinator's disk", []string{"disk"}
		f.begin = func() { os.WriteFile(ballast, make([]byte, diskBytes), 0o644) } // as much as fits
		f.end = func() { os.Remove(ballast) }
	}},
}

// worker draws a worker.
func (r *round) worker() *daemon { return r.workers[r.rng.IntN(len(r.workers))] }
