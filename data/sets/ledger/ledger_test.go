package ledger

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/sets/batch"
)

// small has 2 blocks of each of 24 functions in an epoch: 12 steps.
var small = Batches{
	Plan:  batch.Plan{Seed: 1, Shards: 4, FunctionsPerShard: 6, Samples: 6, BatchFunctions: 4, BatchSamples: 3},
	First: func(shard int) int { return 100 + 6*shard },
}

// A book builds a ledger: its workers follow the plan, unless a test changes that.
type book struct {
	Ledger
	step       int
	generation ergoflow.Generation
	workers    []ergoflow.WorkerID
	owners     []int // rank by shard
}

// form begins a generation in which the shards belong to these ranks.
func (b *book) form(workers string, owners ...int) {
	b.generation++
	b.workers = nil
	for _, id := range strings.Fields(workers) {
		b.workers = append(b.workers, ergoflow.WorkerID(id))
	}
	b.owners = owners
}

// use takes a step in which a rank uses, of a shard that it has, what takes says.
func (b *book) use(takes func(shard int) (step int)) {
	total := NewRecord(small.Shards)
	for rank := range b.workers {
		r := NewRecord(small.Shards)
		for k, owner := range b.owners {
			if owner == rank {
				r.Add(rank, uses(k, takes(k)))
			}
		}
		for i, x := range r { // as the ring does
			total[i] += x
		}
	}
	b.Append(ergoflow.Step(b.step), b.generation, b.workers, total)
	b.step++
}

func uses(shard, step int) (all []Use) {
	var h Hasher
	indices := make([]int32, small.BatchSamples)
	for _, pick := range small.Picks(step, shard) {
		small.Block(pick, indices)
		all = append(all, Use{shard, h.Word(small.First(shard)+pick.Function, indices)})
	}
	return all
}

func (b *book) steps(n int) {
	for range n {
		at := b.step
		b.use(func(int) int { return at })
	}
}

// honest is a ledger of 30 steps by changing workers.
func honest() *book {
	b := new(book)
	b.form("a", 0, 0, 0, 0)
	b.steps(7)
	b.form("a b c", 0, 1, 1, 2)
	b.steps(1)
	b.form("c b", 1, 0, 1, 0)
	b.form("c b", 1, 0, 1, 0) // the generation before it ended without a step
	b.steps(22)
	return b
}

func TestProof(t *testing.T) {
	b := honest()
	proof, err := b.Verify(t.Context(), small, 30)
	if err != nil {
		t.Fatal(err)
	}
	want := Proof{Steps: 30, Epochs: 2, Blocks: 120, Samples: 360, Generations: 3, Workers: 3}
	if proof != want {
		t.Errorf("got %+v, want %+v", proof, want)
	}
	if len(b.Stretches) != 3 {
		t.Errorf("%d stretches of 3 memberships that made steps", len(b.Stretches))
	}
	if _, err := new(Ledger).Verify(t.Context(), small, 0); err != nil {
		t.Errorf("nothing learned: %v", err)
	}
}

// Verify finds and names every block that is not used exactly once.
func TestViolations(t *testing.T) {
	// named is the text that names what shard k takes in a step.
	named := func(step, k int) string {
		epoch, function, block := small.name(k, small.Picks(step, k)[0])
		f := Fault{Step: ergoflow.Step(step), Epoch: epoch, Function: function, Block: block}
		return strings.TrimSuffix(f.String(), ": ")
	}
	for name, tt := range map[string]struct {
		steps  func(b *book)
		damage func(l *Ledger)
		want   []string
	}{
		"a worker repeats a step": {
			steps: func(b *book) {
				b.use(func(k int) int { return b.step - b.owners[k] }) // rank 1
				b.steps(2)
			},
			want: []string{named(30, 0), "not used by b, which took the batch of step 29", "(and 1 more)"},
		},
		"a worker repeats a step and stays behind": {
			steps: func(b *book) {
				for range 3 {
					b.use(func(k int) int { return b.step - b.owners[k] })
				}
			},
			want: []string{named(30, 0), "not used by b, which took the batch of step 29", "(and 5 more)"},
		},
		"one shard skips a step": {
			steps: func(b *book) { b.use(func(k int) int { return b.step + k/3 }) },
			want:  []string{named(30, 3), "not used by c, which took the batch of step 31"},
		},
		"all repeat a step": {
			steps: func(b *book) { b.use(func(int) int { return 12 }) },
			want:  []string{named(30, 0), "which took the batch of step 12", "(and 3 more)"},
		},
		"two steps are swapped": {
			steps: func(b *book) {
				b.use(func(int) int { return 31 })
				b.use(func(int) int { return 30 })
			},
			want: []string{named(30, 0), "which took the batch of step 31", "(and 7 more)"},
		},
		"a shard has two owners": {
			steps: func(b *book) {
				b.form("a b", 0, 0, 1, 1)
				total := NewRecord(4)
				for k := range 4 {
					total.Add(k/2, uses(k, 30))
				}
				words, users := total.parts()
				words[1], users[1] = 2*words[1], users[1]+usedBy(1)
				b.Append(30, b.generation, b.workers, total)
			},
			want: []string{named(30, 1), "used by 2 workers"},
		},
		"a shard has no owner": {
			steps: func(b *book) {
				b.form("a", 0, 0, 9, 0)
				b.steps(2)
			},
			want: []string{named(30, 2), "not used", "(and 1 more)"},
		},
		"an old generation goes on": {
			steps: func(b *book) {
				b.generation = 1
				b.steps(1)
			},
			want: []string{named(30, 0), "generation 1 made steps after generation 4"},
		},
		"something else": {
			steps: func(b *book) {
				r := NewRecord(4)
				for k := range 4 {
					r.Add(b.owners[k], uses(k, 30))
				}
				r[2]++
				b.Append(30, b.generation, b.workers, r)
			},
			want: []string{named(30, 2), "not used as planned"},
		},
		"a damaged word": {
			damage: func(l *Ledger) { l.Words[17] ^= 1 },
			want:   []string{named(17, 0), "or the ledger is damaged"},
		},
		"a damaged sum": {
			damage: func(l *Ledger) { l.Stretches[2].Words[3]-- },
			want:   []string{named(8, 3), "the ledger contradicts itself about shard 3 in steps 8 to 29"},
		},
		"a damaged user": {
			damage: func(l *Ledger) { l.Stretches[1].Users[2] = usedBy(3) },
			want:   []string{named(7, 2), "used by rank 3 of 3"},
		},
		"no beginning": {
			damage: func(l *Ledger) { l.Words, l.Stretches = l.Words[7:], l.Stretches[1:] },
			want:   []string{named(0, 0), "the ledger begins at step 7"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := honest()
			step := b.step
			if tt.steps != nil {
				tt.steps(b)
				step += len(b.Words) - 30
			}
			if tt.damage != nil {
				tt.damage(&b.Ledger)
			}
			_, err := b.Verify(t.Context(), small, ergoflow.Step(step))
			var v *Violation
			if !errors.As(err, &v) {
				t.Fatalf("not a violation: %v", err)
			}
			for _, text := range tt.want {
				if !strings.Contains(v.Error(), text) {
					t.Errorf("%q is not in: %v", text, v)
				}
			}
		})
	}
}

func TestValidate(t *testing.T) {
	for name, spoil := range map[string]func(l *Ledger){
		"too many steps": func(l *Ledger) { l.Words = append(l.Words, 0) },
		"a gap":          func(l *Ledger) { l.Stretches[1].First++ },
		"an end beyond":  func(l *Ledger) { l.Stretches[2].Steps = 1 << 62 },
		"no steps":       func(l *Ledger) { l.Stretches[0].Steps = 0 },
		"fewer shards":   func(l *Ledger) { l.Stretches[1].Words = l.Stretches[1].Words[:3] },
		"no shards":      func(l *Ledger) { l.Stretches[0].Users, l.Stretches[0].Words = nil, nil },
		"no stretches":   func(l *Ledger) { l.Stretches = nil },
		"another step":   func(l *Ledger) { l.Stretches = l.Stretches[:2] },
	} {
		b := honest()
		spoil(&b.Ledger)
		if err := b.Validate(30); err == nil {
			t.Errorf("%s: valid", name)
		}
		if _, err := b.Verify(t.Context(), small, 30); err == nil {
			t.Errorf("%s: proven", name)
		}
	}
	if err := honest().Validate(31); err == nil {
		t.Error("a state at step 31 with a ledger that begins at 0: valid")
	}
}

func TestCloneSharesNothing(t *testing.T) {
	b := honest()
	c := b.Clone()
	if !reflect.DeepEqual(c, b.Ledger) {
		t.Fatal("the clone differs")
	}
	before := b.Clone()
	b.steps(5)
	if !reflect.DeepEqual(c, before) {
		t.Error("the clone changed with the original")
	}
}

// Words are in checkpoints, so they must never change. In Python:
// hashlib.sha256(struct.pack("<Qiii", 7, 0, 5, 2)).digest()[:8].
func TestGoldenWord(t *testing.T) {
	var h Hasher
	if got, want := h.Word(7, []int32{0, 5, 2}), uint64(0x31358ebd5c32ac61); got != want {
		t.Errorf("word %#x, want %#x", got, want)
	}
}

// A plan whose blocks are wrong proves nothing.
func TestCoverage(t *testing.T) {
	c, err := newCoverage(2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if !c.take(0, []int32{0, 1, 2}) || !c.take(1, []int32{2, 0}) || c.turn() {
		t.Error("5 of 6 samples: whole, or one taken twice")
	}
	if !c.take(0, []int32{2, 0, 1}) || c.take(0, []int32{1}) {
		t.Error("a sample was taken twice unnoticed")
	}
	c.turn()
	if !c.take(0, []int32{2, 0, 1}) || !c.take(1, []int32{2, 0, 1}) || !c.turn() {
		t.Error("an epoch that is whole is not seen as that")
	}
	if _, err := newCoverage(1<<20, 1<<20); err == nil {
		t.Error("2^40 samples are counted")
	}
}
