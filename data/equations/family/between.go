package family

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Between the nodes of a grid coefficients are lines, whatever their formulas are
// there: of a pole, a peak or a zero the table may know nothing. So formulas are
// looked at on a finer grid too, so many times as fine along each axis.
const (
	finerLine  = 8
	finerPlane = 2
)

// gross is how many times its largest value at a node a formula may be off its table.
const gross = 10

// ErrBetween says that a formula is between the nodes what no table should be made of.
var ErrBetween = errors.New("between two nodes of the grid")

// Written is a family of formulas. Between looks at those of function i between the
// nodes of the grid: the warning, if there is one, says where the table misses what
// they have (Misses). Refused, with ErrBetween, are values there that would be refused
// at a node, and those that are off the table by ten times its largest.
type Written interface {
	Between(seed uint64, i int) (warning string, err error)
}

// Finer is the grid on which formulas are looked at between the nodes of another,
// which are among its own.
func Finer(grid sde.Grid, dim int) sde.Grid {
	return sde.Grid{Lo: grid.Lo, Hi: grid.Hi, N: finer(dim)*(grid.N-1) + 1}
}

func finer(dim int) int {
	if dim == 1 {
		return finerLine
	}
	return finerPlane
}

// Missed is where a coefficient is farthest from what its table has there.
type Missed struct {
	Name  string  // drift or diffusion
	Where string  // as x = 1, or (1, 2)
	Off   float64 // from the line between the nodes
	Most  float64 // the largest size of a value at a node
}

func (m Missed) String() string {
	return fmt.Sprintf("the %s between two nodes of the grid, at %s, is %.3g off what the table has there", m.Name, m.Where, m.Off)
}

// Misses compares the tables of one equation on a grid and on its Finer one, on the
// line or in the plane. It returns the coefficients, or coordinates of them, that are
// off the lines between nodes by more than their values at all nodes differ among
// themselves.
func Misses(table, fine sde.System) []Missed {
	switch f := fine.(type) {
	case sde.Coefficients:
		c := table.(sde.Coefficients)
		where := func(i int) string { return fmt.Sprintf("x = %.4g", f.Grid.At(i)) }
		return slices.Concat(
			misses("drift", c.Drift, f.Drift, 1, c.Grid.N, 1, where),
			misses("diffusion", c.Diffusion, f.Diffusion, 1, c.Grid.N, 1, where))
	case sde.Plane:
		p := table.(sde.Plane)
		where := func(i int) string { return fmt.Sprintf("(%.4g, %.4g)", f.X.At(i%f.X.N), f.Y.At(i/f.X.N)) }
		missed := misses("drift", p.Drift, f.Drift, 2, p.X.N, 2, where)
		if terms, constant := p.DiffusionTerms(); !constant {
			missed = append(missed, misses("diffusion", p.Diffusion, f.Diffusion, terms, p.X.N, 2, where)...)
		}
		return missed
	}
	return nil
}

// misses is Misses of one coefficient with so many terms at a node, on a grid of n
// nodes each way.
func misses(name string, table, fine []float32, terms, n, dim int, where func(i int) string) []Missed {
	var all []Missed
	column := make([]float64, len(table)/terms)
	for k := range terms {
		for i := range column {
			column[i] = float64(table[i*terms+k])
		}
		least, most := slices.Min(column), slices.Max(column)
		m := Missed{Name: name, Most: max(-least, most)}
		at := 0
		for i, line := range refine(column, n, dim) {
			if off := max(line-float64(fine[i*terms+k]), float64(fine[i*terms+k])-line); off > m.Off {
				m.Off, at = off, i
			}
		}
		if rounding := 1e-3; m.Off > most-least+rounding {
			m.Where = where(at)
			all = append(all, m)
		}
	}
	return all
}

// refine has the values at the nodes of the Finer grid, with lines between those at
// a grid's n nodes each way.
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

// finely has the variables of a function at the nodes of the finer grid. Random
// fields are what they are at the nodes, with lines between them.
func (f *formula) finely(variables [][]float64) [][]float64 {
	dim := len(f.coordinates)
	fine := nodes(Finer(f.grid, dim), dim)
	for _, v := range variables[dim:] {
		if len(v) > 1 {
			v = refine(v, f.grid.N, dim)
		}
		fine = append(fine, v)
	}
	return fine
}

// judge turns what is between the nodes of function i into a warning or an error.
func (f *formula) judge(i int, variables [][]float64, table, fine sde.System) (warning string, err error) {
	if err := fine.Validate(); err != nil {
		return "", fmt.Errorf("%s, %w: %w", f.function(i, variables), ErrBetween, err)
	}
	for _, m := range Misses(table, fine) {
		if m.Off > gross*m.Most {
			return "", fmt.Errorf("%s, %w: the %s at %s is %.3g off what the table has there, and at nodes at most %.3g", f.function(i, variables), ErrBetween, m.Name, m.Where, m.Off, m.Most)
		}
		warning = fmt.Sprintf("%s: %s: the data are of an equation without it", f.function(i, variables), m)
	}
	return warning, nil
}

func (f formulaLine) Between(seed uint64, i int) (warning string, err error) {
	function, err := f.Function(seed, i)
	if err != nil {
		return "", err
	}
	variables := f.draw(seed, i)
	fine := f.finely(variables)
	return f.judge(i, variables, function.System, sde.Coefficients{
		Grid: Finer(f.formula.grid, 1), Drift: tabulate(f.drift, fine), Diffusion: tabulate(f.diffusion, fine),
	})
}

func (f formulaPlane) Between(seed uint64, i int) (warning string, err error) {
	function, err := f.Function(seed, i)
	if err != nil {
		return "", err
	}
	variables := f.draw(seed, i)
	fine, axis := f.finely(variables), Finer(f.grid, 2)
	p := sde.Plane{X: axis, Y: axis, Drift: tabulate(f.drift, fine), Diffusion: f.constant}
	if f.constant == nil {
		p.Diffusion = tabulate(f.diffusion, fine)
	}
	return f.judge(i, variables, function.System, p)
}
