package expression

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// Parameters are the values of names in formulas, beside the variables.
type Parameters map[string]float64

// ErrParameter means that the value of a parameter cannot be read.
var ErrParameter = errors.New("not a parameter")

// ParseParameters reads assignments such as theta=2 or a=sqrt(2). Values are formulas without
// variables.
func ParseParameters(assignments []string) (Parameters, error) {
	p := Parameters{}
	for _, text := range assignments {
		name, value, found := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		if !found {
			return nil, fmt.Errorf("%w: %.60q, must be NAME=VALUE", ErrParameter, text)
		}
		if _, twice := p[name]; twice {
			return nil, fmt.Errorf("%w: %s has two values", ErrParameter, name)
		}
		if _, err := scope([]string{name}); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrParameter, err)
		}
		e, err := CompileIn(value)
		if err != nil {
			return nil, fmt.Errorf("%w: %.60s: %w", ErrParameter, name, err)
		}
		result := []float64{0}
		e.EvalIn(result)
		if math.IsNaN(result[0]) || math.IsInf(result[0], 0) {
			return nil, fmt.Errorf("%w: %.60s is %v", ErrParameter, name, result[0])
		}
		p[name] = result[0]
	}
	return p, nil
}

// Names are the names of the parameters, in order.
func (p Parameters) Names() []string { return slices.Sorted(maps.Keys(p)) }

// Compile is CompileIn with the parameters' values in place of their names. String of the
// formula is as it was written.
func (p Parameters) Compile(source string, variables ...string) (*Expression, error) {
	for _, v := range variables {
		if _, taken := p[v]; taken {
			return nil, fmt.Errorf("%w: %s is a variable of the formula", ErrParameter, v)
		}
	}
	names := append(slices.Clone(variables), p.Names()...)
	e, err := CompileIn(source, names...)
	if err != nil {
		return nil, err
	}
	if len(p) > 0 {
		ast.Walk(&e.tree, p)
		e.variables = variables
		g := newGraph(variables...)
		e.program = g.compile(e.add(g))
	}
	return e, nil
}

// Visit puts the value in place of a parameter's name.
func (p Parameters) Visit(node *ast.Node) {
	name, ok := (*node).(*ast.IdentifierNode)
	if !ok {
		return
	}
	if v, ok := p[name.Value]; ok {
		ast.Patch(node, &ast.FloatNode{Value: v})
	}
}

// UnknownNameError is a formula with a name that is none of the Known values, and no function.
type UnknownNameError struct {
	Name  string
	Known []string
	Err   error
}

func (e *UnknownNameError) Error() string { return e.Err.Error() }

// Unwrap gives the error of the formula.
func (e *UnknownNameError) Unwrap() error { return e.Err }

// about tells an unknown name from other faults of a formula, by the library's message.
func about(err error, message string, variables []string) error {
	name, found := strings.CutPrefix(message, "unknown name ")
	if !found || strings.ContainsAny(name, " :") {
		return err
	}
	return &UnknownNameError{name, append(slices.Clone(variables), "pi", "e"), err}
}
