package density

import (
	"errors"
	"fmt"
	"math"
)

// Boundary is Feller's kind of an end of the interval on which an equation lives (Feller 1952;
// Karlin and Taylor, A Second Course in Stochastic Processes, 1981, 15.6).
type Boundary string

// Kinds of boundaries. Chains reach only regular and exit boundaries in finite time.
const (
	Natural  Boundary = "natural"  // never reached, and X cannot start there
	Entrance Boundary = "entrance" // never reached, but X can start there
	Exit     Boundary = "exit"     // reached, and never left again
	Regular  Boundary = "regular"  // reached and left: what X does there needs a rule
)

// Attainable says whether X reaches the boundary in finite time.
func (k Boundary) Attainable() bool { return k == Exit || k == Regular }

// ErrUndecided means that the kind of a boundary cannot be decided numerically.
var ErrUndecided = errors.New("the kind of the boundary is undecided")

const (
	perOctave     = 16   // steps of the quadrature in each octave of distance
	fewestOctaves = 20   // from the interior to the end
	farthestEnd   = 1e90 // an infinite end, relative to the interior's size
	nearestEnd    = 1e-9 // distance to a finite end, relative to its size: x − end has 7 digits
	nearestZero   = 1e-290
)

// BoundaryAt decides the kind of the boundary of dX = b(X)dt + σ(X)dW at an end of the line,
// which may be infinite, for x inside and all states between. With the distance t from x
// towards the end, and f = 2b/σ² in that direction,
//
//	Q′ = 2/σ² − fQ,  R′ = 1 + fR,  Q = R = 0 at x,
//
// Q is the speed measure from x to t times the scale density at t, R the scale measure over
// that density. The end is attainable if ∫Q dt is finite, and X can start there if ∫2R/σ² dt
// is. Whether they are is read off the growth of the integrals over octaves of the distance.
// It fails with ErrUndecided where this growth is too near the limit, or a coefficient has no
// value on the way.
func BoundaryAt(b, sigma Coefficient, end, x float64) (Boundary, error) {
	place, octaves := octavesTowards(end, x)
	direction := 1.
	if end < x {
		direction = -1
	}
	at := make([]float64, perOctave*octaves+1) // edges of the steps
	for i := range at {
		at[i] = place(float64(i) / perOctave)
	}
	middle, drift, noise := make([]float64, len(at)-1), make([]float64, len(at)-1), make([]float64, len(at)-1)
	for i := range middle {
		middle[i] = place((float64(i) + 0.5) / perOctave)
	}
	b(drift, middle)
	sigma(noise, middle)
	reach, start := make([]float64, 0, octaves), make([]float64, 0, octaves) // log integrals over octaves
	sign := math.Signbit(noise[0])
	q, r := math.Inf(-1), math.Inf(-1) // log Q, log R
	for k := range octaves {
		sumQ, sumR := math.Inf(-1), math.Inf(-1)
		for i := k * perOctave; i < (k+1)*perOctave; i++ {
			h := math.Abs(at[i+1] - at[i])
			f := 2 * direction * (drift[i] / noise[i]) / noise[i]
			speed := math.Ln2 - 2*math.Log(math.Abs(noise[i]))
			if noise[i] == 0 || math.Signbit(noise[i]) != sign { // another boundary is before this one
				return "", fmt.Errorf("%w: σ vanishes before x = %.6g", ErrUndecided, middle[i])
			}
			if h == 0 || math.IsNaN(f) || math.IsInf(f*h, 0) || math.IsInf(speed, 0) {
				if k < fewestOctaves {
					return "", fmt.Errorf("%w: a coefficient has no value at x = %.6g", ErrUndecided, middle[i])
				}
				return kind(reach, start)
			}
			nextQ := logAdd(q-f*h, speed+logGrowth(-f*h)+math.Log(h))
			nextR := logAdd(r+f*h, logGrowth(f*h)+math.Log(h))
			sumQ = logAdd(sumQ, math.Log(h/2)+logAdd(q, nextQ))
			sumR = logAdd(sumR, speed+math.Log(h/2)+logAdd(r, nextR))
			q, r = nextQ, nextR
		}
		reach, start = append(reach, sumQ), append(start, sumR)
	}
	return kind(reach, start)
}

// octavesTowards returns the place on the way from x to an end after that many halvings of the
// distance, or doublings where the end is infinite, and how many there are.
func octavesTowards(end, x float64) (place func(octave float64) float64, octaves int) {
	if math.IsInf(end, 0) {
		scale := max(math.Abs(x), 1)
		return func(octave float64) float64 { return x + math.Copysign(scale*(math.Exp2(octave)-1), end) },
			int(math.Log2(farthestEnd))
	}
	nearest := nearestEnd * math.Abs(end)
	if end == 0 {
		nearest = nearestZero
	}
	return func(octave float64) float64 { return end + (x-end)*math.Exp2(-octave) },
		max(int(math.Log2(math.Abs(x-end)/nearest)), 0)
}

// logGrowth is log((eᶻ−1)/z).
func logGrowth(z float64) float64 {
	switch {
	case math.Abs(z) < 1e-8:
		return z / 2
	case z > 30:
		return z - math.Log(z)
	case z < -30:
		return -math.Log(-z)
	}
	return math.Log(math.Expm1(z) / z)
}

// kind combines whether two sums over octaves, given by the logarithms of their terms, are
// finite.
func kind(reach, start []float64) (Boundary, error) {
	attainable, known := finite(reach)
	startable, also := finite(start)
	switch {
	case !known || !also:
		return "", ErrUndecided
	case attainable && startable:
		return Regular, nil
	case attainable:
		return Exit, nil
	case startable:
		return Entrance, nil
	}
	return Natural, nil
}

// finite decides whether a sum is finite from the logarithms of its first terms. If terms are
// as k⁻ᵖ, they fall by 2⁻ᵖ from k/2 to k; if they are as rᵏ, this p doubles with k.
func finite(logs []float64) (yes, known bool) {
	n := len(logs)
	if n < fewestOctaves {
		return false, false
	}
	p := (logs[n/2] - logs[n-1]) / math.Ln2
	before := (logs[n/4] - logs[n/2]) / math.Ln2
	switch {
	case p < 0.05: // constant or growing
		return false, true
	case p > 0.2 && p > 1.5*before && before > 0, p > 30: // geometric
		return true, true
	case p < 0.9:
		return false, true
	case p > 1.1:
		return true, true
	}
	return false, false
}
