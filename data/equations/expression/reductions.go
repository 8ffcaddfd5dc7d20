package expression

import (
	"github.com/expr-lang/expr/ast"
)

// reductions are the functions of vectors and matrices.
var reductions = map[string]func(s *spatial, t *ast.CallNode, v tensor) (tensor, error){
	"sum":       (*spatial).sumOf,
	"mean":      (*spatial).meanOf,
	"norm":      (*spatial).normOf,
	"transpose": (*spatial).transposeOf,
}

// call translates sum(i, f), which counts a name, dot(a, b), the reductions, and functions of
// numbers, which take vectors component by component.
func (s *spatial) call(t *ast.CallNode) (tensor, error) {
	callee, ok := t.Callee.(*ast.IdentifierNode)
	if !ok {
		return tensor{}, at(t, "formulas may not contain this")
	}
	if callee.Value == "sum" && len(t.Arguments) == 2 {
		return s.loop(t)
	}
	arguments := make([]tensor, len(t.Arguments))
	for k, a := range t.Arguments {
		var err error
		if arguments[k], err = s.number(a); err != nil {
			return tensor{}, err
		}
	}
	if callee.Value == "dot" {
		if len(arguments) != 2 || arguments[0].shape() != Vector || arguments[1].shape() != Vector {
			return tensor{}, at(t, "dot needs two vectors")
		}
		products, err := s.pairwise(t, arguments[0], arguments[1], func(a, b int) int { return s.graph.apply(opMultiply, a, b) })
		return s.summed(products), err
	}
	if f := reductions[callee.Value]; f != nil {
		if len(arguments) != 1 {
			return tensor{}, at(t, "%s needs one argument", callee.Value)
		}
		return f(s, t, arguments[0])
	}
	return s.components(t, callee.Value, arguments)
}

// loop is sum(j, f): the sum of f over j = 0 … dim − 1.
func (s *spatial) loop(t *ast.CallNode) (tensor, error) {
	counter, ok := t.Arguments[0].(*ast.IdentifierNode)
	if !ok {
		return tensor{}, at(t.Arguments[0], "want a name that counts the components, as in sum(j, x[j])")
	}
	name := counter.Value
	if _, taken := s.names[name]; taken || environment[name] != nil || reductions[name] != nil || !isName(name) {
		return tensor{}, at(counter, "%s has a meaning already: let another name count", name)
	}
	defer delete(s.names, name)
	var total tensor
	for k := range s.dim {
		s.names[name] = single(s.graph.constant(float64(k)), number)
		term, err := s.number(t.Arguments[1])
		if err != nil {
			return term, err
		}
		if k == 0 {
			total = term
			continue
		}
		if total, err = s.pairwise(t, total, term, func(a, b int) int { return s.graph.apply(opAdd, a, b) }); err != nil {
			return total, err
		}
	}
	return total, nil
}

func (s *spatial) summed(v tensor) tensor { return single(s.sum(v.ids), number) }

func (s *spatial) sumOf(t *ast.CallNode, v tensor) (tensor, error) {
	if v.rows == 0 {
		return v, at(t, "sum needs a vector, or a name that counts as in sum(j, x[j])")
	}
	return s.summed(v), nil
}

func (s *spatial) meanOf(t *ast.CallNode, v tensor) (tensor, error) {
	if v.rows == 0 {
		return v, at(t, "mean needs a vector")
	}
	n := s.graph.constant(float64(len(v.ids)))
	return single(s.graph.apply(opDivide, s.sum(v.ids), n), number), nil
}

// normOf is the Euclidean norm.
func (s *spatial) normOf(t *ast.CallNode, v tensor) (tensor, error) {
	if v.shape() != Vector {
		return v, at(t, "norm needs a vector")
	}
	squares := v.each(func(id int) int { return s.graph.apply(opMultiply, id, id) })
	return single(s.graph.apply(opSqrt, s.sum(squares.ids)), number), nil
}

func (s *spatial) transposeOf(t *ast.CallNode, v tensor) (tensor, error) {
	if v.shape() != Matrix {
		return v, at(t, "transpose needs a matrix")
	}
	turned := tensor{kind: v.kind, rows: v.cols, cols: v.rows, ids: make([]int, len(v.ids))}
	for r := range v.rows {
		for c := range v.cols {
			turned.ids[c*v.rows+r] = v.ids[r*v.cols+c]
		}
	}
	return turned, nil
}

// components applies a function of numbers to every component of its arguments.
func (s *spatial) components(t *ast.CallNode, name string, arguments []tensor) (tensor, error) {
	apply, least, most, err := s.graph.named(t, name)
	if err != nil {
		return tensor{}, err
	}
	if len(arguments) < least || len(arguments) > most {
		return tensor{}, at(t, "%s has %d arguments", name, len(arguments))
	}
	if len(arguments) == 1 {
		return arguments[0].each(func(id int) int { return apply(id) }), nil
	}
	result := arguments[0]
	if most == 2 {
		return s.pairwise(t, arguments[0], arguments[1], func(a, b int) int { return apply(a, b) })
	}
	for _, next := range arguments[1:] {
		if result, err = s.pairwise(t, result, next, func(a, b int) int { return apply(a, b) }); err != nil {
			break
		}
	}
	return result, err
}
