package fleet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// slotOf is the slot of a worker that opens a session.
func (f *Fleet) slotOf(hello message.Hello) *slot {
	if s := f.withRun(hello.Run); s != nil && !s.isFree() {
		return s
	}
	if m, ok := f.moves[hello.Worker.ID]; ok && slices.Contains(f.slots, m.to) && !m.to.isFree() {
		return m.to
	}
	f.tally()
	if s := f.neediest(); s != nil {
		return s
	}
	for _, s := range f.slots { // its run has no most: the worker replaces one that is lost
		if !s.isFree() && s.bounds.Max == 0 {
			return s
		}
	}
	if s := f.free(); s != nil {
		return s
	}
	if f.stopping {
		return f.slots[0] // refuses it
	}
	return f.add()
}

// tally counts the workers of each slot.
func (f *Fleet) tally() {
	for _, s := range f.slots {
		s.has = s.machine.Workers()
		s.count = s.has
	}
	for _, m := range f.moves {
		m.to.count++
	}
}

// useful is the number of workers that a slot's run can use.
func (s *slot) useful() int {
	_, plan, _ := s.machine.Conducting()
	return s.bounds.Useful(*plan)
}

// least is the number of workers below which no run takes any from this one's.
func (s *slot) least() int {
	_, plan, _ := s.machine.Conducting()
	return max(1, s.bounds.Least(*plan))
}

// entry orders runs by their numbers in the queue.
func (s *slot) entry() uint64 {
	entry, _, _ := s.machine.Conducting()
	return entry
}

// neediest is the slot whose run gets the next worker: one with fewer than its least, then
// the one with the fewest, then the one that was submitted first. Nil: no run can use one.
func (f *Fleet) neediest() *slot {
	var needy *slot
	for _, s := range f.slots {
		if !s.isFree() && s.count < s.useful() && (needy == nil || f.precedes(s, needy)) {
			needy = s
		}
	}
	return needy
}

func (f *Fleet) precedes(a, b *slot) bool {
	need := func(s *slot) int {
		if s.count < s.least() {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(need(a), need(b)), cmp.Compare(a.count, b.count), cmp.Compare(a.entry(), b.entry())) < 0
}

// donor is the slot from which a run gets a worker; nil: none has one to give.
func (f *Fleet) donor(to *slot) *slot {
	for _, s := range f.slots { // workers that no run uses
		if s.has > 0 && s.isFree() {
			return s
		}
	}
	for _, s := range f.slots { // workers that their run cannot use
		if s != to && !s.isFree() && s.has > s.useful() {
			return s
		}
	}
	if f.now.Sub(f.changed) < settle {
		return nil
	}
	var rich *slot
	for _, s := range f.slots {
		if s != to && !s.isFree() && s.has > s.least() && (rich == nil || s.has > rich.has) {
			rich = s
		}
	}
	if rich == nil || rich.count < to.count+2 && to.count >= to.least() {
		return nil
	}
	return rich
}

// balance moves workers until each run has what it is due.
func (f *Fleet) balance() {
	f.balanced = f.now
	for id, m := range f.moves {
		if f.now.After(m.until) || m.to.isFree() {
			delete(f.moves, id)
		}
	}
	if f.stopping || len(f.slots) == 1 && (f.slots[0].isFree() || f.slots[0].bounds.Max == 0) {
		return
	}
	f.tally()
	leaving := make(map[*slot][]*slot) // where the workers go that each slot gives
	give := func(from, to *slot) {
		leaving[from] = append(leaving[from], to)
		from.has, from.count = from.has-1, from.count-1
		if to != nil {
			to.count++
		}
	}
	for _, s := range f.slots {
		for !s.isFree() && s.bounds.Max > 0 && s.has > s.bounds.Max {
			give(s, nil)
		}
	}
	for to := f.neediest(); to != nil; to = f.neediest() {
		from := f.donor(to)
		if from == nil {
			break
		}
		give(from, to)
	}
	for _, s := range slices.Clone(f.slots) {
		if len(leaving[s]) > 0 {
			f.transfer(s, leaving[s])
		}
	}
}

// transfer has one worker leave a slot for each slot of a list; nil: for where it is needed.
// All leave in one step, so that it costs their run one generation.
func (f *Fleet) transfer(from *slot, list []*slot) {
	var e machine.Transfer
	for i, session := range from.machine.Spare(len(list)) {
		reason := fmt.Sprintf("its run uses at most %d workers", from.bounds.Max)
		if to := list[i]; to != nil {
			_, plan, _ := to.machine.Conducting()
			reason = fmt.Sprintf("run %.12s (%s) needs a worker", plan.Run, plan.Experiment)
			f.moves[f.sessions[session].worker] = move{to, f.now.Add(moveTimeout)}
		}
		e.Workers = append(e.Workers, machine.Transferred{Session: session, Reason: reason})
	}
	f.step(from, e)
}

// forget removes slots without a use. The last run that has ended stays, for the status.
func (f *Fleet) forget() {
	shown := f.primary()
	for _, s := range slices.Clone(f.slots) {
		if s == shown || !s.isFree() || f.stopping || f.hasSessions(s) {
			continue
		}
		f.slots = slices.DeleteFunc(f.slots, func(v *slot) bool { return v == s })
		if _, plan, _ := s.machine.Conducting(); plan != nil {
			f.effects = append(f.effects, Effect{s.number, machine.Persist{Ledger: machine.Ledger{Generation: f.generation}}})
		}
	}
}

func (f *Fleet) hasSessions(s *slot) bool {
	for _, v := range f.sessions {
		if v.slot == s {
			return true
		}
	}
	return false
}

// primary is the slot that a status without a run describes: of the runs under way the one
// that was submitted first, or else the last that was submitted.
func (f *Fleet) primary() *slot {
	best := f.slots[0]
	for _, s := range f.slots[1:] {
		switch {
		case s.isFree() != best.isFree():
			if best.isFree() {
				best = s
			}
		case !s.isFree() && s.entry() < best.entry(), s.isFree() && s.entry() > best.entry():
			best = s
		}
	}
	return best
}

// Status describes the machine of a run, or the primary one where none has that run. Its
// workers are those of all machines.
func (f *Fleet) Status(run string) machine.Status {
	of := f.withRun(run)
	if of == nil {
		of = f.primary()
	}
	st := of.machine.Status()
	for _, s := range f.slots {
		if s == of {
			continue
		}
		other := s.machine.Status()
		st.Workers = append(st.Workers, other.Workers...)
		st.CutLinks = append(st.CutLinks, other.CutLinks...)
	}
	return st
}

// MachineStatus is what a machine has: a run, under way or ended, or none.
type MachineStatus struct {
	Entry uint64 // in the queue
	Count int    // of its workers
	machine.Status
}

// Machines describes every machine, in the order of their slots; where workers is set with its
// own workers and their links.
func (f *Fleet) Machines(workers bool) []MachineStatus {
	list := make([]MachineStatus, len(f.slots))
	for i, s := range f.slots {
		list[i] = MachineStatus{Entry: s.entry(), Count: s.machine.Workers()}
		if workers {
			list[i].Status = s.machine.Status()
		} else {
			list[i].Status = s.machine.Summary()
		}
	}
	return list
}

// RunStatus is a run under way, for the status.
type RunStatus struct {
	Entry      uint64                `json:"id"` // in the queue
	Run        string                `json:"run"`
	Experiment string                `json:"experiment"`
	State      string                `json:"state"`
	Step       ergoflow.Step         `json:"step"`
	Steps      ergoflow.Step         `json:"steps"`
	Generation ergoflow.Generation   `json:"generation"` // the last one begun
	WorldSize  int                   `json:"world_size"`
	Workers    int                   `json:"workers"` // that it has
	Bounds     ergoflow.WorkerBounds `json:"workers_for"`
}

// UnderWay describes the runs under way, in the order in which they were submitted.
func (f *Fleet) UnderWay() []RunStatus {
	f.tally()
	list := []RunStatus{}
	for _, s := range f.slots {
		if s.isFree() {
			continue
		}
		st := s.machine.Summary()
		list = append(list, RunStatus{Entry: s.entry(), Run: st.Run, Experiment: st.Experiment, State: st.State, Step: st.Step, Steps: st.Steps,
			Generation: st.Generation, WorldSize: st.WorldSize, Workers: s.count, Bounds: s.bounds})
	}
	slices.SortFunc(list, func(a, b RunStatus) int { return cmp.Compare(a.Entry, b.Entry) })
	return list
}
