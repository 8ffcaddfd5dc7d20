package machine

// windowSteps is how many steps of a worker are shown together, by their median:
// what a step is like, and not what steps cost on average (looks.go).
const windowSteps = 15

// A window holds the last windowSteps of what is added to it, in no order.
type window[T any] struct {
	values []T
	next   int // to be replaced, once full
}

func (w *window[T]) add(v T) {
	if len(w.values) < windowSteps {
		w.values = append(w.values, v)
		return
	}
	w.values[w.next] = v
	w.next = (w.next + 1) % windowSteps
}

// median is the lower median of a property of the values; zero: there are none.
func median[T any](values []T, of func(T) float64) float64 {
	if len(values) == 0 {
		return 0
	}
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = of(v)
	}
	return lowerMedian(all)
}
