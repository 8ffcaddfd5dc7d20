package expression

import (
	"fmt"
	"maps"

	"github.com/expr-lang/expr/ast"
)

// maxVariables bounds a formula's variables.
const maxVariables = 64

// scope is the environment and the variables.
func scope(variables []string) (map[string]any, error) {
	if len(variables) > maxVariables {
		return nil, fmt.Errorf("%w: it has %d variables, must be at most %d", ErrSyntax, len(variables), maxVariables)
	}
	names := maps.Clone(environment)
	for _, v := range variables {
		if _, taken := names[v]; taken {
			return nil, fmt.Errorf("%w: %q cannot name a variable: it has a meaning already", ErrSyntax, v)
		}
		if !isName(v) {
			return nil, fmt.Errorf("%w: %q cannot name a variable: must be letters, digits and underscores, and not a keyword", ErrSyntax, v)
		}
		names[v] = 0.0
	}
	return names, nil
}

// keywords are those of the parser.
var keywords = map[string]bool{
	"and": true, "or": true, "not": true, "in": true, "let": true, "if": true, "else": true, "nil": true,
	"true": true, "false": true, "contains": true, "matches": true, "startsWith": true, "endsWith": true,
}

func isName(v string) bool {
	for i, r := range v {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return v != "" && !keywords[v]
}

// Uses reports whether the formula names the variable.
func (e *Expression) Uses(variable string) bool {
	finder := nameFinder{name: variable}
	ast.Walk(&e.tree, &finder)
	return finder.found
}

type nameFinder struct {
	name  string
	found bool
}

func (f *nameFinder) Visit(node *ast.Node) {
	if identifier, ok := (*node).(*ast.IdentifierNode); ok && identifier.Value == f.name {
		f.found = true
	}
}

// EvalIn writes the formula's values into dst. variables has, for each variable, as many
// values as dst, or one for all.
func (e *Expression) EvalIn(dst []float64, variables ...[]float64) {
	if len(variables) != len(e.variables) {
		panic(fmt.Sprintf("expression: %d variables for a formula in %d", len(variables), len(e.variables)))
	}
	in := e.bind()
	defer e.bound.Put(in)
	for k, values := range variables {
		switch len(values) {
		case 1:
			for i := range in.blocks[k] {
				in.blocks[k][i] = values[0]
			}
		case len(dst):
		default:
			panic(fmt.Sprintf("expression: %d values of %s for %d results", len(values), e.variables[k], len(dst)))
		}
	}
	for first := 0; first < len(dst); first += Lanes {
		n := min(Lanes, len(dst)-first)
		for k, values := range variables {
			if len(values) > 1 {
				copy(in.blocks[k][:n], values[first:])
			}
		}
		in.run(n)
		copy(dst[first:][:n], in.outputs[0][:n])
	}
}

// boundIn is a machine of a formula with the blocks of its variables.
type boundIn struct {
	*machine
	blocks []block
}

// bind takes a machine that is not in use, or makes one.
func (e *Expression) bind() *boundIn {
	if in, ok := e.bound.Get().(*boundIn); ok {
		return in
	}
	in := &boundIn{blocks: make([]block, len(e.variables))}
	places := make([]*block, len(e.variables))
	for k := range places {
		places[k] = &in.blocks[k]
	}
	in.machine = e.program.bind(sets[0].kernels, places...)
	return in
}
