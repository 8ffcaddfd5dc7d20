package ledger

import (
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/sets/batch"
)

// A Fault is an (epoch, function, block) that was not used exactly once according to the
// ledger.
type Fault struct {
	Step     ergoflow.Step `json:"step"` // that should have used it
	Shard    int           `json:"shard"`
	Epoch    int           `json:"epoch"`
	Function int           `json:"function"` // its number in the data set
	Block    int           `json:"block"`
	Reason   string        `json:"reason"`
}

func (f Fault) String() string {
	return fmt.Sprintf("step %d: epoch %d, function %d, block %d: %s", f.Step, f.Epoch, f.Function, f.Block, f.Reason)
}

// A Violation is an error that lists why there is no proof.
type Violation struct {
	Faults []Fault `json:"faults"` // the first ones
	More   int     `json:"more"`   // not listed

	batches Batches
}

// maxFaults bounds Violation.Faults.
const maxFaults = 20

func (v *Violation) Error() string {
	s := v.Faults[0].String()
	if n := len(v.Faults) - 1 + v.More; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// note lists the picks of a shard in step, and counts those of as many more steps.
func (v *Violation) note(step, shard, more int, reason string) {
	picks := v.batches.Picks(step, shard)
	v.More += more * len(picks)
	for _, pick := range picks {
		if len(v.Faults) == maxFaults {
			v.More++
			continue
		}
		epoch, function, block := v.batches.name(shard, pick)
		v.Faults = append(v.Faults, Fault{
			Step: ergoflow.Step(step), Shard: shard, Epoch: epoch, Function: function, Block: block, Reason: reason,
		})
	}
}

// name gives the epoch, function and block of a pick.
func (b Batches) name(shard int, p batch.Pick) (epoch, function, block int) {
	return p.Pass / b.Passes(), b.First(shard) + p.Function, p.Pass % b.Passes()
}

// compare returns the differences between the ledger and the expected words; nil if there
// are none.
func (l Ledger) compare(b Batches, e expected) *Violation {
	v := &Violation{batches: b}
	var before ergoflow.Generation
	for i, s := range l.Stretches {
		first, last := int(s.First), int(s.end())-1
		if s.Generation == 0 || s.Generation < before {
			v.note(first, 0, 0, fmt.Sprintf("generation %d made steps after generation %d", s.Generation, before))
		}
		before = max(before, s.Generation)
		wrongUsers := v.users(s)
		var differ []int
		for k := range s.Words {
			if s.Words[k] != e.shards[i][k] {
				differ = append(differ, k)
			}
		}
		wrong := 0
		for step := first; step <= last; step++ {
			if l.Words[step] == e.words[step] {
				continue
			}
			wrong++
			if !wrongUsers && len(v.Faults) < maxFaults {
				v.explain(s, step, differ, l.Words[step]-e.words[step])
			} else if !wrongUsers {
				v.More++
			}
		}
		if wrong == 0 && !wrongUsers {
			for _, k := range differ {
				v.note(first, k, last-first, fmt.Sprintf("the ledger contradicts itself about shard %d in steps %d to %d", k, first, last))
			}
		}
	}
	if len(v.Faults) == 0 {
		return nil
	}
	return v
}

// users notes the shards of a stretch that were not used by exactly one worker, and reports
// whether there are any.
func (v *Violation) users(s Stretch) (wrong bool) {
	for k, entry := range s.Users {
		rank, ok := user(entry)
		if ok && rank < len(s.Workers) {
			continue
		}
		wrong = true
		reason := fmt.Sprintf("used by %d workers", entry/oneUser)
		switch {
		case entry == 0:
			reason = "not used"
		case ok:
			reason = fmt.Sprintf("used by rank %d of %d", rank, len(s.Workers))
		}
		v.note(int(s.First), k, s.Steps-1, reason)
	}
	return wrong
}

// explain notes a step whose word is off by that much, in a stretch in which the sums of the
// shards in differ are wrong. It looks for another step whose batch was taken instead, by
// these shards or by all shards of one worker.
func (v *Violation) explain(s Stretch, step int, differ []int, off int64) {
	b := v.batches
	candidates := [][]int{differ}
	for rank := range s.Workers {
		var own []int
		for k, entry := range s.Users {
			if entry == usedBy(rank) {
				own = append(own, k)
			}
		}
		candidates = append(candidates, own)
	}
	all := make([]int, b.Shards)
	for k := range all {
		all[k] = k
	}
	candidates = append(candidates, all)
	for _, k := range differ {
		candidates = append(candidates, []int{k})
	}
	for _, shards := range slices.DeleteFunc(candidates, func(c []int) bool { return len(c) == 0 }) {
		if other, ok := b.instead(shards, step, off); ok {
			for _, k := range shards {
				epoch, function, block := b.name(k, b.Picks(other, k)[0])
				v.note(step, k, 0, fmt.Sprintf("not used by %s, which took the batch of step %d (epoch %d, function %d, block %d)",
					s.Workers[s.Users[k]%oneUser], other, epoch, function, block))
			}
			return
		}
	}
	if len(differ) == 0 {
		differ = all
	}
	for _, k := range differ {
		v.note(step, k, 0, "not used as planned, or the ledger is damaged")
	}
}

// maxSearch is how many steps away explain looks for the step that was taken instead.
const maxSearch = 256

// instead finds the nearest step whose words of these shards differ from those of step by
// off.
func (b Batches) instead(shards []int, step int, off int64) (int, bool) {
	word := func(step int) (sum int64) {
		for _, k := range shards {
			sum += newCounter(b, k).step(step, nil)
		}
		return sum
	}
	want := word(step) + off
	for d := 1; d <= maxSearch; d++ {
		if d <= step && word(step-d) == want {
			return step - d, true
		}
		if word(step+d) == want {
			return step + d, true
		}
	}
	return 0, false
}
