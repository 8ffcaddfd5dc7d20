package family

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Simulations and networks read the values of formulas at the nodes of a grid, and
// interpolate linearly between them. A pole, a peak or a zero between two nodes can be
// missed. So formulas are also compared with their tables on a grid that is this many times
// finer along each axis.
const (
	finerLine  = 8
	finerPlane = 2
)

// refusedDeviation is the deviation that is refused, relative to the largest value at a
// node.
const refusedDeviation = 10

// ErrInterpolation means that the table of a formula is wrong between two nodes.
var ErrInterpolation = errors.New("between two nodes of the grid")

// Interpolated is a family of formulas that are tabulated.
type Interpolated interface {
	// CheckInterpolation compares the formulas of function i with their tables between
	// the nodes. The warning, if not empty, names the worst of its Deviations. It refuses,
	// with ErrInterpolation, values that would be refused at a node, and deviations by
	// more than ten times the largest value at a node.
	CheckInterpolation(seed uint64, i int) (warning string, err error)
}

// FinerGrid is the grid on which formulas are compared with their tables; it contains the
// nodes of the other.
func FinerGrid(grid sde.Grid, dim int) sde.Grid {
	return sde.Grid{Lo: grid.Lo, Hi: grid.Hi, N: finer(dim)*(grid.N-1) + 1}
}

func finer(dim int) int {
	if dim == 1 {
		return finerLine
	}
	return finerPlane
}

// Deviation is the largest difference between a coefficient and its interpolated table.
type Deviation struct {
	Name    string  // drift or diffusion
	Where   string  // as in x = 1, or (1, 2)
	Size    float64 // |formula − interpolated table|
	Largest float64 // the largest |value| at a node
}

func (d Deviation) String() string {
	return fmt.Sprintf("the %s between two nodes of the grid, at %s, differs by %.3g from the interpolated table", d.Name, d.Where, d.Size)
}

// Deviations compares the tables of one equation on a grid and on its FinerGrid, on the
// line or in the plane. It returns the coefficients, or components of them, that deviate
// by more than the range of their values at the nodes.
func Deviations(table, fine sde.System) []Deviation {
	switch f := fine.(type) {
	case sde.Coefficients:
		c := table.(sde.Coefficients)
		where := func(i int) string { return fmt.Sprintf("x = %.4g", f.Grid.At(i)) }
		return slices.Concat(
			deviations("drift", c.Drift, f.Drift, 1, c.Grid.N, 1, where),
			deviations("diffusion", c.Diffusion, f.Diffusion, 1, c.Grid.N, 1, where))
	case sde.Plane:
		p := table.(sde.Plane)
		where := func(i int) string { return fmt.Sprintf("(%.4g, %.4g)", f.X.At(i%f.X.N), f.Y.At(i/f.X.N)) }
		all := deviations("drift", p.Drift, f.Drift, 2, p.X.N, 2, where)
		if terms, constant := p.DiffusionTerms(); !constant {
			all = append(all, deviations("diffusion", p.Diffusion, f.Diffusion, terms, p.X.N, 2, where)...)
		}
		return all
	}
	return nil
}

// deviations is Deviations of one coefficient with that many components at a node, on a
// grid of n nodes along each axis.
func deviations(name string, table, fine []float32, components, n, dim int, where func(i int) string) []Deviation {
	var all []Deviation
	column := make([]float64, len(table)/components)
	for k := range components {
		for i := range column {
			column[i] = float64(table[i*components+k])
		}
		least, most := slices.Min(column), slices.Max(column)
		d := Deviation{Name: name, Largest: max(-least, most)}
		at := 0
		for i, interpolated := range refine(column, n, dim) {
			if size := math.Abs(interpolated - float64(fine[i*components+k])); size > d.Size {
				d.Size, at = size, i
			}
		}
		if rounding := 1e-3; d.Size > most-least+rounding {
			d.Where = where(at)
			all = append(all, d)
		}
	}
	return all
}

// refine interpolates values at n nodes along each axis linearly to the nodes of the
// FinerGrid.
func refine(values []float64, n, dim int) []float64 {
	times := finer(dim)
	place := func(i int) (node int, t float64) {
		node = min(i/times, n-2)
		return node, float64(i-node*times) / float64(times)
	}
	row := func(values []float64, i int) float64 {
		node, t := place(i)
		return values[node] + t*(values[node+1]-values[node])
	}
	fine := times*(n-1) + 1
	if dim == 1 {
		refined := make([]float64, fine)
		for i := range refined {
			refined[i] = row(values, i)
		}
		return refined
	}
	refined := make([]float64, 0, fine*fine)
	for j := range fine {
		node, t := place(j)
		for i := range fine {
			lower, upper := row(values[node*n:], i), row(values[(node+1)*n:], i)
			refined = append(refined, lower+t*(upper-lower))
		}
	}
	return refined
}

// refineVariables gives the variables of a function at the nodes of the finer grid. Random
// fields are defined at the nodes of the grid, and interpolated linearly between them.
func (f *formula) refineVariables(variables [][]float64) [][]float64 {
	dim := len(f.coordinates)
	fine := nodes(FinerGrid(f.grid, dim), dim)
	for _, v := range variables[dim:] {
		if len(v) > 1 {
			v = refine(v, f.grid.N, dim)
		}
		fine = append(fine, v)
	}
	return fine
}

// checkInterpolation turns the deviations of function i into a warning or an error.
func (f *formula) checkInterpolation(i int, variables [][]float64, table, fine sde.System) (warning string, err error) {
	if err := fine.Validate(); err != nil {
		return "", fmt.Errorf("%s, %w: %w", f.function(i, variables), ErrInterpolation, err)
	}
	if where := f.vanishing(variables); where != "" {
		return "", fmt.Errorf("%s, %w: diffusion vanishes at %s and is %w", f.function(i, variables), ErrInterpolation, where, sde.ErrNotPositive)
	}
	for _, d := range Deviations(table, fine) {
		if d.Size > refusedDeviation*d.Largest {
			return "", fmt.Errorf("%s, %w: the %s at %s differs by %.3g from the interpolated table, whose largest value is %.3g", f.function(i, variables), ErrInterpolation, d.Name, d.Where, d.Size, d.Largest)
		}
		warning = fmt.Sprintf("%s: %s, so the data have another equation there", f.function(i, variables), d)
	}
	return warning, nil
}

func (f formulaLine) CheckInterpolation(seed uint64, i int) (warning string, err error) {
	function, err := f.Function(seed, i)
	if err != nil {
		return "", err
	}
	variables := f.draw(seed, i)
	fine := f.refineVariables(variables)
	return f.checkInterpolation(i, variables, function.System, sde.Coefficients{
		Grid: FinerGrid(f.formula.grid, 1), Drift: tabulate(f.drift, fine), Diffusion: tabulate(f.diffusion, fine),
	})
}

func (f formulaPlane) CheckInterpolation(seed uint64, i int) (warning string, err error) {
	function, err := f.Function(seed, i)
	if err != nil {
		return "", err
	}
	variables := f.draw(seed, i)
	fine, axis := f.refineVariables(variables), FinerGrid(f.grid, 2)
	p := sde.Plane{X: axis, Y: axis, Drift: tabulate(f.drift, fine), Diffusion: f.constant}
	if f.constant == nil {
		p.Diffusion = tabulate(f.diffusion, fine)
	}
	return f.checkInterpolation(i, variables, function.System, p)
}
