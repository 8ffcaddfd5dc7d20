package expression

import "math"

// environment has the constants and functions of all formulas. The library checks types
// with it.
var environment = map[string]any{
	"pi": math.Pi, "e": math.E,
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

// operations are the functions with vector kernels. The others call the standard library
// for each state.
var operations = map[string]opcode{
	"abs": opAbs, "sqrt": opSqrt, "exp": opExp, "log": opLog, "sin": opSin, "cos": opCos, "tanh": opTanh,
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

// operands lists a node's operands.
func (n node) operands() []int {
	switch n.op {
	case opState, opConstant:
		return nil
	case opSelect:
		return []int{n.a, n.b, n.c}
	case opAbs, opSqrt, opExp, opLog, opSin, opCos, opTanh, opUnary:
		return []int{n.a}
	}
	return []int{n.a, n.b}
}
