package simulation

import (
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow"
)

// victims are the two workers that a fault strikes, which may be one, the coordinator, and the fault's
// duration.
type victims struct {
	p, q *process
	c    *coordinator
	d    time.Duration
}

type fault struct {
	name   string
	strike func(w *world, v victims)
}

// linkFaults are what can go wrong between two workers.
var linkFaults = []fault{
	{"two workers are cut off", func(w *world, v victims) {
		w.logf("%s and %s are cut off for %v", v.p, v.q, v.d)
		w.cutBoth(v.p.id, v.q.id, v.d)
	}},
	{"two workers are cut off until the end", func(w *world, v victims) {
		w.logf("%s and %s are cut off until faults are over", v.p, v.q)
		w.cutBoth(v.p.id, v.q.id, w.weather.faults)
	}},
	{"a worker no longer hears another", func(w *world, v victims) {
		w.logf("from %s nothing comes to %s for %v", v.p, v.q, v.d)
		w.cut(v.p.id, v.q.id, v.d)
	}},
	{"a link slows to nothing", func(w *world, v victims) {
		w.logf("the link from %s to %s slows to nothing", v.p, v.q)
		w.choke(v.p.id, v.q.id, 200*time.Millisecond)
	}},
	{"a firewall refuses connections", func(w *world, v victims) {
		w.logf("between %s and %s connections are refused for %v", v.p, v.q, v.d)
		w.refusals[link{min(v.p.id, v.q.id), max(v.p.id, v.q.id)}] = w.now + v.d
		w.breakLinks(v.p, v.q)
	}},
	{"two workers are reconnected", func(w *world, v victims) {
		w.logf("%s and %s are reconnected", v.p, v.q)
		delete(w.links, link{v.p.id, v.q.id})
		delete(w.links, link{v.q.id, v.p.id})
	}},
}

// faults are what can go wrong, each as likely as any other.
var faults = append([]fault{
	{"worker crashes", func(w *world, v victims) { v.p.crash() }},
	{"worker hangs", (*world).hang},
	{"worker is drained", func(w *world, v victims) {
		w.logf("%s is drained", v.p)
		v.p.drain()
	}},
	{"worker joins", func(w *world, v victims) {
		if len(w.alive()) < w.weather.workers+2 {
			w.newProcess("")
		}
	}},
	{"stream breaks", func(w *world, v victims) {
		if v.p.stream != nil {
			w.logf("the stream of %s breaks", v.p)
			v.p.stream.snap()
		}
	}},
	{"worker is cut off the coordinator", func(w *world, v victims) {
		w.logf("%s and the coordinator are cut off for %v", v.p, v.d)
		w.cutBoth(v.p.id, v.c.id, v.d)
	}},
	{"one way is cut", (*world).cutOneWay},
	{"worker is alone", func(w *world, v victims) {
		w.logf("%s is alone for %v", v.p, v.d)
		w.isolate(v.p.id, v.d)
		for _, c := range w.coordinators {
			w.cutBoth(v.p.id, c.id, v.d)
		}
	}},
	{"coordinator is alone", func(w *world, v victims) {
		w.logf("%s is alone for %v", v.c.id, v.d)
		w.isolate(v.c.id, v.d)
	}},
	{"coordinator crashes", func(w *world, v victims) {
		if v.c.runs() {
			v.c.crash()
		}
	}},
	{"coordinator hangs", func(w *world, v victims) {
		w.logf("%s hangs for %v", v.c.id, v.d)
		v.c.hangs = w.now + v.d
	}},
	{"coordinator ends", func(w *world, v victims) {
		if v.c.up {
			w.logf("%s is told to end", v.c.id)
			v.c.stop()
		}
	}},
	{"other settings are submitted", (*world).submitOtherSettings},
}, linkFaults...)

// fault lets something go wrong, and plans the next fault.
func (w *world) fault() {
	if w.calm {
		return
	}
	w.after(w.between(0, 2*w.weather.pause), w.fault)
	all := w.alive()
	if len(all) == 0 || w.now < w.spared {
		return
	}
	first := w.r.IntN(len(all))
	v := victims{
		p: all[first],
		q: all[(first+1+w.r.IntN(max(1, len(all)-1)))%len(all)],
		d: w.between(50*time.Millisecond, w.between(time.Second, 14*time.Second)),
	}
	drawn := faults
	if w.weather.linksOnly {
		drawn = linkFaults
	}
	v.c = w.coordinators[0]
	if w.several() {
		if v.c = w.leader(); w.oneIn(2) {
			v.c = w.coordinators[w.r.IntN(len(w.coordinators))]
		}
		if !w.weather.linksOnly && w.oneIn(2) {
			drawn = groupFaults
		}
	}
	f := drawn[w.r.IntN(len(drawn))]
	f.strike(w, v)
	w.happened[f.name]++
}

func (w *world) hang(v victims) {
	w.logf("%s hangs for %v", v.p, v.d)
	v.p.hangs = w.now + v.d
}

// choke silences a direction again and again, each time for longer.
func (w *world) choke(from, to ergoflow.WorkerID, d time.Duration) {
	if w.calm || d > w.weather.faults {
		return
	}
	w.cut(from, to, d)
	w.after(d+100*time.Millisecond, func() { w.choke(from, to, 2*d) })
}

// cutBoth silences both directions between two hosts.
func (w *world) cutBoth(a, b ergoflow.WorkerID, d time.Duration) {
	w.cut(a, b, d)
	w.cut(b, a, d)
}

// cutOneWay silences one direction between a worker and the coordinator.
func (w *world) cutOneWay(v victims) {
	from, to := v.c.id, v.p.id
	if w.oneIn(2) {
		from, to = to, from
	}
	w.logf("from %s nothing comes to %s for %v", from, to, v.d)
	w.cut(from, to, v.d)
}

// isolate cuts a host off all workers.
func (w *world) isolate(host ergoflow.WorkerID, d time.Duration) {
	for _, p := range w.alive() {
		w.cutBoth(host, p.id, d)
	}
}

func (w *world) submitOtherSettings(victims) {
	c := w.leader()
	if !c.up {
		return
	}
	w.logf("other settings are submitted")
	r := w.runs[w.r.IntN(len(w.runs))]
	if r.hasEnded() {
		return
	}
	r.plan.CheckpointEvery = ergoflow.Step(1 + w.r.IntN(40))
	r.plan.Config = fmt.Appendf(nil, "%d", w.sequence)
	c.submit(r)
}

// becalm ends all faults: links are mended, no process hangs, and all are there.
func (w *world) becalm() {
	w.calm = true
	w.logf("faults are over")
	clear(w.links)
	clear(w.refusals)
	w.mendedAt = w.now
	for _, c := range w.coordinators {
		c.hangs = 0
		if w.several() {
			c.restart()
		}
	}
	for _, p := range w.processes {
		p.hangs = 0
	}
	for range w.weather.workers - len(w.alive()) {
		w.newProcess("")
	}
}
