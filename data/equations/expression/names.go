package expression

// A Name is a function, a constant or an operator of formulas.
type Name struct {
	// Name is as formulas have it, such as tanh, pi or <=.
	Name string
	// Form shows how it is written.
	Form    string
	Meaning string
	Kind    NameKind
}

// NameKind tells functions from constants and operators.
type NameKind string

// Kinds of names.
const (
	Function NameKind = "function"
	Constant NameKind = "constant"
	Operator NameKind = "operator"
)

// SystemNames are what formulas of a System may have besides Names.
func SystemNames() []Name {
	return []Name{
		{"x", "x[2], x2", "coordinate 2 of the vector x, counted from 0", Constant},
		{"i", "-x[i]^3", "i is the coordinate, where one formula is for all", Constant},
		{"dim", "dim", "the number of coordinates", Constant},
		{"%", "x[(i-1) % dim]", "the remainder, which goes round", Operator},
		{"sum", "sum(v)", "sum of the components; mean(v), norm(v) as well", Function},
		{"sum", "sum(j, x[j]^2)", "sum over j = 0 ... dim - 1", Function},
		{"dot", "dot(v, w)", "scalar product", Function},
		{"*", "A*x", "product, of a matrix parameter and a vector", Operator},
		{"transpose", "transpose(A)", "the matrix with rows and columns exchanged", Function},
	}
}

// Names are all that formulas may have besides numbers, parentheses, variables and parameters:
// operators, the weakest last, then constants and functions.
func Names() []Name {
	return []Name{
		{"^", "x^a", "x to the power a, above the sign: -x^2 is -(x^2); also x**a", Operator},
		{"*", "a*b", "product", Operator},
		{"/", "a/b", "quotient", Operator},
		{"+", "a + b", "sum", Operator},
		{"-", "a - b", "difference, and the sign of -x", Operator},
		{"<", "a < b", "comparison: less; also <=, >, >=", Operator},
		{"==", "a == b", "comparison: equal; != is not equal", Operator},
		{"not", "not p", "the condition p does not hold; also !p", Operator},
		{"and", "p and q", "both conditions hold; also &&", Operator},
		{"or", "p or q", "one of the conditions holds; also ||", Operator},
		{"?", "x > 0 ? a : b", "a where the condition holds, else b", Operator},
		{"pi", "pi", "3.14159…", Constant},
		{"e", "e", "2.71828…", Constant},
		{"abs", "abs(x)", "absolute value", Function},
		{"acos", "acos(x)", "inverse cosine, 0 to pi", Function},
		{"asin", "asin(x)", "inverse sine, -pi/2 to pi/2", Function},
		{"atan", "atan(x)", "inverse tangent, -pi/2 to pi/2", Function},
		{"atan2", "atan2(y, x)", "angle of the point (x, y), -pi to pi", Function},
		{"cbrt", "cbrt(x)", "cube root, also of negative numbers", Function},
		{"ceil", "ceil(x)", "least whole number that is not below x", Function},
		{"cos", "cos(x)", "cosine of x in radians", Function},
		{"cosh", "cosh(x)", "hyperbolic cosine", Function},
		{"erf", "erf(x)", "error function", Function},
		{"exp", "exp(x)", "e to the power x", Function},
		{"floor", "floor(x)", "largest whole number that is not above x", Function},
		{"log", "log(x)", "natural logarithm", Function},
		{"log10", "log10(x)", "logarithm to base 10", Function},
		{"log2", "log2(x)", "logarithm to base 2", Function},
		{"max", "max(x, a)", "largest of one or more numbers", Function},
		{"min", "min(x, a)", "least of one or more numbers", Function},
		{"pow", "pow(x, a)", "x^a", Function},
		{"sign", "sign(x)", "-1, 0 or 1", Function},
		{"sin", "sin(x)", "sine of x in radians", Function},
		{"sinh", "sinh(x)", "hyperbolic sine", Function},
		{"sqrt", "sqrt(x)", "square root", Function},
		{"tan", "tan(x)", "tangent of x in radians", Function},
		{"tanh", "tanh(x)", "hyperbolic tangent", Function},
	}
}
