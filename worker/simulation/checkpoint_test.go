package simulation

import (
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/machine"
)

// scan reads the disk, which takes a while. A coordinator of several first fetches from a
// majority the checkpoints that it lacks, once in each incarnation. The newest may be one that
// no majority has: its leader was deposed before. Then that is copied before the machine hears
// of it, since the machine may end the run with it.
func (c *coordinator) scan(r *run) {
	if c.scanning[r.plan.Run] {
		return
	}
	c.scanning[r.plan.Run] = true
	if c.consensus == nil || c.scanned[r] || c.w.sabotage.noFetch {
		c.list(r)
		return
	}
	c.quorum(func(of *coordinator, answer func(func())) {
		has := slices.Clone(of.stored[r])
		answer(func() {
			for _, n := range has {
				if !slices.Contains(c.stored[r], n) {
					c.w.happened["checkpoints fetched"]++
					c.stored[r] = append(c.stored[r], n)
				}
			}
		})
	}, func() {
		if n := newestOf(c.stored[r]); n != nil && !c.w.sabotage.noReturn {
			c.copy(n, func() { c.list(r) })
			return
		}
		c.list(r)
	})
}

// list answers a scan with what is on the disk; of several coordinators, with what a majority
// has: a leader that is deposed and unaware may still copy to this disk.
func (c *coordinator) list(r *run) {
	e := machine.Scanned{Run: r.plan.Run}
	for k := range r.plan.Shards + 1 {
		e.Present = append(e.Present, k)
	}
	listed := c.stored[r]
	if c.consensus != nil && !c.w.sabotage.noReturn {
		listed = c.secured[r]
	}
	if newest := newestOf(listed); newest != nil {
		e.HasCheckpoint, e.Checkpoint = true, newest.mark
	}
	c.scans(r)
	c.at(c.w.between(time.Millisecond, 300*time.Millisecond), func() {
		delete(c.scanning, r.plan.Run)
		c.step(e)
	})
}

// save stores a checkpoint that has arrived, and tells the machine once it is durable.
func (c *coordinator) save(p *process, n *node, final bool) {
	w, r := c.w, n.run
	upload := machine.Upload{Worker: p.id, Secret: uint64(p.pid), Run: r.plan.Run, State: n.mark}
	if err := c.fleet.CheckUpload(upload); err != nil {
		w.logf("%s refuses the checkpoint %s of %s: %v", c.id, n.mark, p, err)
		w.happened["checkpoints refused"]++
		return
	}
	w.uploaded(c, r, upload)
	if !w.calm && w.oneIn(w.weather.unsaved) {
		e := machine.NotSaved{Run: r.plan.Run, Step: n.mark.Step, Reason: "no space left"}
		if n.mark.Step%2 == 0 { // a full disk; otherwise a file that cannot be written
			e.Short = &machine.Shortage{Path: "/disk", Bytes: 1}
		}
		c.step(e)
		return
	}
	w.logf("%s stores the checkpoint %s", c.id, n.mark)
	if w.sabotage.lateCheckpoint {
		c.at(500*time.Millisecond, func() { c.keep(n) })
	} else {
		c.keep(n)
	}
	saved := func() {
		times := 1
		if !w.calm && w.oneIn(w.weather.twice) {
			times = 2
		}
		for range times {
			c.at(w.between(0, 5*time.Millisecond), func() { c.step(machine.Saved{Run: r.plan.Run, State: n.mark, Final: final}) })
		}
	}
	if c.consensus == nil {
		saved()
		return
	}
	c.copy(n, saved)
}

// keep writes a checkpoint to the disk.
func (c *coordinator) keep(n *node) {
	c.stored[n.run] = append(c.stored[n.run], n)
	if c.consensus == nil {
		n.run.checkpoints = append(n.run.checkpoints, n)
	}
}

// copy brings a checkpoint to the others. It calls once a majority has it on its disks and the
// coordinator has then verified that it leads: the majority had it before any other was elected,
// which therefore finds it.
func (c *coordinator) copy(n *node, saved func()) {
	w := c.w
	promise := func() {
		c.secured[n.run] = append(c.secured[n.run], n)
		c.promises(n)
		saved()
	}
	if w.sabotage.minorSaved {
		promise()
		return
	}
	c.quorum(func(of *coordinator, answer func(func())) {
		of.consensus.later(w.between(0, 800*time.Millisecond), func() { // it is large
			if w.calm || !w.oneIn(w.weather.unsaved) {
				if !slices.Contains(of.stored[n.run], n) {
					of.stored[n.run] = append(of.stored[n.run], n)
				}
				answer(func() {})
			}
		})
	}, func() {
		if w.sabotage.unfencedSaved {
			promise()
			return
		}
		c.consensus.verifyThen(promise)
	})
}

// newestOf is the checkpoint with the greatest mark; nil: there is none.
func newestOf(checkpoints []*node) *node {
	var newest *node
	for _, n := range checkpoints {
		if newest == nil || n.mark.Compare(newest.mark) > 0 {
			newest = n
		}
	}
	return newest
}
