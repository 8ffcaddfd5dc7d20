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
	s, err := OverDirections(x, y, directions, seed)
	if err != nil {
		return 0, fmt.Errorf("sliced wasserstein distance: %w", err)
	}
	return s.W2, nil
}

// MarginalW2 has the Wasserstein-2 distance of the marginals along each coordinate, in
// its unit. Laws with equal marginals may differ.
func MarginalW2(x, y Cloud) ([]float64, error) {
	if err := validatePair(x, y); err != nil {
		return nil, fmt.Errorf("wasserstein distances of marginals: %w", err)
	}
	marginals := make([]float64, x.D)
	overEach(x, y, x.D, axes(x.D), func(i int, a, b []float64) { marginals[i] = math.Sqrt(squaredW2(a, b)) })
	return marginals, nil
}
