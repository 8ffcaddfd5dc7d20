package shard

import "math"

// Moments are the number of values, their sum and the sum of their squares.
type Moments struct {
	Count int64   `json:"count"`
	Sum   float64 `json:"sum"`
	SumSq float64 `json:"sum_sq"`
}

// Add adds values.
func (m *Moments) Add(values ...float32) {
	var sum, sq float64
	for _, v := range values {
		x := float64(v)
		sum += x
		sq += x * x
	}
	m.Count += int64(len(values))
	m.Sum += sum
	m.SumSq += sq
}

// Merge adds the values of o.
func (m *Moments) Merge(o Moments) {
	m.Count += o.Count
	m.Sum += o.Sum
	m.SumSq += o.SumSq
}

// Mean is the mean of the values.
func (m Moments) Mean() float64 { return m.Sum / float64(m.Count) }

// Variance is the population variance. It is 0 for a constant, although rounding may leave
// more: that would be no scale to divide by.
func (m Moments) Variance() float64 {
	n, mean := float64(m.Count), m.Mean()
	if v := m.SumSq/n - mean*mean; v > 1e-12*m.SumSq/n {
		return v
	}
	return 0
}

// finite reports whether all values are finite: no float32 squared overflows a float64.
func (m Moments) finite() bool {
	return !math.IsNaN(m.SumSq) && !math.IsInf(m.SumSq, 0) && !math.IsInf(m.Sum, 0)
}
