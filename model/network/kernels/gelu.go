package kernels

// GELU replaces every x by x·Φ(x) = x/2·(1 + erf(x/√2)), Φ the normal distribution function.
func GELU(x []float32) { gelu(x) }

// The error function is z·P(z²)/Q(z²) for |z| ≤ erfBound, beyond which it is ±1 in float32. It
// is the approximation of Eigen and XLA, within 2e-7.
const (
	erfBound = 3.832506856900711

	erfP0, erfP1, erfP2 = 1.128379143519084, 0.18520832239976145, 0.050955695062380861
	erfP3, erfP4        = 0.0034082910107109506, 0.00022905065861350646

	erfQ0, erfQ1, erfQ2 = 1, 0.49746925110067538, 0.11098505178285362
	erfQ3, erfQ4, erfQ5 = 0.014070470171167667, 0.0010179625278914885, 0.000023547966471313185
	erfQ6               = -1.1791602954361697e-7

	sqrtHalf = 0.70710678118654752
)

func geluPlain(x []float32) {
	for i, v := range x {
		z := min(max(v*sqrtHalf, -erfBound), erfBound)
		w := z * z
		p := (((erfP4*w+erfP3)*w+erfP2)*w+erfP1)*w + erfP0
		q := (((((erfQ6*w+erfQ5)*w+erfQ4)*w+erfQ3)*w+erfQ2)*w+erfQ1)*w + erfQ0
		x[i] = 0.5 * v * (1 + z*p/q)
	}
}
