package display

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/coordinator/machine"
)

// ErrOrder means that a text is no order of workers.
var ErrOrder = errors.New("no order of workers")

// Order is how workers are sorted. The zero value is by rank.
type Order struct {
	by      int // index into columns
	reverse bool
}

// orders are what workers can be sorted by. Numbers begin with the largest where that is what
// one looks for: the slowest, the one that waits longest, the most advanced.
var orders = []struct {
	name    string
	key     string // on the screen
	compare func(a, b machine.WorkerStatus) int
}{
	{"rank", "r", func(a, b machine.WorkerStatus) int { return cmp.Compare(ranked(a), ranked(b)) }},
	{"name", "n", func(a, b machine.WorkerStatus) int { return cmp.Compare(a.ID, b.ID) }},
	{"step", "s", func(a, b machine.WorkerStatus) int { return cmp.Compare(b.Step, a.Step) }},
	{"pace", "p", func(a, b machine.WorkerStatus) int { return cmp.Compare(b.Pace, a.Pace) }},
	{"wait", "w", func(a, b machine.WorkerStatus) int { return cmp.Compare(b.Timing.Wait, a.Timing.Wait) }},
	{"state", "t", func(a, b machine.WorkerStatus) int { return cmp.Compare(a.State, b.State) }},
}

// ranked is a worker's rank, those without one last.
func ranked(w machine.WorkerStatus) int {
	if w.Rank < 0 {
		return math.MaxInt
	}
	return w.Rank
}

// Orders are the names that ParseOrder takes.
func Orders() (names []string) {
	for _, o := range orders {
		names = append(names, o.name)
	}
	return names
}

// ParseOrder reads an order: one of Orders, with a minus before it the reverse.
func ParseOrder(text string) (Order, error) {
	name, reverse := strings.CutPrefix(text, "-")
	for i, o := range orders {
		if o.name == name {
			return Order{i, reverse}, nil
		}
	}
	return Order{}, fmt.Errorf("%w: %.60q is not one of %s", ErrOrder, text, strings.Join(Orders(), ", "))
}

// String is the order as ParseOrder takes it.
func (o Order) String() string {
	if o.reverse {
		return "-" + orders[o.by].name
	}
	return orders[o.by].name
}

// press is the order after a key: the key of the present one reverses it. It reports whether the
// key is one.
func (o Order) press(key string) (Order, bool) {
	for i, other := range orders {
		if other.key == key {
			return Order{i, i == o.by && !o.reverse}, true
		}
	}
	return o, false
}

// sorted returns the workers in the order, equal ones by their names.
func (o Order) sorted(workers []machine.WorkerStatus) []machine.WorkerStatus {
	workers = slices.Clone(workers)
	slices.SortFunc(workers, func(a, b machine.WorkerStatus) int {
		c := orders[o.by].compare(a, b)
		if o.reverse {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.ID, b.ID))
	})
	return workers
}
