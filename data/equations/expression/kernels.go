package expression

import "math"

// Lanes is the number of states that an instruction works on.
const Lanes = 64

type block = [Lanes]float64

// A kernel computes the first n of dst, and may compute all, from a, b and c as
// its opcode says. dst may be one of the others.
type kernel func(dst, a, b, c *block, n int)

// kernels are those of one instruction set, by opcode. All sets give the same numbers as
// the plain one, to the last bit.
type kernels [opcodes]kernel

var plain = &kernels{
	opAdd:       addPlain,
	opSubtract:  subtractPlain,
	opMultiply:  multiplyPlain,
	opDivide:    dividePlain,
	opMin:       pairwise(least),
	opMax:       pairwise(greatest),
	opLess:      pairwise(func(a, b float64) float64 { return truth(a < b) }),
	opLessEqual: pairwise(func(a, b float64) float64 { return truth(a <= b) }),
	opEqual:     pairwise(func(a, b float64) float64 { return truth(a == b) }),
	opSelect:    selectPlain,
	opAbs:       each(math.Abs),
	opSqrt:      sqrtPlain,
	opExp:       each(exp),
	opLog:       each(log),
	opSin:       each(sin),
	opCos:       each(cos),
	opTanh:      each(tanh),
}

// kernel computes a node with the instruction set of k.
func (n node) kernel(k *kernels) kernel {
	switch n.op {
	case opUnary:
		return each(environment[n.function].(func(float64) float64))
	case opBinary:
		return pairwise(environment[n.function].(func(a, b float64) float64))
	}
	return k[n.op]
}

func each(f func(float64) float64) kernel {
	return func(dst, a, _, _ *block, n int) {
		for i, v := range a[:n] {
			dst[i] = f(v)
		}
	}
}

func pairwise(f func(a, b float64) float64) kernel {
	return func(dst, a, b, _ *block, n int) {
		for i, v := range a[:n] {
			dst[i] = f(v, b[i])
		}
	}
}

func addPlain(dst, a, b, _ *block, n int) {
	for i, v := range a[:n] {
		dst[i] = v + b[i]
	}
}

func subtractPlain(dst, a, b, _ *block, n int) {
	for i, v := range a[:n] {
		dst[i] = v - b[i]
	}
}

func multiplyPlain(dst, a, b, _ *block, n int) {
	for i, v := range a[:n] {
		dst[i] = v * b[i]
	}
}

func dividePlain(dst, a, b, _ *block, n int) {
	for i, v := range a[:n] {
		dst[i] = v / b[i]
	}
}

func sqrtPlain(dst, a, _, _ *block, n int) {
	for i, v := range a[:n] {
		dst[i] = math.Sqrt(v)
	}
}

func selectPlain(dst, a, b, c *block, n int) {
	for i, v := range a[:n] {
		if v != 0 {
			dst[i] = b[i]
		} else {
			dst[i] = c[i]
		}
	}
}

// least is NaN where a or b is, and b where they are equal, whatever the sign
// of a zero.
func least(a, b float64) float64 {
	if a < b || a != a {
		return a
	}
	return b
}

// greatest is like least.
func greatest(a, b float64) float64 {
	if a > b || a != a {
		return a
	}
	return b
}

func truth(c bool) float64 {
	if c {
		return 1
	}
	return 0
}
