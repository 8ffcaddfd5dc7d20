package kernels

import "math"

// Activation is a function that a layer applies to every output.
type Activation int

// The activations.
const (
	Linear Activation = iota // x
	GELU                     // x·Φ(x) = x/2·(1 + erf(x/√2)), Φ the normal distribution function
	Mish                     // x·tanh(ln(1 + eˣ))
)

// Apply replaces every x by its image.
func (a Activation) Apply(x []float32) {
	switch a {
	case GELU:
		gelu(x)
	case Mish:
		mish(x)
	}
}

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

// mishBound is an x from which Mish(x) = x in float32. For larger x the square of the
// exponential may overflow.
const mishBound = 20

// mishPlain computes Mish(x) = x·n/(n + 2) with n = e(e + 2), e = eˣ.
func mishPlain(x []float32) {
	for i, v := range x {
		e := exp(min(v, mishBound))
		n := e * (e + 2)
		x[i] = v * (n / (n + 2))
	}
}

// The exponential is eˣ = 2ⁿ·eʳ with n = round(x/ln 2) and r = x − n·ln 2, for which ln 2 has
// two parts: the first has so few bits that its product with n is exact. eʳ = 1 + r + r²·P(r),
// |r| ≤ ln(2)/2, is the polynomial of the Cephes library (expf), within 1e-7. Below expLow,
// where numbers lose their precision, the result is that of expLow, 1.6e-38.
const (
	expLow  = -87
	perLn2  = 1.4426950408889634
	ln2High = 0.693359375
	ln2Low  = -2.12194440e-4

	expP0, expP1, expP2 = 5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2
	expP3, expP4, expP5 = 8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4

	float32Bias, float32Fraction = 127, 23 // of the exponent, and bits after it
)

// exp is eˣ for x ≤ 88.
func exp(x float32) float32 {
	x = max(x, expLow)
	n := float32(math.RoundToEven(float64(x * perLn2)))
	r := x - n*ln2High - n*ln2Low
	p := ((((expP5*r+expP4)*r+expP3)*r+expP2)*r+expP1)*r + expP0
	return (1 + r + r*r*p) * math.Float32frombits(uint32(int32(n)+float32Bias)<<float32Fraction)
}
