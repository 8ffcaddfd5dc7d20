package ledger

import (
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow"
)

// Ledger accounts for the last steps of a state: for all of them, unless the state continues
// one without a ledger. The zero value is empty.
type Ledger struct {
	Words     []int64 // of every step, oldest first: the sum over the batch
	Stretches []Stretch
}

// A Stretch is a range of consecutive steps by the same workers with the same shards.
type Stretch struct {
	Generation ergoflow.Generation `json:"generation"`
	First      ergoflow.Step       `json:"first"` // updates before it
	Steps      int                 `json:"steps"`
	Workers    []ergoflow.WorkerID `json:"workers"` // by rank
	Users      []int64             `json:"-"`       // of each shard, as in a Record
	Words      []int64             `json:"-"`       // of each shard, summed over the steps
}

// end is the step after the last.
func (s Stretch) end() ergoflow.Step { return s.First + ergoflow.Step(s.Steps) }

// Append records update number step, counted from zero: r is the sum of all ranks' records in
// a generation of these workers.
func (l *Ledger) Append(step ergoflow.Step, g ergoflow.Generation, workers []ergoflow.WorkerID, r Record) {
	words, users := r.parts()
	last := len(l.Stretches) - 1
	if last < 0 || !l.Stretches[last].continues(g, workers, users) {
		l.Stretches = append(l.Stretches, Stretch{
			Generation: g, First: step,
			Workers: slices.Clone(workers), Users: slices.Clone(users), Words: make([]int64, len(words)),
		})
		last++
	}
	s := &l.Stretches[last]
	s.Steps++
	var sum int64
	for k, w := range words {
		s.Words[k] += w
		sum += w
	}
	l.Words = append(l.Words, sum)
}

func (s Stretch) continues(g ergoflow.Generation, workers []ergoflow.WorkerID, users []int64) bool {
	return s.Generation == g && slices.Equal(s.Workers, workers) && slices.Equal(s.Users, users)
}

// Clone is a deep copy.
func (l Ledger) Clone() Ledger {
	c := Ledger{Words: slices.Clone(l.Words), Stretches: slices.Clone(l.Stretches)}
	for i := range c.Stretches {
		s := &c.Stretches[i]
		s.Workers, s.Users, s.Words = slices.Clone(s.Workers), slices.Clone(s.Users), slices.Clone(s.Words)
	}
	return c
}

// first is the first step that the ledger of a state at step accounts for.
func (l Ledger) first(step ergoflow.Step) ergoflow.Step { return step - ergoflow.Step(len(l.Words)) }

// Validate reports a ledger that does not belong to a state at step: its stretches must
// follow one another up to step, and have the same number of shards.
func (l Ledger) Validate(step ergoflow.Step) error {
	at := l.first(step)
	if at < 0 {
		return fmt.Errorf("ledger: %d steps of a state at step %d", len(l.Words), step)
	}
	for i, s := range l.Stretches {
		if s.First != at || s.Steps < 1 || s.Steps > int(step-at) {
			return fmt.Errorf("ledger: stretch %d has %d steps from %d, where step %d of %d is next", i, s.Steps, s.First, at, step)
		}
		if n := len(l.Stretches[0].Words); len(s.Words) != n || len(s.Users) != n || n == 0 {
			return fmt.Errorf("ledger: stretch %d is of %d and %d shards, the first of %d", i, len(s.Words), len(s.Users), n)
		}
		at = s.end()
	}
	if at != step {
		return fmt.Errorf("ledger: the stretches end at step %d of %d", at, step)
	}
	return nil
}
