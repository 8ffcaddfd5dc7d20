package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/flight"
)

// base is when all processes of a stage begin, by the coordinator's clock.
var base = time.Date(2026, 11, 27, 12, 3, 0, 0, time.UTC)

// A stage has the recorders of a cluster, which tests write by hand. Times are seconds since
// base; the clock of each process may differ from the coordinator's.
type stage struct {
	coordinator *actor
	workers     []*actor
}

type actor struct {
	flight.Identity
	run     string
	skew    time.Duration // of its wall clock
	ends    float64       // when it dumps
	records []flight.Record
}

// trained is a stage whose workers made ten steps a second for ten seconds in generation 7, from
// step 800 on.
func trained(world int, skews ...time.Duration) *stage {
	s := &stage{coordinator: &actor{Identity: flight.Identity{Role: flight.Coordinator, Host: "c", PID: 1}, ends: 20}}
	var ids []string
	for rank := range world {
		w := &actor{Identity: flight.Identity{Role: flight.Worker, ID: ergoflow.WorkerID(fmt.Sprintf("w%d", rank)), Host: fmt.Sprintf("h%d", rank), PID: 100 + rank}, run: "run-a", ends: 20}
		if rank < len(skews) {
			w.skew = skews[rank]
		}
		s.workers, ids = append(s.workers, w), append(ids, string(w.ID))
	}
	for rank, w := range s.workers {
		w.add(0.1, flight.Record{Kind: flight.Assigned, Generation: 7, Rank: rank, Members: strings.Join(ids, " ")})
	}
	s.steps(7, 800, 1, 10)
	return s
}

// all are the members.
func (s *stage) all() []*actor { return append([]*actor{s.coordinator}, s.workers...) }

// steps has members make steps, ten a second.
func (s *stage) steps(generation ergoflow.Generation, first ergoflow.Step, from, to float64, members ...*actor) {
	if members == nil {
		members = s.all()
	}
	for i := 0; from+float64(i)/10 < to; i++ {
		for k, m := range members {
			m.add(from+float64(i)/10+0.001*float64(k), flight.Record{Kind: flight.Stepped, Generation: generation, Step: first + ergoflow.Step(i), Value: 0.5,
				Phases: flight.Phases{Gradient: 0.08, Ring: 0.01, Update: 0.005}})
		}
	}
}

func (a *actor) add(at float64, r flight.Record) {
	r.Since, r.Seq = at, uint64(len(a.records)+1)
	r.Wall = base.Add(a.skew + time.Duration(at*float64(time.Second)))
	a.records = append(a.records, r)
}

// dump is what the process has recorded until it dumps.
func (a *actor) dump() *flight.Dump {
	a.Began = base.Add(a.skew)
	return &flight.Dump{
		Header:  flight.Header{Format: flight.Format, Process: a.Identity, Run: a.run, At: base.Add(a.skew + time.Duration(a.ends*float64(time.Second))), Since: a.ends},
		Records: a.records,
	}
}

func (s *stage) dumps() (dumps []*flight.Dump) {
	for _, a := range s.all() {
		dumps = append(dumps, a.dump())
	}
	return dumps
}

// lose has the coordinator lose a worker, which it has not heard for a while.
func (s *stage) lose(at float64, w *actor, silent float64, why string) {
	s.coordinator.add(at, flight.Record{Kind: flight.Lost, Worker: w.ID, PID: w.PID, Generation: 7, Step: 889, Seconds: silent, Text: why})
}

// wait has a worker note that its ring waits for another.
func (a *actor) wait(at float64, from *actor, rank int, seconds float64) {
	a.add(at, flight.Record{Kind: flight.Waits, Generation: 7, Step: 889, Chunk: 7, Rank: rank, Worker: from.ID, Seconds: seconds})
}
