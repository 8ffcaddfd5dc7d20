package expression

import "math"

// The functions below are within three units in the last place. exp, log, sin and
// cos follow FreeBSD's msun (Copyright 1993 by Sun Microsystems, Inc.;
// "Permission to use, copy, modify, and distribute this software is freely
// granted, provided that this notice is preserved"), tanh follows Cephes, as
// package math does where it has no assembly, in forms that suit vectors. Every
// product is rounded before it is added to, so that fused multiply-adds of some
// architectures cannot change a result.

// rounder, added to a number of moderate size, rounds it to an integer, which
// is then in the low bits of the sum.
const rounder = 3 << 51

// mul is a product that is rounded.
func mul(a, b float64) float64 { return float64(a * b) }

const (
	expLeast = -746 // exp is 0 from here down
	expMost  = 710  // and +Inf from here up
	perLn2   = 1 / math.Ln2
	ln2High  = 6.93147180369123816490e-01 // with zeros at the end, so that k·ln2High is exact
	ln2Low   = 1.90821492927058770002e-10 // the rest of ln 2
	oneBits  = 1023                       // exponent of 1
	mantissa = 52                         // bits
)

// expTerms are of e^r on |r| ≤ ½ln 2, as a rational function.
var expTerms = [...]float64{
	1.66666666666666657415e-01,
	-2.77777777770155933842e-03,
	6.61375632143793436117e-05,
	-1.65339022054652515390e-06,
	4.13813679705723846039e-08,
}

// exp is e^x = 2ᵏeʳ. 2ᵏ is the product of two powers, since k may leave the
// range of exponents where the result does not, or is subnormal.
func exp(x float64) float64 {
	if x < expLeast {
		x = expLeast
	}
	if x > expMost {
		x = expMost
	}
	k := mul(x, perLn2) + rounder - rounder
	halfBits := mul(k, 0.5) + rounder
	restBits := k - (halfBits - rounder) + rounder
	high, low := x-mul(k, ln2High), mul(k, ln2Low)
	r := high - low
	t := mul(r, r)
	c := r - mul(t, expTerms[0]+mul(t, expTerms[1]+mul(t, expTerms[2]+mul(t, expTerms[3]+mul(t, expTerms[4])))))
	y := 1 - (low - mul(r, c)/(2-c) - high)
	return y * powerOfTwo(halfBits) * powerOfTwo(restBits)
}

// powerOfTwo is 2ᵏ for an integer k plus rounder.
func powerOfTwo(k float64) float64 {
	return math.Float64frombits((math.Float64bits(k) + oneBits) << mantissa)
}

const (
	leastNormal  = 0x1p-1022
	rootHalfBits = 0x3fe6a09e667f3bcd // of √½
	notANumber   = 0x7ff8000000000001 // bits of math.NaN()
)

// logTerms are of ln(1+f) in s = f/(2+f), for s², s⁴ and so on.
var logTerms = [...]float64{
	6.666666666666735130e-01,
	3.999999999940941908e-01,
	2.857142874366239149e-01,
	2.222219843214978396e-01,
	1.818357216161805012e-01,
	1.531383769920937332e-01,
	1.479819860511658591e-01,
}

// log is ln x = k·ln 2 + ln(1+f), √½ ≤ 1+f < √2.
func log(x float64) float64 {
	scaled, k := x, 0.0
	if x < leastNormal {
		scaled, k = x*0x1p54, -54
	}
	const one = oneBits << mantissa
	bits := math.Float64bits(scaled) + (one - rootHalfBits)
	k += math.Float64frombits(bits>>mantissa|math.Float64bits(0x1p52)) - (0x1p52 + oneBits)
	f := math.Float64frombits(bits&(1<<mantissa-1)+rootHalfBits) - 1
	s := f / (2 + f)
	s2 := mul(s, s)
	s4 := mul(s2, s2)
	odd := mul(s2, logTerms[0]+mul(s4, logTerms[2]+mul(s4, logTerms[4]+mul(s4, logTerms[6]))))
	even := mul(s4, logTerms[1]+mul(s4, logTerms[3]+mul(s4, logTerms[5])))
	square := mul(mul(f, 0.5), f)
	y := mul(k, ln2High) - (square - (mul(s, square+(odd+even)) + mul(k, ln2Low)) - f)
	if x > math.MaxFloat64 {
		y = x
	}
	if x == 0 {
		y = math.Inf(-1)
	}
	if !(x >= 0) {
		y = math.NaN()
	}
	return y
}

const (
	angleMost = 1 << 20 // beyond it package math computes
	perRight  = 2 / math.Pi
	// π/2 in parts with zeros at the end, so that their products with n < 2²⁰
	// are exact.
	right1 = 1.57079632673412561417e+00
	right2 = 6.07710050630396597660e-11
	right3 = 2.02226624871116645580e-21
)

// sinTerms are of sin r for r³, r⁵ and so on, cosTerms of cos r for r⁴, r⁶ and so
// on, |r| ≤ π/4.
var sinTerms = [...]float64{
	-1.66666666666666324348e-01,
	8.33333333332248946124e-03,
	-1.98412698298579493134e-04,
	2.75573137070700676789e-06,
	-2.50507602534068634195e-08,
	1.58969099521155010221e-10,
}

var cosTerms = [...]float64{
	4.16666666666666019037e-02,
	-1.38888888888741095749e-03,
	2.48015872894767294178e-05,
	-2.75573143513906633035e-07,
	2.08757232129817482790e-09,
	-1.13596475577881948265e-11,
}

func sin(x float64) float64 {
	if !(math.Abs(x) <= angleMost) {
		return math.Sin(x)
	}
	return quarter(x, 0)
}

func cos(x float64) float64 {
	if !(math.Abs(x) <= angleMost) {
		return math.Cos(x)
	}
	return quarter(x, 1)
}

// quarter is sin(x + turns·π/2) = ±sin r or ±cos r, where r = x − n·π/2 and
// n + turns says which.
func quarter(x float64, turns uint64) float64 {
	n := mul(x, perRight) + rounder
	turns += math.Float64bits(n)
	n -= rounder
	r := x - mul(n, right1) - mul(n, right2) - mul(n, right3)
	z := mul(r, r)
	sine := r + mul(mul(z, r), sinTerms[0]+mul(z, sinTerms[1]+mul(z, sinTerms[2]+mul(z, sinTerms[3]+mul(z, sinTerms[4]+mul(z, sinTerms[5]))))))
	half := mul(z, 0.5)
	w := 1 - half
	cosine := w + (1 - w - half + mul(z, mul(z, cosTerms[0]+mul(z, cosTerms[1]+mul(z, cosTerms[2]+mul(z, cosTerms[3]+mul(z, cosTerms[4]+mul(z, cosTerms[5]))))))))
	y := sine
	if turns<<63 != 0 {
		y = cosine
	}
	return math.Float64frombits(math.Float64bits(y) ^ turns>>1<<63)
}

const (
	tanhSmall = 0.625 // below it tanh is computed as a rational function
	tanhMost  = 44    // from here tanh is 1
)

// tanhAbove and tanhBelow are of the rational function's numerator and
// denominator, which begins with s³.
var tanhAbove = [...]float64{
	-9.64399179425052238628e-1,
	-9.92877231001918586564e1,
	-1.61468768441708447952e3,
}

var tanhBelow = [...]float64{
	1.12811678491632931402e2,
	2.23548839060100448583e3,
	4.84406305325125486048e3,
}

func tanh(x float64) float64 {
	size := math.Abs(x)
	if size < tanhSmall {
		s := mul(x, x)
		p := mul(mul(tanhAbove[0], s)+tanhAbove[1], s) + tanhAbove[2]
		q := mul(mul(s+tanhBelow[0], s)+tanhBelow[1], s) + tanhBelow[2]
		return x + mul(mul(x, s), p)/q
	}
	if size > tanhMost {
		size = tanhMost
	}
	return math.Copysign(1-2/(exp(2*size)+1), x)
}
