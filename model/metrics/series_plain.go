//go:build !goexperiment.simd || !amd64

package metrics

// seriesPerTarget is how many terms of a series take the time of the
// exponentials of one target.
const seriesPerTarget = 1

// This build has no vectors.

func multiply(x, y *seriesBlock) { multiplyPlain(x, y) }

func addPowers(lanes [][8]float64, factor, y *seriesBlock) { addPowersPlain(lanes, factor, y) }

func sumPowers(sums *seriesBlock, moment []float64, factor, y *seriesBlock) {
	sumPowersPlain(sums, moment, factor, y)
}
