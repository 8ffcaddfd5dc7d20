package softmin

import "math"

const (
	roundMagic = 3 << 51 // adding it rounds a float64 of moderate size to an integer

	// 2^f on [−½, ½], degree 7, relative error 4e-11 (weighted least squares,
	// reweighted to equal ripple).
	exp2c0 = 0.9999999999616819
	exp2c1 = 0.6931471807284529
	exp2c2 = 0.24022651198155293
	exp2c3 = 0.05550410353430745
	exp2c4 = 0.009618027253906083
	exp2c5 = 0.0013333922578568746
	exp2c6 = 0.00015469291075062314
	exp2c7 = 1.5201917913273411e-05

	// exponentRange is the largest |x| for which exp2 is right.
	exponentRange = 1000
)

// exp2 is 2^x for |x| ≤ exponentRange, with relative error 5e-11.
func exp2(x float64) float64 {
	shifted := x + roundMagic
	f := x - (shifted - roundMagic)
	f2 := f * f
	p := (exp2c0 + exp2c1*f) + f2*((exp2c2+exp2c3*f)+f2*((exp2c4+exp2c5*f)+f2*(exp2c6+exp2c7*f)))
	// The low bits of shifted hold the integer part: add it to p's exponent.
	return math.Float64frombits(math.Float64bits(p) + math.Float64bits(shifted)<<52)
}
