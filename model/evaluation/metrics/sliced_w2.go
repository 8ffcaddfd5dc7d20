package metrics

import (
	"fmt"
	"math"
)

// SlicedW2 is the sliced Wasserstein-2 distance: the root of the mean, over
// directions θ drawn uniformly from the unit sphere, of W2² between the
// projections ⟨θ, x⟩ and ⟨θ, y⟩ (Bonneel et al., J. Math. Imaging Vis. 51,
// 2015). Direction i is a function of (seed, i). Zero directions means 256. The
// unit is that of the coordinates. In one dimension it equals W2.
func SlicedW2(x, y Cloud, directions int, seed uint64) (float64, error) {
	if err := validatePair(x, y); err != nil {
		return 0, fmt.Errorf("sliced wasserstein distance: %w", err)
	}
	directions, err := checkDirections(directions)
	if err != nil {
		return 0, fmt.Errorf("sliced wasserstein distance: %w", err)
	}
	if x.D == 1 {
		return W2(x.X, y.X)
	}
	return math.Sqrt(meanOver(x, y, directions, uniform(x.D, seed), squaredW2)), nil
}

// MarginalW2 has the Wasserstein-2 distance of the marginals along each coordinate, in
// its unit. Laws with equal marginals may differ.
func MarginalW2(x, y Cloud) ([]float64, error) {
	if err := validatePair(x, y); err != nil {
		return nil, fmt.Errorf("wasserstein distances of marginals: %w", err)
	}
	return eachOf(x, y, x.D, axes(x.D), func(a, b []float64) float64 { return math.Sqrt(squaredW2(a, b)) }), nil
}
