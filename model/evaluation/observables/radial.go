package observables

import (
	"errors"
	"math"
)

// RadialBins bins of equal width cover distances from 0 to RadialRange, in the unit of
// Observe.
const (
	RadialBins  = 100
	RadialRange = 8.0
)

// RadialHistogram counts pair distances.
type RadialHistogram struct {
	Counts [RadialBins]uint64
	Pairs  uint64 // all, including those farther apart than RadialRange
}

// count adds distances, which are in rising order, in that unit.
func (r *RadialHistogram) count(distances []float64, unit float64) {
	for _, d := range distances {
		d /= unit
		if d >= RadialRange {
			break
		}
		r.Counts[int(d*(RadialBins/RadialRange))]++
	}
	r.Pairs += uint64(len(distances))
}

// Add adds the pairs of other, for example those of another interaction kernel.
func (r *RadialHistogram) Add(other RadialHistogram) {
	for k, c := range other.Counts {
		r.Counts[k] += c
	}
	r.Pairs += other.Pairs
}

// RadialCentres are the middles of the bins.
func RadialCentres() []float64 {
	centres := make([]float64, RadialBins)
	for k := range centres {
		centres[k] = (float64(k) + 0.5) * RadialRange / RadialBins
	}
	return centres
}

// G is the radial distribution function g(r), one value per bin: the density of a
// particle's neighbours at distance r over that of neighbours spread evenly over the
// disc of radius R = RadialRange around it,
//
//	g_k = (counts_k / pairs) · πR² / π(r_{k+1}² − r_k²).
//
// Particles in a trap have no volume, so R replaces it: g = 1 where there is no
// structure out to R, and for independent N(0, s²I) particles it is
// R²/(4s²)·exp(−r²/4s²). Without pairs it is zero.
func (r *RadialHistogram) G() []float64 {
	g := make([]float64, RadialBins)
	if r.Pairs == 0 {
		return g
	}
	for k, c := range r.Counts {
		annulus := float64(2*k+1) / (RadialBins * RadialBins) // of the disc
		g[k] = float64(c) / float64(r.Pairs) / annulus
	}
	return g
}

// RadialError is the L² distance (∫₀ᴿ (g_x − g_target)² dr)^½ between two radial
// distribution functions, in the root of the unit of distances.
func RadialError(target, x *RadialHistogram) (float64, error) {
	if target.Pairs == 0 || x.Pairs == 0 {
		return 0, errors.New("error of g(r): no pairs")
	}
	a, b := target.G(), x.G()
	var sum float64
	for k := range a {
		sum += (a[k] - b[k]) * (a[k] - b[k])
	}
	return math.Sqrt(sum * RadialRange / RadialBins), nil
}
