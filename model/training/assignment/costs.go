package assignment

import "math"

// layout copies finite points to float64, translated and scaled so that costs keep
// their accuracy as float32.
//
// Translation: moving y changes the sum of every permutation by the same amount.
// Where the ranges of the clouds on an axis are disjoint, layout moves y until they
// touch. Costs are then of the size of the clouds, not of their distance, and rounding
// keeps the differences between permutations. Ranges that overlap stay, so that exact
// coordinates stay exact.
//
// Scaling: a power of two, which causes no rounding, brings the largest possible cost
// just below 2¹²⁶. So no cost overflows, and points up to 2¹²⁰ times closer together
// than others still have a cost above zero.
func (s *Solver) layout(x, y []float32) {
	d := s.d
	var diagonal float64
	for k := range d {
		loX, hiX := extent(x, k, d)
		loY, hiY := extent(y, k, d)
		shift := 0.0
		if loY > hiX {
			shift = loY - hiX
		} else if hiY < loX {
			shift = hiY - loX
		}
		loY, hiY = loY-shift, hiY-shift
		width := max(hiX, hiY) - min(loX, loY)
		diagonal += width * width
		for i := range s.n {
			s.x[i*d+k] = float64(x[i*d+k])
			s.y[k*s.stride+i] = float64(y[i*d+k]) - shift
		}
	}
	_, exponent := math.Frexp(diagonal)
	scale := math.Ldexp(1, (126-exponent)>>1)
	for i := range s.x {
		s.x[i] *= scale
	}
	for i := range s.y { // the infinities beyond n stay infinite
		s.y[i] *= scale
	}
}

// extent is the range of coordinate k.
func extent(x []float32, k, d int) (lo, hi float64) {
	least, largest := x[k], x[k]
	for i := k; i < len(x); i += d {
		v := x[i]
		if v < least {
			least = v
		}
		if v > largest {
			largest = v
		}
	}
	return float64(least), float64(largest)
}

// finite reports whether no coordinate is NaN or infinite: v − v is 0 or NaN.
func finite(x []float32) bool {
	var sum float32
	for _, v := range x {
		sum += v - v
	}
	return sum == 0
}

// fillCosts computes costs[i, j] = |x_i − y_j|² in float64 and rounds it.
func (s *Solver) fillCosts() {
	for i := range s.n {
		squaredDistances(s.set, s.row(i), s.x[i*s.d:(i+1)*s.d], s.y)
	}
}

// row returns the costs of point i of x.
func (s *Solver) row(i int) []float32 { return s.costs[i*s.stride : (i+1)*s.stride] }
