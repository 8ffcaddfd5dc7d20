package queue

import (
	"maps"
	"slices"
)

// disk is what is durable.
type disk struct {
	next      ID
	runs      map[ID]Run
	schedules map[string]Schedule
}

func newDisk() disk { return disk{runs: map[ID]Run{}, schedules: map[string]Schedule{}} }

func (d *disk) persist(e Persist) {
	for _, r := range e.Runs {
		d.runs[r.ID] = r
	}
	for _, id := range e.RemovedRuns {
		delete(d.runs, id)
	}
	for _, s := range e.Schedules {
		d.schedules[s.Name] = s
	}
	for _, name := range e.RemovedSchedules {
		delete(d.schedules, name)
	}
	d.next = e.Next
}

// read replaces what is there.
func (d *disk) read(l Ledger) {
	*d = newDisk()
	d.persist(Persist{Next: l.Next, Runs: l.Runs, Schedules: l.Schedules})
}

func (d *disk) ledger() Ledger {
	l := Ledger{Next: d.next}
	for _, id := range slices.Sorted(maps.Keys(d.runs)) {
		l.Runs = append(l.Runs, d.runs[id])
	}
	for _, name := range slices.Sorted(maps.Keys(d.schedules)) {
		l.Schedules = append(l.Schedules, d.schedules[name])
	}
	return l
}
