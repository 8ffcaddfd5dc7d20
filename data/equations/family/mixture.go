package family

import (
	"math"
	"math/rand/v2"
)

// mixture is the law Σ wₖ N(mₖ, sₖ²) of three normal components.
type mixture [3]component

type component struct{ weight, mean, std float64 }

// logPDF is log wₖ N(x; mₖ, sₖ²) + ½ log 2π.
func (c component) logPDF(x float64) float64 {
	z := (x - c.mean) / c.std
	return math.Log(c.weight) - math.Log(c.std) - z*z/2
}

// score is (log p)′ = Σ rₖ(x)·(mₖ−x)/sₖ², rₖ the components' posterior
// probabilities, computed from differences of logarithms so that it holds far
// from every mode, where p itself underflows.
func (m *mixture) score(x float64) float64 {
	var logs [3]float64
	top := math.Inf(-1)
	for k, c := range m {
		logs[k] = c.logPDF(x)
		top = max(top, logs[k])
	}
	var sum, total float64
	for k, c := range m {
		r := math.Exp(logs[k] - top)
		total += r
		sum += r * (c.mean - x) / (c.std * c.std)
	}
	return sum / total
}

func (m *mixture) PDF(x float64) float64 {
	var p float64
	for _, c := range m {
		p += math.Exp(c.logPDF(x))
	}
	return p / math.Sqrt(2*math.Pi)
}

func (m *mixture) CDF(x float64) float64 {
	var p float64
	for _, c := range m {
		p += c.weight * math.Erfc((c.mean-x)/(c.std*math.Sqrt2)) / 2
	}
	return p
}

// Quantile inverts the CDF by bisection to full precision between the least
// and the greatest quantile of the components.
func (m *mixture) Quantile(u float64) float64 {
	if !(u > 0 && u < 1) {
		switch u {
		case 0:
			return math.Inf(-1)
		case 1:
			return math.Inf(1)
		}
		return math.NaN()
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, c := range m {
		q := c.mean - c.std*math.Sqrt2*math.Erfcinv(2*u)
		lo, hi = min(lo, q), max(hi, q)
	}
	for {
		x := lo + (hi-lo)/2
		if x <= lo || x >= hi {
			return x
		}
		if m.CDF(x) < u {
			lo = x
		} else {
			hi = x
		}
	}
}

// Sample fills dst with independent draws: a component, then a normal.
func (m *mixture) Sample(dst []float32, rng *rand.Rand) {
	for j := range dst {
		k, u := 0, rng.Float64()
		for k < len(m)-1 && u >= m[k].weight {
			u -= m[k].weight
			k++
		}
		dst[j] = float32(m[k].mean + m[k].std*rng.NormFloat64())
	}
}
