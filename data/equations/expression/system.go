package expression

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Shape is that of a parameter of a System of dim coordinates.
type Shape int

// Shapes of parameters.
const (
	Number Shape = iota
	Vector       // dim numbers
	Matrix       // dim² numbers, row after row
)

// Size is how many numbers a parameter of the shape has.
func (s Shape) Size(dim int) int { return [...]int{Number: 1, Vector: dim, Matrix: dim * dim}[s] }

func (s Shape) article() string {
	return [...]string{Number: "a number", Vector: "a vector", Matrix: "a matrix"}[s]
}

const (
	// MaxDim bounds the coordinates of a System.
	MaxDim = 64
	// maxOperations bounds what a System computes at a state, and maxVisits how often the
	// translation looks at a part of a formula: loops within loops repeat it.
	maxOperations = 1 << 18
	maxVisits     = 1 << 21
)

// System is dX = b(X)dt + S(X)dW in several coordinates, by formulas. It is safe for concurrent
// use.
//
// Formulas have the names x, the vector of the coordinates, x0, x1, … for these, dim for their
// number, and parameters, which are numbers, vectors or matrices. x[k] is a component of a
// vector, and A[k] a row of a matrix, counted from 0. Operators and functions work on vectors
// component by component, but A*x is the product of a matrix and a vector or another matrix.
// sum(v), mean(v), norm(v), dot(v, w) and transpose(A) are what they are called; sum(j, f) is the
// sum of f over j = 0 … dim − 1. a % b has the sign of b, so x[(i - 1) % dim] goes round.
//
// A drift is dim formulas, or one for all: a vector, or the number that component i has, where i
// is the name of the component. A diffusion is one number for σ·I, dim for a diagonal or dim² for
// a matrix, row after row, in the same ways.
type System struct {
	Dim   int
	Terms int // numbers of the diffusion: 1, Dim or Dim²
	Noise sde.Noise

	parameters []string // in the order of their names
	shapes     map[string]Shape
	used       map[string]bool
	program    *program
}

// CompileSystem reads the formulas of a system. Errors are ErrSyntax and point at the position.
func CompileSystem(dim int, drift, diffusion []string, parameters map[string]Shape) (*System, error) {
	if dim < 1 || dim > MaxDim {
		return nil, fmt.Errorf("%w: %d coordinates, must be 1 to %d", ErrSyntax, dim, MaxDim)
	}
	s := &System{Dim: dim, parameters: slices.Sorted(maps.Keys(parameters)), shapes: parameters, used: make(map[string]bool)}
	scope, err := s.scope()
	if err != nil {
		return nil, err
	}
	b, err := scope.part("drift", drift)
	if err != nil {
		return nil, err
	}
	if len(b) != dim {
		return nil, &PartError{"drift", fmt.Errorf("%w: it has %d components in %d dimensions: write %d formulas, or one with x[i]", ErrSyntax, len(b), dim, dim)}
	}
	sigma, err := scope.part("diffusion", diffusion)
	if err != nil {
		return nil, err
	}
	if s.Terms = len(sigma); s.Terms != 1 && s.Terms != dim && s.Terms != dim*dim {
		return nil, &PartError{"diffusion", fmt.Errorf("%w: it has %d components in %d dimensions: must be 1, %d or %d", ErrSyntax, s.Terms, dim, dim, dim*dim)}
	}
	g := scope.graph
	outputs := slices.Concat(b, sigma)
	for k, id := range outputs {
		if g.nodes[id].op == opState { // a step writes the state before it has read all of the drift
			outputs[k] = g.node(node{op: opMultiply, a: id, b: g.constant(1)})
		}
	}
	s.program, s.Noise = g.compile(outputs...), g.noise(sigma, dim)
	return s, nil
}

// PartError is an error of the drift or of the diffusion.
type PartError struct {
	Part string // drift or diffusion
	Err  error
}

func (e *PartError) Error() string { return e.Part + ": " + e.Err.Error() }

// Unwrap gives the error itself.
func (e *PartError) Unwrap() error { return e.Err }

// scope has the names of the formulas.
func (s *System) scope() (*spatial, error) {
	var variables []string
	names := make(map[string]tensor)
	add := func(name string, size, rows, cols int) {
		t := tensor{rows: rows, cols: cols}
		for k := range size {
			t.ids = append(t.ids, len(variables)+k)
		}
		for range size {
			variables = append(variables, name)
		}
		names[name] = t
	}
	add("x", s.Dim, s.Dim, 0)
	for k := range s.Dim {
		names["x"+strconv.Itoa(k)] = tensor{ids: []int{k}}
	}
	for _, name := range s.parameters {
		if _, taken := names[name]; taken || name == "i" || name == "dim" || environment[name] != nil || reductions[name] != nil || name == "dot" {
			return nil, fmt.Errorf("%w: %q cannot name a parameter: it has a meaning already", ErrSyntax, name)
		}
		if !isName(name) {
			return nil, fmt.Errorf("%w: %q cannot name a parameter: must be letters, digits and underscores, and not a keyword", ErrSyntax, name)
		}
		shape := s.shapes[name]
		rows, cols := [...]int{0, s.Dim, s.Dim}[shape], [...]int{0, 0, s.Dim}[shape]
		add(name, shape.Size(s.Dim), rows, cols)
	}
	g := newGraph(variables...)
	g.states = s.Dim
	for k := range variables { // nodes with the numbers that the tensors have
		g.node(node{op: opState, a: k})
	}
	names["dim"] = single(g.constant(float64(s.Dim)), number)
	return &spatial{graph: g, dim: s.Dim, names: names, used: s.used}, nil
}

// part translates the formulas of a drift or a diffusion into its components.
func (s *spatial) part(name string, sources []string) (ids []int, err error) {
	rows := max(len(sources)/max(s.dim, 1), 1) // a row of a full matrix has as many formulas
	for k, source := range sources {
		failed := func(err error) error {
			if len(sources) > 1 {
				err = fmt.Errorf("formula %d: %w", k, err)
			}
			return &PartError{name, err}
		}
		tree, err := parse(source)
		if err != nil {
			return nil, failed(err)
		}
		component := -1 // of all
		if len(sources) > 1 {
			if component = k; len(sources) > s.dim {
				component = k / rows
			}
		}
		components, err := s.formula(tree, component)
		if err != nil {
			return nil, failed(syntaxError(source, s.variables(), err))
		}
		ids = append(ids, components...)
	}
	return ids, nil
}

// variables are the names that the formulas have, for errors.
func (s *spatial) variables() []string { return slices.Sorted(maps.Keys(s.names)) }

// formula translates one formula: of a component, or of all of them.
func (s *spatial) formula(tree ast.Node, component int) ([]int, error) {
	defer delete(s.names, "i")
	finder := nameFinder{name: "i"}
	ast.Walk(&tree, &finder)
	switch {
	case component >= 0:
		s.names["i"] = single(s.graph.constant(float64(component)), number)
		id, err := s.scalar(tree)
		return []int{id}, err
	case !finder.found:
		t, err := s.number(tree)
		return t.ids, err
	}
	var ids []int
	for k := range s.dim {
		s.names["i"] = single(s.graph.constant(float64(k)), number)
		id, err := s.scalar(tree)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// ourSum tells the parser that sum is not its own function, whose arguments are others. It is never called.
var ourSum = expr.Function("sum", func(...any) (any, error) { return nil, ErrSyntax })

// parse reads a formula of a system.
func parse(source string) (ast.Node, error) {
	if len(source) > MaxLength {
		return nil, fmt.Errorf("%w: it has %d bytes, must be at most %d", ErrSyntax, len(source), MaxLength)
	}
	if strings.TrimSpace(source) == "" {
		return nil, fmt.Errorf("%w: it is empty", ErrSyntax)
	}
	if err := checkComments(source); err != nil {
		return nil, syntaxError(source, nil, err)
	}
	program, err := expr.Compile(source, expr.DisableAllBuiltins(), ourSum, expr.Optimize(false), expr.MaxNodes(maxNodes))
	if err != nil {
		return nil, syntaxError(source, nil, err)
	}
	return program.Node(), nil
}

// Uses reports whether a formula names the parameter.
func (s *System) Uses(parameter string) bool { return s.used[parameter] }

// Space is the equation with values of the parameters, in a box of Dim intervals. It fails where a
// parameter has another number of values than its shape.
func (s *System) Space(box []sde.Interval, values map[string][]float64) (sde.Space, error) {
	var parameters []float64
	for _, name := range s.parameters {
		given := values[name]
		if want := s.shapes[name].Size(s.Dim); len(given) != want {
			return sde.Space{}, fmt.Errorf("parameter %s has %d numbers, want %d", name, len(given), want)
		}
		parameters = append(parameters, given...)
	}
	bind := func(engine string, x []*[Lanes]float64) (evaluate func(n int), drift, diffusion []*[Lanes]float64) {
		return s.bind(engine, parameters, x)
	}
	space := sde.Space{Box: box, Terms: s.Terms, Noise: s.Noise, Bind: bind}
	if len(box) != s.Dim {
		return space, fmt.Errorf("a box of %d coordinates for a system of %d", len(box), s.Dim)
	}
	return space, space.Validate()
}

// bind implements sde.Space.Bind.
func (s *System) bind(engine string, parameters []float64, x []*[Lanes]float64) (evaluate func(n int), drift, diffusion []*[Lanes]float64) {
	places, blocks := slices.Clone(x), make([]block, len(parameters))
	for k, v := range parameters {
		for l := range blocks[k] {
			blocks[k][l] = v
		}
		places = append(places, &blocks[k])
	}
	kernels := sets[0].kernels // the fastest
	if engine != "" {
		kernels = kernelsOf(engine)
	}
	m := s.program.bind(kernels, places...)
	return m.run, m.outputs[:s.Dim], m.outputs[s.Dim:]
}
