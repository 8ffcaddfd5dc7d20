package npy

import "math"

// Single rounds an array to float32. It reports whether the rounding is small: its root mean
// square is at most 10⁻⁴ of the deviation of the numbers, so no statistic of them changes by
// more than that. Numbers near 1000 with the deviation 1 round well, those near 10⁵ do not.
func Single(a Array[float64]) (rounded Array[float32], small bool) {
	rounded = Array[float32]{Shape: a.Shape, Data: make([]float32, len(a.Data))}
	var mean, deviation, lost float64 // Hypot: squares could leave the range of float64
	for i, v := range a.Data {
		rounded.Data[i] = float32(v)
		mean += v / float64(len(a.Data))
		lost = math.Hypot(lost, v-float64(float32(v)))
	}
	for _, v := range a.Data {
		deviation = math.Hypot(deviation, v-mean)
	}
	return rounded, lost <= 1e-4*deviation
}
