package machine

import "slices"

// recentSteps is the number of a worker's steps whose median the status reports. It
// describes a typical step; stragglers are found by means (straggler_window.go).
const recentSteps = 15

// recent holds the last recentSteps values that were added, in no order.
type recent[T any] struct {
	values []T
	next   int // to be replaced, once full
}

func (r *recent[T]) add(v T) {
	if len(r.values) < recentSteps {
		r.values = append(r.values, v)
		return
	}
	r.values[r.next] = v
	r.next = (r.next + 1) % recentSteps
}

// median is the lower median of a property of the values; zero: there are none.
func median[T any](values []T, of func(T) float64) float64 {
	if len(values) == 0 {
		return 0
	}
	var room [recentSteps]float64 // the status has eight medians of each worker
	all := room[:0]
	for _, v := range values {
		all = append(all, of(v))
	}
	return lowerMedian(all)
}

// lowerMedian sorts values, of which there is one at least. Of two it is the smaller one.
func lowerMedian(values []float64) float64 {
	slices.Sort(values)
	return values[(len(values)-1)/2]
}
