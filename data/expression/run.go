package expression

import "math"

// environment has what formulas may name; the library checks types with it.
var environment = map[string]any{
	"x": 0.0, "pi": math.Pi, "e": math.E,
	"sin": math.Sin, "cos": math.Cos, "tan": math.Tan,
	"asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
	"sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh,
	"exp": math.Exp, "log": math.Log, "log2": math.Log2, "log10": math.Log10,
	"sqrt": math.Sqrt, "cbrt": math.Cbrt, "abs": math.Abs, "sign": sign,
	"floor": math.Floor, "ceil": math.Ceil, "erf": math.Erf,
	"pow": math.Pow, "atan2": math.Atan2,
	"min": func(v ...float64) float64 { return fold(v, func(a, b float64) float64 { return min(a, b) }) },
	"max": func(v ...float64) float64 { return fold(v, func(a, b float64) float64 { return max(a, b) }) },
}

func fold(values []float64, f func(a, b float64) float64) float64 {
	result := values[0]
	for _, v := range values[1:] {
		result = f(result, v)
	}
	return result
}

// sign is −1, 0 or 1, and NaN for NaN.
func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return v
}

// run executes a tape on up to 64 states and leaves the result at the bottom of
// the stack.
func run(tape []instruction, stack, x []float64) {
	top := -1
	for _, in := range tape {
		switch in.op {
		case opState, opConstant:
			top++
		case opAdd, opSubtract, opMultiply, opDivide, opMin, opMax, opBinary, opLess, opLessEqual, opEqual:
			top--
		case opSelect:
			top -= 2
		}
		a := stack[top*block:][:len(x)]
		switch in.op {
		case opState:
			copy(a, x)
		case opConstant:
			for i := range a {
				a[i] = in.value
			}
		case opNegate:
			for i, v := range a {
				a[i] = -v
			}
		case opSqrt:
			for i, v := range a {
				a[i] = math.Sqrt(v)
			}
		case opShift:
			for i, v := range a {
				a[i] = v + in.value
			}
		case opScale:
			for i, v := range a {
				a[i] = v * in.value
			}
		case opInvert:
			for i, v := range a {
				a[i] = 1 / v
			}
		case opNot:
			for i, v := range a {
				a[i] = 1 - v
			}
		case opPower:
			power(a, in.n)
		case opUnary:
			for i, v := range a {
				a[i] = in.unary(v)
			}
		case opSelect:
			first := stack[(top+1)*block:][:len(x)]
			second := stack[(top+2)*block:][:len(x)]
			for i, v := range a {
				if v != 0 {
					a[i] = first[i]
				} else {
					a[i] = second[i]
				}
			}
		default:
			combine(in, a, stack[(top+1)*block:][:len(x)])
		}
	}
}

// power raises to the second, third or fourth power.
func power(a []float64, n int) {
	for i, v := range a {
		switch square := v * v; n {
		case 2:
			a[i] = square
		case 3:
			a[i] = square * v
		case 4:
			a[i] = square * square
		}
	}
}

// combine computes a ← a ∘ b.
func combine(in instruction, a, b []float64) {
	b = b[:len(a)]
	switch in.op {
	case opAdd:
		for i, v := range b {
			a[i] += v
		}
	case opSubtract:
		for i, v := range b {
			a[i] -= v
		}
	case opMultiply:
		for i, v := range b {
			a[i] *= v
		}
	case opDivide:
		for i, v := range b {
			a[i] /= v
		}
	case opMin:
		for i, v := range b {
			a[i] = min(a[i], v)
		}
	case opMax:
		for i, v := range b {
			a[i] = max(a[i], v)
		}
	case opBinary:
		for i, v := range b {
			a[i] = in.binary(a[i], v)
		}
	case opLess:
		for i, v := range b {
			a[i] = truth(a[i] < v)
		}
	case opLessEqual:
		for i, v := range b {
			a[i] = truth(a[i] <= v)
		}
	case opEqual:
		for i, v := range b {
			a[i] = truth(a[i] == v)
		}
	}
}

func truth(c bool) float64 {
	if c {
		return 1
	}
	return 0
}
