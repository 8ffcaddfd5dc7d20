package queue

import (
	"maps"
	"reflect"
	"slices"
	"time"
)

// seen is what has happened in a world, as far as the invariants need it.
type seen struct {
	accepted map[ID]bool
	history  map[ID]Run // every run that was ever durable, as it was last
	pruned   map[ID]bool
	begun    map[identity]ID
	calendar map[string]Schedule // schedules that were never removed
}

func newSeen() seen {
	return seen{accepted: map[ID]bool{}, history: map[ID]Run{}, pruned: map[ID]bool{}, begun: map[identity]ID{}, calendar: map[string]Schedule{}}
}

// checkLedger compares the machine with one that starts from the durable ledger: nothing
// may matter that is not in it.
func (w *world) checkLedger() {
	again, err := New(w.config, w.ledger())
	if err != nil {
		w.fail("the ledger is not valid: %v", err)
		return
	}
	have, want := w.m.Runs(0), again.Runs(0)
	if !reflect.DeepEqual(have, want) {
		w.fail("the ledger has the runs\n%+v\nthe machine\n%+v", want, have)
	}
	if len(again.ended) != len(w.m.ended) || again.next != w.m.next || !maps.Equal(again.taken, w.m.taken) {
		w.fail("the ledger has %d ended runs and next %d, the machine %d and %d", len(again.ended), again.next, len(w.m.ended), w.m.next)
	}
}

// checkStep checks the order in which runs begin, and their number.
func (w *world) checkStep(effects []Effect, before []Run) {
	for i, effect := range effects {
		if _, ok := effect.(Persist); ok && i > 0 {
			w.fail("Persist is effect %d", i)
		}
	}
	processes := 0
	active := map[string]ID{}
	for _, r := range w.m.live {
		if !r.isUnderWay() {
			continue
		}
		if r.Kind.usesWorkers() {
			continue
		}
		processes++
		if other := active[r.Schedule]; other != 0 && r.Schedule != "" {
			w.fail("rule 5: runs %d and %d of schedule %s are under way", other, r.ID, r.Schedule)
		}
		active[r.Schedule] = r.ID
	}
	if processes > w.m.config.Retrainings {
		w.fail("rule 7: %d retrainings", processes)
	}
	waitedBefore := map[ID]bool{}
	for _, r := range before {
		waitedBefore[r.ID] = r.State == Waiting
	}
	for _, r := range w.m.live {
		if r.State != Running || !waitedBefore[r.ID] {
			continue
		}
		w.checkRoom(r, waitedBefore)
		for _, v := range w.m.live {
			blocked := v.Schedule != "" && active[v.Schedule] != 0
			if v.State == Waiting && byPlace(v, r) < 0 && v.Kind.usesWorkers() == r.Kind.usesWorkers() && w.m.mayBegin(v) && !blocked {
				w.fail("rule 6: run %d of place %d begins before run %d of place %d", r.ID, r.Place, v.ID, v.Place)
			}
		}
	}
}

// checkBegin checks a run that begins: it is durable, and its time begins once.
func (w *world) checkBegin(r Run) {
	if d := w.runs[r.ID]; d.State != Running || d.Attempt != r.Attempt {
		w.fail("run %d begins, and the ledger does not say so", r.ID)
	}
	if !r.Scheduled.IsZero() {
		id := identityOf(&r)
		if other, ok := w.begun[id]; ok && other != r.ID {
			w.fail("rule 3: runs %d and %d are both of %s at %s", other, r.ID, r.Schedule, r.Scheduled)
		}
		w.begun[id] = r.ID
		if w.clock.Sub(r.Scheduled) > time.Minute+10*time.Minute {
			w.happened["catch-up"]++
		}
	}
}

// checkEnd checks that nothing is lost.
func (w *world) checkEnd() {
	for id := range w.accepted {
		if r := w.m.runs[id]; !w.pruned[id] && (r == nil || r.isLive()) {
			w.fail("rule 1: run %d was accepted, and is not listed as ended", id)
		}
	}
	if w.config.KeepRuns < 10_000 {
		return // what a step adds beyond the bound is pruned in that step
	}
	for name, added := range w.calendar {
		s := w.m.schedules[name]
		if s == nil {
			continue
		}
		covered := map[int64]bool{}
		type stretch struct{ from, to time.Time }
		var skipped []stretch
		for _, r := range w.history {
			switch {
			case r.Schedule != name || r.Scheduled.IsZero():
			case r.Times == 0:
				covered[r.Scheduled.Unix()] = true
			default:
				skipped = append(skipped, stretch{r.Scheduled, r.Through})
			}
		}
		next := s.spec.Next
		n := 0
		for t := next(added.Added); !t.After(s.Decided) && n < 20_000; t = next(t) {
			n++
			if !covered[t.Unix()] && !slices.ContainsFunc(skipped, func(v stretch) bool { return !t.Before(v.from) && !t.After(v.to) }) {
				w.fail("rule 4: %s at %s is neither started nor skipped", name, t)
				break
			}
		}
		if late := next(s.Decided); !s.Paused && !late.After(w.clock.Add(-time.Duration(s.JitterSeconds)*time.Second)) {
			w.fail("rule 4: %s at %s is over, and was not handled", name, late)
		}
	}
}

// checkRoom checks that the runs under way left a run that begins what it needs.
func (w *world) checkRoom(r *Run, waitedBefore map[ID]bool) {
	if !r.Kind.usesWorkers() {
		return
	}
	used, beside := 0, 0
	for _, v := range w.m.live {
		if v == r || !v.Kind.usesWorkers() || !v.isUnderWay() || waitedBefore[v.ID] && byPlace(v, r) > 0 {
			continue
		}
		beside++
		most := v.Plan.Units()
		if v.Workers.Max > 0 {
			most = min(most, v.Workers.Max)
		}
		used += most
	}
	need := min(r.Workers.Min, r.Plan.Units())
	if beside > 0 {
		need = max(1, need)
		w.happened["beside others"]++
	}
	if used+need > w.m.workers && need > 0 {
		w.fail("rule 7: %s begins, which needs %d workers, beside runs that use %d of %d", r, need, used, w.m.workers)
	}
}
