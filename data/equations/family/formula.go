package family

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

// formula is a compiled Definition.
type formula struct {
	name             string // with the hash
	stem             string // without it; part of the parameters' random streams
	grid             sde.Grid
	domain           sde.Range   // on the line
	coordinates      [][]float64 // of the nodes, x first
	parameters       []string    // in the order of their names
	laws             []parameterLaw
	drift, diffusion []*expression.Expression
	constant         []float32 // the diffusion, if it depends on no variable
}

func newFormula(d Definition, grid sde.Grid, domain sde.Range) (*formula, error) {
	f := &formula{name: d.id(), stem: d.Name, grid: grid, domain: domain, parameters: slices.Sorted(maps.Keys(d.Parameters))}
	variables := append([]string{"x", "y"}[:d.Dim:d.Dim], f.parameters...)
	for _, name := range f.parameters {
		// A name is valid if it compiles as a formula.
		if _, err := expression.CompileIn(name, append(variables[:d.Dim:d.Dim], name)...); err != nil {
			return nil, fmt.Errorf("parameters.%.40s: %w", name, err)
		}
		law, err := newLaw(d.Parameters[name], grid, d.Dim)
		if err != nil {
			return nil, fmt.Errorf("parameters.%s: %w", name, err)
		}
		f.laws = append(f.laws, law)
	}
	for _, part := range []struct {
		name     string
		formulas Formulas
		to       *[]*expression.Expression
	}{{"drift", d.Drift, &f.drift}, {"diffusion", d.Diffusion, &f.diffusion}} {
		for k, source := range part.formulas {
			e, err := expression.CompileIn(source, variables...)
			if err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", part.name, k, err)
			}
			*part.to = append(*part.to, e)
		}
	}
	for _, name := range f.parameters {
		if !slices.ContainsFunc(slices.Concat(f.drift, f.diffusion), func(e *expression.Expression) bool { return e.Uses(name) }) {
			return nil, fmt.Errorf("parameters.%s: no formula uses it", name)
		}
	}
	varies := func(e *expression.Expression) bool { return slices.ContainsFunc(variables, e.Uses) }
	if !slices.ContainsFunc(f.diffusion, varies) {
		f.constant = tabulate(f.diffusion, slices.Repeat([][]float64{{0}}, len(variables)))
	}
	f.coordinates = nodes(grid, d.Dim)
	return f, nil
}

// nodes are the coordinates of a grid's nodes, x varying fastest.
func nodes(grid sde.Grid, dim int) [][]float64 {
	count := grid.N
	if dim == 2 {
		count *= grid.N
	}
	coordinates := make([][]float64, dim)
	for n := range count {
		coordinates[0] = append(coordinates[0], grid.At(n%grid.N))
		if dim == 2 {
			coordinates[1] = append(coordinates[1], grid.At(n/grid.N))
		}
	}
	return coordinates
}

func (f *formula) Name() string { return f.name }

// draw returns the variables of function i: coordinates, then parameters.
func (f *formula) draw(seed uint64, i int) [][]float64 {
	variables := slices.Clip(f.coordinates)
	for k, law := range f.laws {
		variables = append(variables, law(random.New(seed, "formula/"+f.stem+"/"+f.parameters[k], uint64(i))))
	}
	return variables
}

// TabulatePlane evaluates formulas in x and y, two of the drift and one, two or four of
// the diffusion, at the nodes of a grid that is the same along both axes.
func TabulatePlane(drift, diffusion []string, grid sde.Grid) (sde.Plane, error) {
	var compiled [2][]*expression.Expression
	for i, part := range []struct {
		name    string
		sources []string
	}{{"drift", drift}, {"diffusion", diffusion}} {
		for k, source := range part.sources {
			e, err := expression.CompileIn(source, "x", "y")
			if err != nil {
				return sde.Plane{}, fmt.Errorf("%s %d: %w", part.name, k+1, err)
			}
			compiled[i] = append(compiled[i], e)
		}
	}
	return TabulatePlaneOf(compiled[0], compiled[1], grid)
}

// TabulatePlaneOf is TabulatePlane of compiled formulas in x and y.
func TabulatePlaneOf(drift, diffusion []*expression.Expression, grid sde.Grid) (sde.Plane, error) {
	p := sde.Plane{X: grid, Y: grid, Drift: tabulate(drift, nodes(grid, 2)), Diffusion: tabulate(diffusion, nodes(grid, 2))}
	return p, p.Validate()
}

// tabulate evaluates all formulas at the nodes: [nodes, formulas].
func tabulate(formulas []*expression.Expression, variables [][]float64) []float32 {
	n, k := len(variables[0]), len(formulas)
	column, values := make([]float64, n), make([]float32, n*k)
	for c, e := range formulas {
		e.EvalIn(column, variables...)
		for node, v := range column {
			values[node*k+c] = float32(v)
		}
	}
	return values
}

// ErrNoEquation means that one function of a definition cannot be simulated, on any
// machine.
var ErrNoEquation = errors.New("no equation that can be simulated")

func (f *formula) failed(i int, variables [][]float64, err error) error {
	return fmt.Errorf("%s is %w: %w", f.function(i, variables), ErrNoEquation, err)
}

// function names function i and its scalar parameters.
func (f *formula) function(i int, variables [][]float64) string {
	var drawn []string
	for k, v := range variables[len(f.coordinates):] {
		if len(v) == 1 {
			drawn = append(drawn, fmt.Sprintf("%s = %.6g", f.parameters[k], v[0]))
		}
	}
	with := ""
	if len(drawn) > 0 {
		with = " with " + strings.Join(drawn, ", ")
	}
	return fmt.Sprintf("%s function %d%s", f.name, i, with)
}

// formulaLine is a family on the line.
type formulaLine struct {
	*formula
	line
}

// Domain is the interval on which the equations live.
func (f formulaLine) Domain() sde.Range { return f.domain }

// Coefficients are the formulas of function i at every x. It has none if a parameter is a
// field, which is known at the nodes only.
func (f formulaLine) Coefficients(seed uint64, i int) (drift, diffusion density.Coefficient, ok bool) {
	parameters := f.draw(seed, i)[1:]
	if slices.ContainsFunc(parameters, func(v []float64) bool { return len(v) > 1 }) {
		return nil, nil, false
	}
	at := func(e *expression.Expression) density.Coefficient {
		return func(dst, x []float64) { e.EvalIn(dst, append([][]float64{x}, parameters...)...) }
	}
	return at(f.drift[0]), at(f.diffusion[0]), true
}

// Function refuses drifts that do not point inward at both ends of the grid. Beyond the
// ends the drift is constant, so there would be no invariant law.
func (f formulaLine) Function(seed uint64, i int) (Function, error) {
	variables := f.draw(seed, i)
	c := sde.Coefficients{Grid: f.formula.grid, Drift: tabulate(f.drift, variables), Diffusion: tabulate(f.diffusion, variables)}
	function, err := f.Of(c)
	if err == nil && !(c.Drift[0] > 0 && c.Drift[c.Grid.N-1] < 0) {
		err = fmt.Errorf("%w: the drift is %.6g and %.6g at the ends of the grid, want it to point inward", density.ErrNotNormalisable, c.Drift[0], c.Drift[c.Grid.N-1])
	}
	if err != nil {
		return Function{}, f.failed(i, variables, err)
	}
	return function, nil
}

// Law is the invariant law of the tabulated coefficients, which are constant outside the
// grid.
func (f formulaLine) Law(seed uint64, i int) (Law, error) {
	function, err := f.Function(seed, i)
	if err != nil {
		return nil, err
	}
	law, err := density.New(function.System.(sde.Coefficients))
	if err != nil {
		return nil, f.failed(i, f.draw(seed, i), err)
	}
	return law, nil
}

// formulaPlane is a family in the plane. It does not check that its functions have
// invariant laws; the pilot run finds chains that leave the grid.
type formulaPlane struct{ *formula }

func (formulaPlane) Dim() int { return 2 }

// Fields are the drift and, unless it is one constant for all functions, the diffusion at
// the nodes, as in sde.Plane.
func (f formulaPlane) Fields() []Field {
	fields := []Field{{Name: "drift", Shape: []int{f.grid.N, f.grid.N, 2}}}
	if f.constant == nil {
		fields = append(fields, Field{Name: "diffusion", Shape: []int{f.grid.N, f.grid.N, len(f.diffusion)}})
	}
	return fields
}

func (f formulaPlane) Function(seed uint64, i int) (Function, error) {
	variables := f.draw(seed, i)
	fields := [][]float32{tabulate(f.drift, variables)}
	if f.constant == nil {
		fields = append(fields, tabulate(f.diffusion, variables))
	}
	function, err := f.Restore(fields)
	if err != nil {
		return Function{}, f.failed(i, variables, err)
	}
	return function, nil
}

// Restore makes a function of the drift and, where it is a field, the diffusion.
func (f formulaPlane) Restore(fields [][]float32) (Function, error) {
	shapes := f.Fields()
	if len(fields) != len(shapes) {
		return Function{}, fmt.Errorf("%d fields, want %d", len(fields), len(shapes))
	}
	for k, field := range shapes {
		if len(fields[k]) != field.Size() {
			return Function{}, fmt.Errorf("%s has %d values, want %d", field.Name, len(fields[k]), field.Size())
		}
	}
	p := sde.Plane{X: f.grid, Y: f.grid, Drift: fields[0], Diffusion: f.constant}
	if f.constant == nil {
		p.Diffusion = fields[1]
	}
	if err := p.Validate(); err != nil {
		return Function{}, err
	}
	return Function{System: p, Fields: fields}, nil
}

func (f formulaPlane) Grid() sde.Grid { return f.grid }

// Of refuses a diffusion with another number of terms than the family's, or another
// diffusion where all functions have the same.
func (f formulaPlane) Of(p sde.Plane) (Function, error) {
	want, nodes := len(f.diffusion), p.Nodes()
	if terms, _ := p.DiffusionTerms(); terms != want {
		return Function{}, fmt.Errorf("the diffusion has %d formulas, functions of %s have %d", terms, f.name, want)
	}
	diffusion := p.Diffusion
	if len(diffusion) == want {
		diffusion = slices.Repeat(diffusion, nodes)
	}
	if f.constant == nil {
		return f.Restore([][]float32{p.Drift, diffusion})
	}
	if !slices.Equal(diffusion, slices.Repeat(f.constant, nodes)) {
		return Function{}, fmt.Errorf("all functions of %s have the diffusion %v", f.name, f.constant)
	}
	return f.Restore([][]float32{p.Drift})
}
