package machine

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// inStep is a machine whose generation of a, b and c has just begun.
func inStep(t *testing.T) (*Machine, *generation) {
	t.Helper()
	m := New(Config{}, Ledger{Plan: &ergoflow.Plan{Run: "r", Shards: 3, Steps: 100}, Generation: 1})
	g := &generation{number: 1, phase: running, ranks: make(map[ergoflow.WorkerID]int), shards: [][]int{{0}, {1}, {2}}}
	m.current = g
	for rank, id := range []ergoflow.WorkerID{"a", "b", "c"} {
		s := Session(rank + 1)
		m.Step(time.Unix(int64(rank), 0), Opened{Session: s, Hello: message.Hello{Worker: message.Worker{ID: id, DataAddress: fmt.Sprintf("h:%d", rank+1)}}})
		g.members, g.ranks[id] = append(g.members, id), rank
	}
	m.run.windows = newWindows(g.members)
	return m, g
}

// The member that enters the ring last spends the least time in it; the others' time
// beyond that is waiting.
// With local steps a step is a round, whose number advances by several.
func TestTimingSplitsTheRing(t *testing.T) {
	for _, apart := range []ergoflow.Step{1, 2, 20} {
		t.Run(fmt.Sprint(apart), func(t *testing.T) { timingSplitsTheRing(t, apart) })
	}
}

func timingSplitsTheRing(t *testing.T, apart ergoflow.Step) {
	t.Helper()
	m, g := inStep(t)
	m.recordTiming(g, 0, apart, Timing{Gradient: 1, Ring: 5, Update: 1, Other: 0.5})
	m.recordTiming(g, 1, apart, Timing{Gradient: 4, Ring: 2, Update: 1})
	m.recordTiming(g, 0, 2*apart, Timing{Gradient: 1, Ring: 9, Update: 1}) // a step ahead of c
	if got := m.byID("a").steps.values; got != nil {
		t.Fatalf("%+v before all are heard", got)
	}
	m.recordTiming(g, 2, apart, Timing{Data: 1, Gradient: 2, Copy: 1, Ring: 2.5, Update: 1})
	for id, want := range map[ergoflow.WorkerID]Timing{
		"a": {Step: 7.5, Gradient: 1, Ring: 2, Wait: 3, Update: 1, Other: 0.5},
		"b": {Step: 7, Gradient: 4, Ring: 2, Update: 1},
		"c": {Step: 7.5, Data: 1, Gradient: 2, Copy: 1, Ring: 2, Wait: 0.5, Update: 1},
	} {
		if got := m.byID(id).steps.values; len(got) != 1 || got[0] != want {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
	m.recordTiming(g, 1, 2*apart, Timing{Gradient: 9, Ring: 1})
	m.recordTiming(g, 2, 2*apart, Timing{Gradient: 3, Ring: 7})
	if got, want := *m.Status().WaitsFor, (WaitsFor{"b", 2, 2, 5.5}); got != want {
		t.Errorf("waits for %+v, want %+v", got, want)
	}
	if got, want := m.Status().Workers[0].Timing, (Timing{Step: 7.5, Gradient: 1, Ring: 1, Wait: 3, Update: 1}); got != want {
		t.Errorf("medians of a: %+v, want %+v", got, want)
	}
}

// A step in which a clock jumped is left out; the next one is not.
func TestTimingOfJumpingClocks(t *testing.T) {
	for name, bad := range map[string]Timing{
		"backwards": {Gradient: -1}, "infinite": {Ring: math.Inf(1)}, "not a number": {Other: math.NaN()},
	} {
		m, g := inStep(t)
		for rank := range 3 {
			m.recordTiming(g, rank, 1, bad)
			m.recordTiming(g, rank, 2, Timing{Gradient: float64(rank), Ring: 5 - float64(rank)})
		}
		if got := len(m.byID("a").steps.values); got != 1 {
			t.Errorf("%s: %d steps", name, got)
		}
		if got, want := *m.Status().WaitsFor, (WaitsFor{"c", 1, 1, 2}); got != want {
			t.Errorf("%s: waits for %+v, want %+v", name, got, want)
		}
	}
}

// Values that are older than recentSteps are forgotten.
func TestRecent(t *testing.T) {
	var w recent[int]
	for i := range 2*recentSteps + 3 {
		w.add(i)
	}
	sum := 0
	for _, v := range w.values {
		sum += v
	}
	last := 2*recentSteps + 2
	if want := recentSteps * (2*last - recentSteps + 1) / 2; len(w.values) != recentSteps || sum != want {
		t.Errorf("%d values that add up to %d, want %d", len(w.values), sum, want)
	}
}
