//go:build !goexperiment.simd || !amd64

package metrics

// seriesPerPair is how many terms, each for a source or a target, take the time
// of one exponential.
const seriesPerPair = 2

// This build has no vectors.

func multiply(x, y *seriesBlock) { multiplyPlain(x, y) }

func addPowers(lanes [][8]float64, factor, y *seriesBlock) { addPowersPlain(lanes, factor, y) }

func sumPowers(sums *seriesBlock, moment []float64, factor, y *seriesBlock) {
	sumPowersPlain(sums, moment, factor, y)
}
