// Package expression compiles drifts and diffusions that a user writes as
// formulas in x, for example "x-x^3" and "sqrt(1+0.5*x^2)". The library expr
// parses and checks them; they then run as a tape of operations on whole blocks
// of states, some fifty times as fast as a virtual machine on single numbers.
package expression

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"

	"github.com/ergoflow/ergoflow/data/sde"
)

// MaxLength bounds a formula in bytes, and maxNodes its syntax tree.
const (
	MaxLength = 4096
	maxNodes  = 1000
)

// ErrSyntax says that a formula was not understood; the message shows where.
var ErrSyntax = errors.New("cannot read the formula")

// Expression is a compiled formula in x. It is safe for concurrent use.
//
// It knows the operators + − * / ^ (also **, right-associative, above the sign:
// -x^2 is −(x²)), comparisons, and, or, not, conditions (x > 0 ? a : b), the
// constants pi and e, and the functions sin cos tan asin acos atan sinh cosh
// tanh exp log log2 log10 sqrt cbrt abs sign floor ceil erf pow atan2 min max.
type Expression struct {
	source string
	tape   []instruction
	depth  int
	work   sync.Pool // of *[]float64
}

// Compile reads a formula. Errors are ErrSyntax and point at the position.
func Compile(source string) (*Expression, error) {
	if len(source) > MaxLength {
		return nil, fmt.Errorf("%w: it has %d bytes, at most %d are allowed", ErrSyntax, len(source), MaxLength)
	}
	if strings.TrimSpace(source) == "" {
		return nil, fmt.Errorf("%w: it is empty", ErrSyntax)
	}
	program, err := expr.Compile(source, expr.Env(environment), expr.DisableAllBuiltins(),
		expr.Optimize(false), expr.AsFloat64(), expr.MaxNodes(maxNodes))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	var t taper
	kind, err := t.emit(program.Node())
	if err == nil && kind != number {
		err = at(program.Node(), "the formula is a condition, not a number")
	}
	if err != nil {
		var position *file.Error
		if errors.As(err, &position) {
			err = position.Bind(program.Source())
		}
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	return &Expression{source: source, tape: t.tape, depth: t.depth}, nil
}

// String is the formula as it was written.
func (e *Expression) String() string { return e.source }

// At is the value at one x; NaN or infinite where the formula is.
func (e *Expression) At(x float64) float64 {
	in, out := [1]float64{x}, [1]float64{}
	e.Eval(out[:], in[:])
	return out[0]
}

// Eval writes the values at all of x into dst, which must be as long.
func (e *Expression) Eval(dst, x []float64) {
	if len(dst) != len(x) {
		panic(fmt.Sprintf("expression: %d values for %d states", len(dst), len(x)))
	}
	stack, _ := e.work.Get().(*[]float64)
	if stack == nil {
		s := make([]float64, e.depth*block)
		stack = &s
	}
	for len(x) > 0 {
		n := min(len(x), block)
		run(e.tape, *stack, x[:n])
		copy(dst, (*stack)[:n])
		dst, x = dst[n:], x[n:]
	}
	e.work.Put(stack)
}

// Tabulate evaluates a drift and a diffusion on a grid. It refuses values that
// are not finite and diffusions that are not positive, naming x.
func Tabulate(drift, diffusion *Expression, g sde.Grid) (sde.Coefficients, error) {
	if err := g.Validate(); err != nil {
		return sde.Coefficients{}, err
	}
	c := sde.Coefficients{Grid: g}
	for _, part := range []struct {
		name   string
		source *Expression
		values *[]float32
	}{{"drift", drift, &c.Drift}, {"diffusion", diffusion, &c.Diffusion}} {
		*part.values = make([]float32, g.N)
		for i := range g.N {
			v := part.source.At(g.At(i))
			if math.IsNaN(v) || math.Abs(v) > math.MaxFloat32 {
				return sde.Coefficients{}, fmt.Errorf("%s %q is %v at x = %.6g: %w", part.name, part.source, v, g.At(i), sde.ErrNotFinite)
			}
			(*part.values)[i] = float32(v)
		}
	}
	return c, c.Validate()
}
