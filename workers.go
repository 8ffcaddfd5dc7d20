package ergoflow

import (
	"fmt"
	"strconv"
	"strings"
)

// WorkerBounds says how many workers a run uses. The zero value: all that there are.
type WorkerBounds struct {
	Min int `json:"min,omitempty"` // the run begins when so many are there; 0: at once
	Max int `json:"max,omitempty"` // it uses no more; 0: all
}

// MaxWorkers bounds the workers of a coordinator.
const MaxWorkers = 10_240

// Validate reports bounds that no number of workers meets.
func (b WorkerBounds) Validate() error {
	switch {
	case b.Min < 0 || b.Min > MaxWorkers || b.Max < 0 || b.Max > MaxWorkers:
		return fmt.Errorf("%d to %d workers, not 0 to %d", b.Min, b.Max, MaxWorkers)
	case b.Max > 0 && b.Min > b.Max:
		return fmt.Errorf("at least %d and at most %d workers", b.Min, b.Max)
	}
	return nil
}

// ParseWorkerBounds reads "N", "MIN:MAX", "MIN:" or ":MAX".
func ParseWorkerBounds(text string) (b WorkerBounds, err error) {
	least, most, isRange := strings.Cut(text, ":")
	if !isRange {
		most = least
	}
	for _, end := range []struct {
		text  string
		value *int
	}{{least, &b.Min}, {most, &b.Max}} {
		if end.text == "" && isRange {
			continue
		}
		if *end.value, err = strconv.Atoi(end.text); err != nil || *end.value < 1 {
			return WorkerBounds{}, fmt.Errorf("%.40q is neither a number of workers nor MIN:MAX", text)
		}
	}
	return b, b.Validate()
}

// String is the text that ParseWorkerBounds reads; empty: the bounds are zero.
func (b WorkerBounds) String() string {
	text := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	switch {
	case b == WorkerBounds{}:
		return ""
	case b.Min == b.Max:
		return text(b.Min)
	}
	return text(b.Min) + ":" + text(b.Max)
}

// Useful is the number of workers that a run can use: its parts of the data bound them.
func (b WorkerBounds) Useful(p Plan) int {
	n := min(p.Units(), MaxWorld)
	if b.Max > 0 {
		n = min(n, b.Max)
	}
	return n
}

// Least is the number of workers with which a run begins. It waits for no more than it can use.
func (b WorkerBounds) Least(p Plan) int { return min(b.Min, b.Useful(p)) }
