package machine

// windowSteps is how many steps of a worker are looked at together: one hiccup
// is no pace.
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

func (w *window[T]) full() bool { return len(w.values) == windowSteps }

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
