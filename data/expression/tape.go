package expression

import (
	"fmt"
	"math"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
)

// block is how many states an instruction works on.
const block = 64

// opcode is what an instruction does to the top of a stack of blocks.
type opcode uint8

const (
	opState    opcode = iota // push x
	opConstant               // push value
	opNegate                 // a ← −a
	opSqrt
	opPower  // a ← aⁿ, n = 2..4, by multiplication
	opInvert // a ← 1/a
	opUnary  // a ← f(a)
	opShift  // a ← a + value
	opScale  // a ← a·value
	opAdd    // a, b → a + b, and so on
	opSubtract
	opMultiply
	opDivide
	opMin
	opMax
	opBinary // a ← g(a, b)
	opLess   // 1 if a < b, else 0, and so on
	opLessEqual
	opEqual
	opNot
	opSelect // condition, a, b → a where the condition is not 0, else b
)

type instruction struct {
	op     opcode
	value  float64
	n      int
	unary  func(float64) float64
	binary func(a, b float64) float64
}

// kind is the type of a subexpression. Conditions are 0 or 1 on the stack.
type kind uint8

const (
	number kind = iota
	condition
)

// taper translates a syntax tree into postfix order.
type taper struct {
	tape          []instruction
	height, depth int
}

// add appends an instruction that changes the height of the stack. Sums and
// products with a constant on top of the stack take it into the instruction.
func (t *taper) add(in instruction, change int) {
	if last := len(t.tape) - 1; last >= 0 && t.tape[last].op == opConstant {
		value := t.tape[last].value
		switch in.op {
		case opAdd:
			t.tape[last] = instruction{op: opShift, value: value}
			t.height--
			return
		case opSubtract:
			t.tape[last] = instruction{op: opShift, value: -value}
			t.height--
			return
		case opMultiply:
			t.tape[last] = instruction{op: opScale, value: value}
			t.height--
			return
		}
	}
	t.tape = append(t.tape, in)
	t.height += change
	t.depth = max(t.depth, t.height)
}

// at is an error that points at a node.
func at(node ast.Node, format string, args ...any) error {
	return &file.Error{Location: node.Location(), Message: fmt.Sprintf(format, args...)}
}

// want emits a subexpression that must have the kind.
func (t *taper) want(node ast.Node, k kind) error {
	got, err := t.emit(node)
	if err == nil && got != k {
		names := [...]string{number: "a number", condition: "a condition"}
		err = at(node, "this is %s, want %s", names[got], names[k])
	}
	return err
}

// emit translates a subexpression, leaving its value on top of the stack. What
// does not depend on x is computed here and now.
func (t *taper) emit(node ast.Node) (kind, error) {
	start, height := len(t.tape), t.height
	k, err := t.node(node)
	if err != nil || len(t.tape) == start+1 || t.dependsOnState(start) {
		return k, err
	}
	stack := make([]float64, (t.depth-height)*block)
	run(t.tape[start:], stack, []float64{0})
	t.tape = append(t.tape[:start], instruction{op: opConstant, value: stack[0]})
	return k, nil
}

// dependsOnState reports whether the tape pushes x from start on.
func (t *taper) dependsOnState(start int) bool {
	return slices.ContainsFunc(t.tape[start:], func(in instruction) bool { return in.op == opState })
}

func (t *taper) node(node ast.Node) (kind, error) {
	switch n := node.(type) {
	case *ast.IntegerNode:
		t.add(instruction{op: opConstant, value: float64(n.Value)}, 1)
	case *ast.FloatNode:
		t.add(instruction{op: opConstant, value: n.Value}, 1)
	case *ast.BoolNode:
		var v float64
		if n.Value {
			v = 1
		}
		t.add(instruction{op: opConstant, value: v}, 1)
		return condition, nil
	case *ast.IdentifierNode:
		if n.Value == "x" {
			t.add(instruction{op: opState}, 1)
			return number, nil
		}
		v, ok := environment[n.Value].(float64)
		if !ok {
			return number, at(n, "%s is a function, it needs arguments", n.Value)
		}
		t.add(instruction{op: opConstant, value: v}, 1)
	case *ast.UnaryNode:
		return t.unary(n)
	case *ast.BinaryNode:
		return t.operator(n)
	case *ast.ConditionalNode:
		if err := t.want(n.Cond, condition); err != nil {
			return number, err
		}
		k, err := t.emit(n.Exp1)
		if err != nil {
			return k, err
		}
		if err := t.want(n.Exp2, k); err != nil {
			return k, err
		}
		t.add(instruction{op: opSelect}, -2)
		return k, nil
	case *ast.CallNode:
		return number, t.call(n)
	default:
		return number, at(node, "formulas may not contain this")
	}
	return number, nil
}

func (t *taper) unary(n *ast.UnaryNode) (kind, error) {
	switch n.Operator {
	case "+":
		return number, t.want(n.Node, number)
	case "-":
		err := t.want(n.Node, number)
		t.add(instruction{op: opNegate}, 0)
		return number, err
	case "not", "!":
		err := t.want(n.Node, condition)
		t.add(instruction{op: opNot}, 0)
		return condition, err
	}
	return number, at(n, "formulas have no operator %s", n.Operator)
}

// operators says how an operator is computed: its operands' kind, whether they
// change places, the instruction, its result and whether that is negated.
var operators = map[string]struct {
	operands kind
	swap     bool
	op       opcode
	result   kind
	negate   bool
}{
	"+":   {op: opAdd},
	"-":   {op: opSubtract},
	"*":   {op: opMultiply},
	"/":   {op: opDivide},
	"<":   {op: opLess, result: condition},
	"<=":  {op: opLessEqual, result: condition},
	">":   {op: opLess, result: condition, swap: true},
	">=":  {op: opLessEqual, result: condition, swap: true},
	"==":  {op: opEqual, result: condition},
	"!=":  {op: opEqual, result: condition, negate: true},
	"and": {operands: condition, op: opMin, result: condition},
	"&&":  {operands: condition, op: opMin, result: condition},
	"or":  {operands: condition, op: opMax, result: condition},
	"||":  {operands: condition, op: opMax, result: condition},
}

func (t *taper) operator(n *ast.BinaryNode) (kind, error) {
	if n.Operator == "^" || n.Operator == "**" {
		return number, t.power(n)
	}
	o, ok := operators[n.Operator]
	if !ok {
		return number, at(n, "formulas have no operator %s", n.Operator)
	}
	left, right := n.Left, n.Right
	if o.swap {
		left, right = right, left
	}
	start := len(t.tape)
	if err := t.want(left, o.operands); err != nil {
		return o.result, err
	}
	if (o.op == opAdd || o.op == opMultiply) && !t.dependsOnState(start) {
		// A constant commutes to the top of the stack, from where add takes it.
		c := t.tape[start]
		t.tape, t.height = t.tape[:start], t.height-1
		if err := t.want(right, o.operands); err != nil {
			return o.result, err
		}
		t.add(c, 1)
		t.add(instruction{op: o.op}, -1)
		return o.result, nil
	}
	if err := t.want(right, o.operands); err != nil {
		return o.result, err
	}
	t.add(instruction{op: o.op}, -1)
	if o.negate {
		t.add(instruction{op: opNot}, 0)
	}
	return o.result, nil
}

// power translates a^b, small constant exponents into multiplications.
func (t *taper) power(n *ast.BinaryNode) error {
	if err := t.want(n.Left, number); err != nil {
		return err
	}
	if v, ok := constant(n.Right); ok && v == math.Trunc(v) && math.Abs(v) >= 1 && math.Abs(v) <= 4 {
		if m := int(math.Abs(v)); m > 1 {
			t.add(instruction{op: opPower, n: m}, 0)
		}
		if v < 0 {
			t.add(instruction{op: opInvert}, 0)
		}
		return nil
	}
	if err := t.want(n.Right, number); err != nil {
		return err
	}
	t.add(instruction{op: opBinary, binary: math.Pow}, -1)
	return nil
}

// constant reads a literal with an optional sign.
func constant(node ast.Node) (float64, bool) {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return float64(n.Value), true
	case *ast.FloatNode:
		return n.Value, true
	case *ast.UnaryNode:
		v, ok := constant(n.Node)
		switch n.Operator {
		case "-":
			return -v, ok
		case "+":
			return v, ok
		}
	}
	return 0, false
}

func (t *taper) call(n *ast.CallNode) error {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return at(n, "formulas may not contain this")
	}
	for _, a := range n.Arguments {
		if err := t.want(a, number); err != nil {
			return err
		}
	}
	switch f := environment[callee.Value].(type) {
	case func(float64) float64:
		if callee.Value == "sqrt" {
			t.add(instruction{op: opSqrt}, 0)
		} else {
			t.add(instruction{op: opUnary, unary: f}, 0)
		}
	case func(a, b float64) float64:
		t.add(instruction{op: opBinary, binary: f}, -1)
	case func(...float64) float64:
		if len(n.Arguments) == 0 {
			return at(n, "%s needs arguments", callee.Value)
		}
		op := opMin
		if callee.Value == "max" {
			op = opMax
		}
		for range len(n.Arguments) - 1 {
			t.add(instruction{op: op}, -1)
		}
	default:
		return at(n, "%s is not a function", callee.Value)
	}
	return nil
}
