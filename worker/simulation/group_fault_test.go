package simulation

import (
	"slices"
	"time"
)

// groupFaults are what can go wrong with several coordinators: half of the faults of their
// worlds.
var groupFaults = []fault{
	{"two coordinators are cut off", func(w *world, v victims) {
		o := w.another(v.c)
		w.logf("%s and %s are cut off for %v", v.c.id, o.id, v.d)
		w.cutBoth(v.c.id, o.id, v.d)
	}},
	{"a coordinator no longer hears another", func(w *world, v victims) {
		o := w.another(v.c)
		w.logf("from %s nothing comes to %s for %v", o.id, v.c.id, v.d)
		w.cut(o.id, v.c.id, v.d)
	}},
	{"a coordinator hears no other", func(w *world, v victims) {
		w.logf("to %s nothing comes from the other coordinators for %v", v.c.id, v.d)
		for _, o := range v.c.others {
			w.cut(o.id, v.c.id, v.d)
		}
	}},
	{"no coordinator hears a coordinator", func(w *world, v victims) {
		w.logf("from %s nothing comes to the other coordinators for %v", v.c.id, v.d)
		for _, o := range v.c.others {
			w.cut(v.c.id, o.id, v.d)
		}
	}},
	{"a coordinator is cut off the others", func(w *world, v victims) {
		w.logf("%s and the other coordinators are cut off for %v", v.c.id, v.d)
		for _, o := range v.c.others {
			w.cutBoth(v.c.id, o.id, v.d)
		}
	}},
	{"a coordinator is cut off the others, and streams break", func(w *world, v victims) {
		d := w.between(2*time.Second, 14*time.Second)
		w.logf("%s and the other coordinators are cut off for %v", v.c.id, d)
		for _, o := range v.c.others {
			w.cutBoth(v.c.id, o.id, d)
		}
		for _, p := range w.alive() {
			w.after(w.between(0, d), func() {
				if p.alive && p.stream != nil {
					p.stream.snap()
				}
			})
		}
	}},
	{"the network splits", (*world).split},
	{"the leader is split off", (*world).splitLeader},
	{"the leader hangs for long", func(w *world, v victims) {
		c, d := w.leader(), w.between(4*time.Second, 12*time.Second)
		if len(w.alive()) < w.weather.workers+2 {
			w.newProcess("") // which finds another leader
		}
		w.logf("%s hangs for %v", c.id, d)
		c.hangs = w.now + d
		w.spare(d + time.Second)
	}},
	{"the leader stutters", func(w *world, v victims) { w.stutter(w.leader(), 2+w.r.IntN(5)) }},
	{"coordinators are restarted one by one", func(w *world, v victims) {
		at := time.Duration(0)
		for _, c := range w.coordinators {
			w.after(at, func() {
				if !w.calm && !c.consensus.down {
					c.crash()
				}
			})
			at += w.between(200*time.Millisecond, 5*time.Second)
		}
	}},
	{"all coordinators crash", func(w *world, v victims) {
		for _, c := range w.coordinators {
			if !c.consensus.down {
				c.crash()
			}
		}
	}},
	{"a coordinator is away for long", func(w *world, v victims) {
		if !v.c.consensus.down {
			v.c.crash()
			v.c.away = w.now + w.between(5*time.Second, 20*time.Second)
		}
	}},
	{"a coordinator comes back with an old disk", (*world).oldDisk},
}

// another is a coordinator other than c.
func (w *world) another(c *coordinator) *coordinator {
	all := c.others
	return all[w.r.IntN(len(all))]
}

// split cuts some coordinators and workers off the rest.
func (w *world) split(v victims) {
	var here, there []*host
	side := func(h *host) {
		if w.oneIn(2) {
			here = append(here, h)
		} else {
			there = append(there, h)
		}
	}
	for _, c := range w.coordinators {
		side(&c.host)
	}
	for _, p := range w.alive() {
		side(&p.host)
	}
	w.part(here, there, v.d)
}

// splitLeader leaves the leader with the members of a generation. The other coordinators have
// the rest of the workers, and a new one: they continue the run while the members cannot know
// that.
func (w *world) splitLeader(victims) {
	leader := w.leader()
	here, there := []*host{&leader.host}, []*host(nil)
	for _, c := range leader.others {
		there = append(there, &c.host)
	}
	if len(w.alive()) < w.weather.workers+2 {
		w.newProcess("")
	}
	for _, p := range w.alive() {
		if p.work != nil && p.work.ring != nil {
			here = append(here, &p.host)
		} else {
			there = append(there, &p.host)
		}
	}
	d := w.between(8*time.Second, 20*time.Second)
	w.part(here, there, d)
	w.spare(d)
}

// spare has nothing else fail meanwhile, every second time: so that others take over.
func (w *world) spare(d time.Duration) {
	if w.oneIn(2) {
		w.spared = w.now + d
	}
}

// part cuts hosts off others.
func (w *world) part(here, there []*host, d time.Duration) {
	text := ""
	for _, a := range here {
		text += " " + string(a.id)
		for _, b := range there {
			w.cutBoth(a.id, b.id, d)
		}
	}
	w.logf("the network splits for %v:%s", d, text)
}

// stutter has a coordinator hang several times, with moments between.
func (w *world) stutter(c *coordinator, times int) {
	if w.calm || times == 0 {
		return
	}
	d := w.between(time.Second, 4*time.Second)
	w.logf("%s hangs for %v", c.id, d)
	c.hangs = w.now + d
	w.after(d+w.between(time.Millisecond, 300*time.Millisecond), func() { w.stutter(c, times-1) })
}

// oldDisk ends a coordinator, and takes from its disk what all others have. Its term and its
// vote stay: with old ones it could vote twice in a term.
func (w *world) oldDisk(v victims) {
	c := v.c
	if !c.consensus.down {
		c.crash()
	}
	m := c.consensus
	for _, o := range c.others {
		n := len(m.log)
		if o.consensus.synced < n || n > 0 && o.consensus.log[n-1].term != m.lastTerm() {
			w.logf("%s keeps its disk: %s has not all of it", c.id, o.id)
			return
		}
	}
	m.log = m.log[:w.r.IntN(len(m.log)+1)]
	m.synced = len(m.log)
	for _, r := range w.runs {
		c.stored[r] = slices.DeleteFunc(c.stored[r], func(n *node) bool {
			return !slices.ContainsFunc(c.others, func(o *coordinator) bool { return !slices.Contains(o.stored[r], n) })
		})
	}
	w.logf("%s comes back with an old disk, which has %d entries", c.id, len(m.log))
}

// powerFails ends a coordinator that has written an entry of a leader, and sometimes the leader.
func (w *world) powerFails(c, leader *coordinator) {
	w.happened["a coordinator crashes as it writes"]++
	c.crash()
	if w.oneIn(3) && leader.runs() {
		leader.crash()
	}
}
