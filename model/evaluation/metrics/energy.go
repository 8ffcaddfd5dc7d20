package metrics

import (
	"fmt"
	"math"
)

// EnergyDistance is 2E|X−Y| − E|X−X′| − E|Y−Y′|, with X′ and Y′ other draws of the same
// laws (Székely and Rizzo, J. Stat. Plan. Inference 143, 2013). It is 0 for equal laws
// alone. Here the laws are those of the samples: a point may meet itself, at distance 0. So
// draws of equal laws are E|X−X′|·(1/n + 1/m) apart in the mean. The unit is that of the
// coordinates.
//
// The length of v is a mean over directions, |v| = c·E|⟨θ, v⟩| with
// c = √π·Γ((d+1)/2)/Γ(d/2). So the distance is c times the mean over directions of that of
// projections, which takes the time of sorting. Directions are those of SlicedW2.
func EnergyDistance(x, y Cloud, directions int, seed uint64) (float64, error) {
	s, err := OverDirections(x, y, directions, seed)
	if err != nil {
		return 0, fmt.Errorf("energy distance: %w", err)
	}
	return s.Energy, nil
}

// meanLength is 1/E|⟨θ, v⟩| for v of length 1 in d dimensions.
func meanLength(d int) float64 {
	high, _ := math.Lgamma(float64(d+1) / 2)
	low, _ := math.Lgamma(float64(d) / 2)
	return math.Sqrt(math.Pi) * math.Exp(high-low)
}

// energyOnLine is the distance of sorted samples, 2∫(F−G)² of their distribution functions.
func energyOnLine(a, b []float64) float64 {
	n, m := float64(len(a)), float64(len(b))
	var integral float64
	last := min(a[0], b[0])
	for i, j := 0, 0; i < len(a) || j < len(b); {
		var next float64
		if j == len(b) || i < len(a) && a[i] <= b[j] {
			next = a[i]
		} else {
			next = b[j]
		}
		difference := float64(i)/n - float64(j)/m
		integral += difference * difference * (next - last)
		last = next
		for i < len(a) && a[i] == next {
			i++
		}
		for j < len(b) && b[j] == next {
			j++
		}
	}
	return 2 * integral
}
