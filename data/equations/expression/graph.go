package expression

import "math"

// opcode is what a node computes from its operands a, b and c. Conditions are
// 1 where true and 0 where false.
type opcode uint8

const (
	opState    opcode = iota // variable number a
	opConstant               // value
	opAdd                    // a + b, and so on
	opSubtract
	opMultiply
	opDivide
	opMin
	opMax
	opLess // a < b, and so on
	opLessEqual
	opEqual
	opSelect // b where a is not 0, else c
	opAbs
	opSqrt
	opExp
	opLog
	opSin
	opCos
	opTanh
	opUnary  // function(a)
	opBinary // function(a, b)
	opcodes
)

// node is one subexpression. Its operands are nodes of lower number.
type node struct {
	op       opcode
	a, b, c  int
	value    uint64 // bits of a constant
	function string // of opUnary and opBinary, a name in environment
}

// graph contains every distinct subexpression of one or more formulas in the same
// variables once.
type graph struct {
	variables []string
	// states is how many of the variables, the first ones, change while a program is bound. What
	// depends on the others alone is computed once.
	states int
	nodes  []node
	known  map[node]int
}

func newGraph(variables ...string) *graph {
	return &graph{variables: variables, states: len(variables), known: map[node]int{}}
}

// node returns the number of a node, new or known.
func (g *graph) node(n node) int {
	id, ok := g.known[n]
	if !ok {
		id = len(g.nodes)
		g.nodes = append(g.nodes, n)
		g.known[n] = id
	}
	return id
}

func (g *graph) constant(v float64) int {
	return g.node(node{op: opConstant, value: math.Float64bits(v)})
}

// valueOf returns the value of a constant node.
func (g *graph) valueOf(id int) (v float64, ok bool) {
	n := g.nodes[id]
	return math.Float64frombits(n.value), n.op == opConstant
}

// apply returns the node of an operation. It evaluates constant subexpressions, and makes
// no change that would alter a result.
func (g *graph) apply(op opcode, operands ...int) int {
	return g.call(node{op: op}, operands...)
}

// call is apply with a function's name in the node.
func (g *graph) call(n node, operands ...int) int {
	var values [3]block
	constant := true
	for i, id := range operands {
		v, ok := g.valueOf(id)
		values[i][0] = v
		constant = constant && ok
		*[...]*int{&n.a, &n.b, &n.c}[i] = id
	}
	if constant {
		n.kernel(plain)(&values[0], &values[0], &values[1], &values[2], 1)
		return g.constant(values[0][0])
	}
	if n.op == opDivide {
		// A product takes a fraction of a quotient's time, and is equal if the
		// divisor's reciprocal is exact.
		if v, ok := g.valueOf(n.b); ok && exactReciprocal(v) {
			n.op, n.b = opMultiply, g.constant(1/v)
		}
	}
	return g.node(n)
}

// exactReciprocal reports powers of two whose reciprocal is a normal number too.
func exactReciprocal(v float64) bool {
	fraction, exponent := math.Frexp(v)
	return math.Abs(fraction) == 0.5 && -1000 < exponent && exponent < 1000
}

// maxPower is the largest exponent that is computed by multiplications.
const maxPower = 16

// power returns a^b. Small integers become multiplications, ½ a square root.
func (g *graph) power(a, b int) int {
	v, ok := g.valueOf(b)
	switch n := math.Abs(v); {
	case ok && v == 0.5:
		return g.apply(opSqrt, a)
	case ok && n == math.Trunc(n) && 1 <= n && n <= maxPower:
		p := g.repeated(a, int(n))
		if v < 0 {
			p = g.apply(opDivide, g.constant(1), p)
		}
		return p
	}
	return g.call(node{op: opBinary, function: "pow"}, a, b)
}

// repeated returns aⁿ: the square of a^⌊n/2⌋, times a if n is odd.
func (g *graph) repeated(a, n int) int {
	if n == 1 {
		return a
	}
	half := g.repeated(a, n/2)
	p := g.apply(opMultiply, half, half)
	if n%2 == 1 {
		p = g.apply(opMultiply, p, a)
	}
	return p
}
