package evaluate

import (
	"math"

	"github.com/ergoflow/ergoflow/data/random"
)

// gaussian is the normal law of a mean [d] and the lower triangle L [d, d] of its
// covariance LLᵀ.
type gaussian struct {
	mean   []float64
	factor [][]float64
}

// standardNormal is N(0, I).
func standardNormal(d int) gaussian {
	g := gaussian{mean: make([]float64, d), factor: make([][]float64, d)}
	for k := range g.factor {
		g.factor[k] = make([]float64, k+1)
		g.factor[k][k] = 1
	}
	return g
}

// matched has the mean and the (biased) covariance of samples [n, d].
func matched(samples []float32, d int) gaussian {
	mean, covariance := moments(samples, d)
	return gaussian{mean, cholesky(covariance)}
}

// moments are the mean and the lower triangle of the biased covariance of
// samples [n, d].
func moments(samples []float32, d int) (mean []float64, covariance [][]float64) {
	n := float64(len(samples) / d)
	mean, covariance = make([]float64, d), make([][]float64, d)
	for i, x := range samples {
		mean[i%d] += float64(x) / n
	}
	for k := range covariance {
		covariance[k] = make([]float64, k+1)
	}
	centred := make([]float64, d)
	for first := 0; first < len(samples); first += d {
		for k, x := range samples[first : first+d] {
			centred[k] = float64(x) - mean[k]
			for l := range k + 1 {
				covariance[k][l] += centred[k] * centred[l] / n
			}
		}
	}
	return mean, covariance
}

// trace is the sum of the variances.
func trace(covariance [][]float64) (sum float64) {
	for k, row := range covariance {
		sum += row[k]
	}
	return sum
}

// cholesky returns L with LLᵀ = a for a lower triangle a. Directions that have no
// variance, up to rounding, get none.
func cholesky(a [][]float64) [][]float64 {
	smallest := 1e-12 * trace(a)
	l := make([][]float64, len(a))
	for i, row := range a {
		l[i] = make([]float64, i+1)
		for j, sum := range row {
			for k := range j {
				sum -= l[i][k] * l[j][k]
			}
			switch {
			case i == j && sum > smallest:
				l[i][i] = math.Sqrt(sum)
			case i != j && l[j][j] > 0:
				l[i][j] = sum / l[j][j]
			}
		}
	}
	return l
}

// draw fills dst [n, d] with samples for that function.
func (g gaussian) draw(dst []float32, seed uint64, purpose string, index int) {
	rng := random.New(seed, purpose, uint64(index))
	d := len(g.mean)
	z := make([]float64, d)
	for first := 0; first < len(dst); first += d {
		for k := range z {
			z[k] = rng.NormFloat64()
		}
		for k, row := range g.factor {
			x := g.mean[k]
			for l, v := range row {
				x += v * z[l]
			}
			dst[first+k] = float32(x)
		}
	}
}
