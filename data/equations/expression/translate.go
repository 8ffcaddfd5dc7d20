package expression

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
)

// kind is the type of a subexpression.
type kind uint8

const (
	number kind = iota
	condition
)

// at is an error that points at a node of the syntax tree.
func at(tree ast.Node, format string, args ...any) error {
	return &file.Error{Location: tree.Location(), Message: fmt.Sprintf(format, args...)}
}

// want translates a subexpression that must have the kind.
func (g *graph) want(tree ast.Node, k kind) (id int, err error) {
	id, got, err := g.translate(tree)
	if err == nil && got != k {
		names := [...]string{number: "a number", condition: "a condition"}
		err = at(tree, "this is %s, want %s", names[got], names[k])
	}
	return id, err
}

// translate puts a syntax tree into the graph.
func (g *graph) translate(tree ast.Node) (id int, k kind, err error) {
	switch t := tree.(type) {
	case *ast.IntegerNode:
		return g.constant(float64(t.Value)), number, nil
	case *ast.FloatNode:
		return g.constant(t.Value), number, nil
	case *ast.BoolNode:
		return g.constant(truth(t.Value)), condition, nil
	case *ast.IdentifierNode:
		if k := slices.Index(g.variables, t.Value); k >= 0 {
			return g.node(node{op: opState, a: k}), number, nil
		}
		v, ok := environment[t.Value].(float64)
		if !ok {
			return 0, number, at(t, "%s is a function, it needs arguments", t.Value)
		}
		return g.constant(v), number, nil
	case *ast.UnaryNode:
		return g.unary(t)
	case *ast.BinaryNode:
		return g.operator(t)
	case *ast.ConditionalNode:
		return g.conditional(t)
	case *ast.CallNode:
		id, err = g.function(t)
		return id, number, err
	}
	return 0, number, at(tree, "formulas may not contain this")
}

func (g *graph) conditional(t *ast.ConditionalNode) (id int, k kind, err error) {
	test, err := g.want(t.Cond, condition)
	if err != nil {
		return 0, number, err
	}
	first, k, err := g.translate(t.Exp1)
	if err != nil {
		return 0, k, err
	}
	second, err := g.want(t.Exp2, k)
	if err != nil {
		return 0, k, err
	}
	return g.apply(opSelect, test, first, second), k, nil
}

func (g *graph) unary(t *ast.UnaryNode) (id int, k kind, err error) {
	switch t.Operator {
	case "+":
		id, err = g.want(t.Node, number)
		return id, number, err
	case "-":
		id, err = g.want(t.Node, number)
		if err != nil {
			return 0, number, err
		}
		return g.apply(opMultiply, g.constant(-1), id), number, nil
	case "not", "!":
		id, err = g.want(t.Node, condition)
		if err != nil {
			return 0, condition, err
		}
		return g.not(id), condition, nil
	}
	return 0, number, at(t, "formulas have no operator %s", t.Operator)
}

func (g *graph) not(id int) int { return g.apply(opSubtract, g.constant(1), id) }

// operators gives, for each operator, the kind of its operands, whether they are swapped,
// the operation, the kind of its result, and whether that is negated.
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

func (g *graph) operator(t *ast.BinaryNode) (id int, k kind, err error) {
	o, ok := operators[t.Operator]
	power := t.Operator == "^" || t.Operator == "**"
	if !ok && !power {
		return 0, number, at(t, "formulas have no operator %s", t.Operator)
	}
	left, err := g.want(t.Left, o.operands)
	if err != nil {
		return 0, o.result, err
	}
	right, err := g.want(t.Right, o.operands)
	if err != nil {
		return 0, o.result, err
	}
	if power {
		return g.power(left, right), number, nil
	}
	if o.swap {
		left, right = right, left
	}
	id = g.apply(o.op, left, right)
	if o.negate {
		id = g.not(id)
	}
	return id, o.result, nil
}

func (g *graph) function(t *ast.CallNode) (id int, err error) {
	callee, ok := t.Callee.(*ast.IdentifierNode)
	if !ok {
		return 0, at(t, "formulas may not contain this")
	}
	arguments := make([]int, len(t.Arguments))
	for i, a := range t.Arguments {
		if arguments[i], err = g.want(a, number); err != nil {
			return 0, err
		}
	}
	apply, least, most, err := g.named(t, callee.Value)
	if err != nil {
		return 0, err
	}
	if len(arguments) < least || len(arguments) > most {
		return 0, at(t, "%s needs arguments", callee.Value)
	}
	return apply(arguments...), nil
}

// named returns what a function does with nodes, and how many arguments it takes.
func (g *graph) named(t ast.Node, name string) (apply func(arguments ...int) int, least, most int, err error) {
	if op, ok := operations[name]; ok {
		return func(a ...int) int { return g.apply(op, a...) }, 1, 1, nil
	}
	switch environment[name].(type) {
	case func(float64) float64:
		return func(a ...int) int { return g.call(node{op: opUnary, function: name}, a...) }, 1, 1, nil
	case func(a, b float64) float64:
		if name == "pow" {
			return func(a ...int) int { return g.power(a[0], a[1]) }, 2, 2, nil
		}
		return func(a ...int) int { return g.call(node{op: opBinary, function: name}, a...) }, 2, 2, nil
	case func(...float64) float64:
		op := opMin
		if name == "max" {
			op = opMax
		}
		return func(a ...int) int {
			id := a[0]
			for _, next := range a[1:] {
				id = g.apply(op, id, next)
			}
			return id
		}, 1, maxNodes, nil
	}
	return nil, 0, 0, at(t, "%s is not a function", name)
}
