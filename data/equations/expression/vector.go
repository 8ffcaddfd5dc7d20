package expression

// Exp writes the exponential of every x to dst, which may be x, with the kernels of formulas. So
// do Log, Sin, Cos and Tanh.
func Exp(dst, x []float64) { vector(opExp, dst, x) }

// Log is the natural logarithm; NaN of negative numbers.
func Log(dst, x []float64) { vector(opLog, dst, x) }

// Sin is the sine.
func Sin(dst, x []float64) { vector(opSin, dst, x) }

// Cos is the cosine.
func Cos(dst, x []float64) { vector(opCos, dst, x) }

// Tanh is the hyperbolic tangent.
func Tanh(dst, x []float64) { vector(opTanh, dst, x) }

// vector applies the fastest kernel of an operation with one operand.
func vector(op opcode, dst, x []float64) {
	run := sets[0].kernels[op]
	dst = dst[:len(x)]
	for len(x) >= Lanes {
		in := (*block)(x)
		run((*block)(dst), in, in, in, Lanes)
		dst, x = dst[Lanes:], x[Lanes:]
	}
	if len(x) > 0 {
		var part block
		n := copy(part[:], x)
		run(&part, &part, &part, &part, n)
		copy(dst, part[:n])
	}
}
