package metrics

import (
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/softmin"
)

// MaxDimension is the largest dimension of points.
const MaxDimension = softmin.MaxDimension

// MaxPoints is the largest number of points in a cloud.
const MaxPoints = 1 << 24

var (
	// ErrEmpty: a cloud has no points.
	ErrEmpty = errors.New("no points")
	// ErrShape: numbers of points, coordinates or dimensions do not fit.
	ErrShape = errors.New("shape mismatch")
	// ErrNonFinite: a coordinate is NaN or infinite.
	ErrNonFinite = errors.New("not finite")
	// ErrRange: a coordinate is beyond float32.
	ErrRange = errors.New("beyond float32")
	// ErrOption: an option is out of its range.
	ErrOption = errors.New("invalid option")
)

// Cloud is the CloudOf that the metrics in any dimension take.
type Cloud = CloudOf[float32]

// CloudOf is N points in D dimensions, point after point: coordinate d of point i
// is X[i*D+d]. All points weigh the same, 1/N.
type CloudOf[T float32 | float64] struct {
	N, D int
	X    []T
}

// Line is the cloud of the given points in one dimension. It keeps x.
func Line(x []float32) Cloud { return line(x) }

func line[T float32 | float64](x []T) CloudOf[T] { return CloudOf[T]{N: len(x), D: 1, X: x} }

func (c CloudOf[T]) validate() error {
	switch {
	case c.N == 0:
		return ErrEmpty
	case c.D < 1 || c.D > MaxDimension:
		return fmt.Errorf("dimension %d is outside 1 to %d: %w", c.D, MaxDimension, ErrShape)
	case c.N < 0 || c.N > MaxPoints:
		return fmt.Errorf("%d points are outside 1 to %d: %w", c.N, MaxPoints, ErrShape)
	case len(c.X) != c.N*c.D:
		return fmt.Errorf("%d coordinates for %d points in %d dimensions: %w", len(c.X), c.N, c.D, ErrShape)
	}
	for i, v := range c.X {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("point %d, coordinate %d is %v: %w", i/c.D, i%c.D, v, ErrNonFinite)
		}
	}
	return nil
}

// validatePair checks two clouds and that they have the same dimension.
func validatePair[T float32 | float64](x, y CloudOf[T]) error {
	if err := x.validate(); err != nil {
		return fmt.Errorf("first cloud: %w", err)
	}
	if err := y.validate(); err != nil {
		return fmt.Errorf("second cloud: %w", err)
	}
	if x.D != y.D {
		return fmt.Errorf("points in %d and in %d dimensions: %w", x.D, y.D, ErrShape)
	}
	return nil
}

// diameter is the diagonal of the joint bounding box, an upper bound on the
// distance of any two points.
func diameter(x, y Cloud) float64 {
	var sum float64
	for d := range x.D {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, c := range []Cloud{x, y} {
			for i := d; i < len(c.X); i += c.D {
				v := float64(c.X[i])
				lo, hi = min(lo, v), max(hi, v)
			}
		}
		sum += (hi - lo) * (hi - lo)
	}
	return math.Sqrt(sum)
}
