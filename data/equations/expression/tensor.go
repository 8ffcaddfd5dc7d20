package expression

import (
	"math"
	"slices"

	"github.com/expr-lang/expr/ast"
)

// tensor is a number, a vector or a matrix of subexpressions.
type tensor struct {
	kind kind  // of each component
	rows int   // 0: a number
	cols int   // 0: a vector, or a number
	ids  []int // nodes, row after row
}

func single(id int, k kind) tensor { return tensor{kind: k, ids: []int{id}} }

func (t tensor) shape() Shape {
	switch {
	case t.rows == 0:
		return Number
	case t.cols == 0:
		return Vector
	}
	return Matrix
}

// spatial translates formulas of a system into a graph. Every index is known then, so loops over
// components become sums of subexpressions, and what two components share is computed once.
type spatial struct {
	graph *graph
	dim   int
	names map[string]tensor // coordinates, parameters, and what loops count
	used  map[string]bool   // names in formulas
	seen  int               // parts of formulas, so far
}

// number translates a formula that must be a number or a vector or matrix of numbers.
func (s *spatial) number(tree ast.Node) (tensor, error) {
	t, err := s.translate(tree)
	if err == nil && t.kind != number {
		err = at(tree, "this is a condition, want a number")
	}
	return t, err
}

// scalar translates a formula that must be one number.
func (s *spatial) scalar(tree ast.Node) (int, error) {
	t, err := s.number(tree)
	if err == nil && t.rows > 0 {
		err = at(tree, "this is %s, want a number", t.shape().article())
	}
	if err != nil {
		return 0, err
	}
	return t.ids[0], nil
}

func (s *spatial) translate(tree ast.Node) (tensor, error) {
	if s.seen++; s.seen > maxVisits || len(s.graph.nodes) > maxOperations {
		return tensor{}, at(tree, "its loops and matrices are too large: at most %d operations", maxOperations)
	}
	switch t := tree.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		id, k, err := s.graph.translate(t)
		return single(id, k), err
	case *ast.IdentifierNode:
		if v, ok := s.names[t.Value]; ok {
			s.used[t.Value] = true
			return v, nil
		}
		if v, ok := environment[t.Value].(float64); ok {
			return single(s.graph.constant(v), number), nil
		}
		if _, ok := environment[t.Value]; ok || reductions[t.Value] != nil {
			return tensor{}, at(t, "%s is a function, it needs arguments", t.Value)
		}
		return tensor{}, at(t, "unknown name %s", t.Value)
	case *ast.UnaryNode:
		return s.unary(t)
	case *ast.BinaryNode:
		return s.binary(t)
	case *ast.ConditionalNode:
		return s.conditional(t)
	case *ast.MemberNode:
		return s.member(t)
	case *ast.CallNode:
		return s.call(t)
	}
	return tensor{}, at(tree, "formulas may not contain this")
}

func (s *spatial) unary(t *ast.UnaryNode) (tensor, error) {
	v, err := s.translate(t.Node)
	if err != nil {
		return v, err
	}
	want := number
	if t.Operator == "not" || t.Operator == "!" {
		want = condition
	}
	switch {
	case v.kind != want && want == number:
		return v, at(t, "this is a condition, want a number")
	case v.kind != want:
		return v, at(t, "this is a number, want a condition")
	}
	switch t.Operator {
	case "+":
		return v, nil
	case "-":
		return v.each(func(id int) int { return s.graph.apply(opMultiply, s.graph.constant(-1), id) }), nil
	case "not", "!":
		return v.each(s.graph.not), nil
	}
	return v, at(t, "formulas have no operator %s", t.Operator)
}

// each applies an operation to every component.
func (t tensor) each(f func(id int) int) tensor {
	ids := make([]int, len(t.ids))
	for i, id := range t.ids {
		ids[i] = f(id)
	}
	t.ids = ids
	return t
}

func (s *spatial) binary(t *ast.BinaryNode) (tensor, error) {
	o, known := operators[t.Operator]
	power, modulo := t.Operator == "^" || t.Operator == "**", t.Operator == "%"
	if !known && !power && !modulo {
		return tensor{}, at(t, "formulas have no operator %s", t.Operator)
	}
	left, err := s.translate(t.Left)
	if err != nil {
		return tensor{}, err
	}
	right, err := s.translate(t.Right)
	if err != nil {
		return tensor{}, err
	}
	if left.kind != o.operands || right.kind != o.operands {
		return tensor{}, at(t, "the operands of %s must be %s", t.Operator, [...]string{number: "numbers", condition: "conditions"}[o.operands])
	}
	if t.Operator == "*" && left.cols > 0 && right.rows > 0 {
		return s.product(left, right), nil
	}
	result, err := s.pairwise(t, left, right, func(a, b int) int {
		switch {
		case power:
			return s.graph.power(a, b)
		case modulo:
			return s.graph.modulo(a, b)
		case o.swap:
			a, b = b, a
		}
		id := s.graph.apply(o.op, a, b)
		if o.negate {
			id = s.graph.not(id)
		}
		return id
	})
	result.kind = o.result
	return result, err
}

// modulo is a − b·⌊a/b⌋, which has the sign of b.
func (g *graph) modulo(a, b int) int {
	whole := g.call(node{op: opUnary, function: "floor"}, g.apply(opDivide, a, b))
	return g.apply(opSubtract, a, g.apply(opMultiply, b, whole))
}

// pairwise applies an operation to the components of operands with the same shape, or to those of
// one and the number that the other is.
func (s *spatial) pairwise(tree ast.Node, a, b tensor, f func(a, b int) int) (tensor, error) {
	switch {
	case b.rows == 0:
		return a.each(func(id int) int { return f(id, b.ids[0]) }), nil
	case a.rows == 0:
		return b.each(func(id int) int { return f(a.ids[0], id) }), nil
	case a.shape() != b.shape():
		return a, at(tree, "%s and %s have no components in common", a.shape().article(), b.shape().article())
	}
	ids := slices.Clone(a.ids)
	for i := range ids {
		ids[i] = f(a.ids[i], b.ids[i])
	}
	a.ids = ids
	return a, nil
}

// product is that of a matrix and a vector or a matrix.
func (s *spatial) product(a, b tensor) tensor {
	columns := max(b.cols, 1)
	p := tensor{rows: a.rows, cols: b.cols}
	for r := range a.rows {
		for c := range columns {
			terms := make([]int, a.cols)
			for k := range terms {
				terms[k] = s.graph.apply(opMultiply, a.ids[r*a.cols+k], b.ids[k*columns+c])
			}
			p.ids = append(p.ids, s.sum(terms))
		}
	}
	return p
}

// sum adds in the order of the terms.
func (s *spatial) sum(terms []int) int {
	total := terms[0]
	for _, id := range terms[1:] {
		total = s.graph.apply(opAdd, total, id)
	}
	return total
}

// conditional leaves out the branch of a condition that is known, such as i == 0: it may have an
// index that no coordinate has.
func (s *spatial) conditional(t *ast.ConditionalNode) (tensor, error) {
	test, err := s.translate(t.Cond)
	if err != nil {
		return test, err
	}
	if test.kind != condition || test.rows > 0 {
		return test, at(t.Cond, "want one condition")
	}
	if v, known := s.graph.valueOf(test.ids[0]); known {
		if v != 0 {
			return s.translate(t.Exp1)
		}
		return s.translate(t.Exp2)
	}
	first, err := s.translate(t.Exp1)
	if err != nil {
		return first, err
	}
	second, err := s.translate(t.Exp2)
	if err != nil {
		return second, err
	}
	if first.kind != second.kind {
		return first, at(t, "one branch is a condition, and the other is not")
	}
	return s.pairwise(t, first, second, func(a, b int) int { return s.graph.apply(opSelect, test.ids[0], a, b) })
}

// member is a component of a vector, or a row of a matrix.
func (s *spatial) member(t *ast.MemberNode) (tensor, error) {
	of, err := s.translate(t.Node)
	if err != nil {
		return of, err
	}
	if of.rows == 0 {
		return of, at(t, "a number has no components")
	}
	id, err := s.scalar(t.Property)
	if err != nil {
		return of, err
	}
	v, known := s.graph.valueOf(id)
	switch {
	case !known || v != math.Trunc(v):
		return of, at(t.Property, "an index must be a whole number that does not depend on the state")
	case v < 0 || v >= float64(of.rows):
		return of, at(t.Property, "there is no component %g: they are 0 to %d, and [(…) %% dim] goes round", v, of.rows-1)
	}
	k := int(v)
	if of.cols == 0 {
		return single(of.ids[k], of.kind), nil
	}
	return tensor{kind: of.kind, rows: of.cols, ids: of.ids[k*of.cols : (k+1)*of.cols]}, nil
}
