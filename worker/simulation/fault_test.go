package simulation

import (
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
)

// fault lets something go wrong, and then the next.
func (w *world) fault() {
	if w.calm {
		return
	}
	w.after(w.between(0, 2*w.weather.pause), w.fault)
	c := w.coordinator
	all := w.alive()
	if len(all) == 0 {
		return
	}
	p := all[w.r.IntN(len(all))]
	q := all[w.r.IntN(len(all))]
	d := w.between(50*time.Millisecond, w.between(time.Second, 14*time.Second))
	name := ""
	switch w.r.IntN(14) {
	case 0:
		name = "worker crashes"
		p.crash()
	case 1:
		name = "worker hangs"
		w.logf("%s hangs for %v", p, d)
		p.hangs = w.now + d
	case 2:
		name = "worker is drained"
		w.logf("%s is drained", p)
		p.drain()
	case 3:
		name = "worker joins"
		if len(all) < w.weather.workers+2 {
			w.newProcess("")
		}
	case 4:
		name = "stream breaks"
		if p.stream != nil {
			w.logf("the stream of %s breaks", p)
			p.stream.snap()
		}
	case 5:
		name = "worker is cut off the coordinator"
		w.logf("%s and the coordinator are cut off for %v", p, d)
		w.cut(p.id, coordinatorHost, d)
		w.cut(coordinatorHost, p.id, d)
	case 6:
		name = "one way is cut"
		w.logf("from %s nothing comes to the coordinator for %v", p, d)
		if w.oneIn(2) {
			w.cut(p.id, coordinatorHost, d)
		} else {
			w.cut(coordinatorHost, p.id, d)
		}
	case 7:
		name = "two workers are cut off"
		w.logf("%s and %s are cut off for %v", p, q, d)
		w.cut(p.id, q.id, d)
		w.cut(q.id, p.id, d)
	case 8:
		name = "worker is alone"
		w.logf("%s is alone for %v", p, d)
		for _, o := range all {
			w.cut(p.id, o.id, d)
			w.cut(o.id, p.id, d)
		}
		w.cut(p.id, coordinatorHost, d)
		w.cut(coordinatorHost, p.id, d)
	case 9:
		name = "coordinator is alone"
		w.logf("the coordinator is alone for %v", d)
		for _, o := range all {
			w.cut(coordinatorHost, o.id, d)
			w.cut(o.id, coordinatorHost, d)
		}
	case 10:
		name = "coordinator crashes"
		if c.up {
			c.crash()
		}
	case 11:
		name = "coordinator hangs"
		w.logf("the coordinator hangs for %v", d)
		c.hangs = w.now + d
	case 12:
		name = "coordinator ends"
		if c.up {
			w.logf("the coordinator is told to end")
			c.stop()
		}
	case 13:
		name = "other settings are submitted"
		if c.up {
			w.logf("other settings are submitted")
			w.plan.CheckpointEvery = ergoflow.Step(1 + w.r.IntN(40))
			w.plan.Config = fmt.Appendf(nil, "%d", w.sequence)
			c.step(machine.Submit{Plan: w.plan, Until: machine.StageTrain})
		}
	}
	w.happened[name]++
}

// becalm ends all faults: links are mended, nobody hangs, everybody is there.
func (w *world) becalm() {
	w.calm = true
	w.logf("faults are over")
	clear(w.links)
	w.coordinator.hangs = 0
	for _, p := range w.processes {
		p.hangs = 0
	}
	for range w.weather.workers - len(w.alive()) {
		w.newProcess("")
	}
}
