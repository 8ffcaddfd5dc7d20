// Package expression compiles drifts and diffusions that a user writes as formulas, for
// example "x-x^3" and "sqrt(1+0.5*x^2)". The library expr parses and checks them
// (translate.go). A graph contains every subexpression once (graph.go). It becomes a list
// of operations on blocks of states (program.go, equation.go), with vector instructions
// where the processor has them.
package expression

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// MaxLength bounds a formula in bytes, maxNodes its syntax tree, and maxExcerpt the part
// that an error quotes.
const (
	MaxLength  = 4096
	maxNodes   = 1000
	maxExcerpt = 120
)

// ErrSyntax means that a formula cannot be read; the message shows where.
var ErrSyntax = errors.New("cannot read the formula")

// Expression is a compiled formula in one or more variables. It is safe for
// concurrent use.
//
// It has the operators + − * / ^ (also **, right-associative, above the sign:
// -x^2 is −(x²)), comparisons, and, or, not, conditions (x > 0 ? a : b), the
// constants pi and e, and the functions sin cos tan asin acos atan sinh cosh
// tanh exp log log2 log10 sqrt cbrt abs sign floor ceil erf pow atan2 min max.
//
// Operators, powers with exponents ½ and ±1 to ±16, abs, sqrt, exp, log, min,
// max, tanh, and sin and cos up to 2²⁰, give the same bits on every processor. The others
// come from package math, whose last bit may differ between architectures.
type Expression struct {
	source    string
	variables []string
	tree      ast.Node
	program   *program  // of the tree
	bound     sync.Pool // of *boundIn, which are ready to run
}

// Compile reads a formula in x. Errors are ErrSyntax and point at the position.
func Compile(source string) (*Expression, error) { return CompileIn(source, "x") }

// CompileIn reads a formula in other variables, at most 64. Their names must be
// identifiers that have no meaning in formulas yet.
func CompileIn(source string, variables ...string) (*Expression, error) {
	if len(source) > MaxLength {
		return nil, fmt.Errorf("%w: it has %d bytes, must be at most %d", ErrSyntax, len(source), MaxLength)
	}
	if strings.TrimSpace(source) == "" {
		return nil, fmt.Errorf("%w: it is empty", ErrSyntax)
	}
	names, err := scope(variables)
	if err != nil {
		return nil, err
	}
	if err := checkComments(source); err != nil {
		return nil, syntaxError(source, variables, err)
	}
	program, err := expr.Compile(source, expr.Env(names), expr.DisableAllBuiltins(),
		expr.Optimize(false), expr.AsFloat64(), expr.MaxNodes(maxNodes))
	if err != nil {
		return nil, syntaxError(source, variables, advise(source, variables, err))
	}
	e := &Expression{source: source, variables: variables, tree: program.Node()}
	g := newGraph(variables...)
	id, err := g.want(e.tree, number)
	if err != nil {
		return nil, syntaxError(source, variables, advise(source, variables, err))
	}
	e.program = g.compile(id)
	return e, nil
}

// checkComments refuses the beginning of a comment, which the library would skip: -x//2
// would be -x.
func checkComments(source string) error {
	at := -1
	for _, mark := range []string{"//", "/*"} {
		if i := strings.Index(source, mark); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	from := utf8.RuneCountInString(source[:at])
	return &file.Error{
		Location: file.Location{From: from, To: from + 2},
		Message:  fmt.Sprintf("%s is not an operator, and formulas have no comments", source[at:at+2]),
	}
}

// goTypes replaces the Go types in the library's messages by words.
var goTypes = strings.NewReplacer("func(float64, float64) float64", "function", "func(float64) float64", "function",
	"map[string]interface {}", "map", "[]interface {}", "list", "float64", "number", "string", "text", "but got unknown", "but got nothing")

// syntaxError quotes the formula with the position of the error, or gives the position
// alone if the formula is long.
func syntaxError(source string, variables []string, err error) error {
	var message string
	var position *file.Error
	if errors.As(err, &position) {
		position = position.Bind(file.NewSource(source))
		message = position.Message
		if !strings.HasPrefix(position.Message, "unknown name") { // the name may be that of a type
			position.Message = goTypes.Replace(position.Message)
		}
		if strings.Contains(position.Message, "exceeds maximum allowed nodes") {
			position.Message = fmt.Sprintf("it has more than %d operators, numbers and names", maxNodes)
		}
		err = position
		if len(source) > maxExcerpt {
			message := strings.ToValidUTF8(position.Message[:min(len(position.Message), maxExcerpt)], "")
			err = fmt.Errorf("%s (%d:%d)", message, position.Line, position.Column+1)
		}
	} else {
		err = errors.New(goTypes.Replace(err.Error()))
	}
	return about(fmt.Errorf("%w: %w", ErrSyntax, err), message, variables)
}

// add puts the formula into a graph.
func (e *Expression) add(g *graph) int {
	id, err := g.want(e.tree, number)
	if err != nil {
		panic(err) // Compile checked the tree
	}
	return id
}

// String is the formula as it was written.
func (e *Expression) String() string { return e.source }

// At is the value at one x; NaN or infinite where the formula is.
func (e *Expression) At(x float64) float64 {
	in, out := [1]float64{x}, [1]float64{}
	e.Eval(out[:], in[:])
	return out[0]
}

// Eval writes the values at all of x into dst, which must be as long. The formula
// must have one variable.
func (e *Expression) Eval(dst, x []float64) { e.eval(dst, x, sets[0].kernels) }

func (e *Expression) eval(dst, x []float64, k *kernels) {
	if len(dst) != len(x) {
		panic(fmt.Sprintf("expression: %d values for %d states", len(dst), len(x)))
	}
	var states block
	m := e.program.bind(k, &states)
	for len(x) > 0 {
		n := copy(states[:], x)
		m.run(n)
		copy(dst, m.outputs[0][:n])
		dst, x = dst[n:], x[n:]
	}
}

// Tabulate evaluates a drift and a diffusion on a grid. It refuses values that
// are not finite and diffusions that are not positive, naming x.
func Tabulate(drift, diffusion *Expression, g sde.Grid) (sde.Coefficients, error) {
	if err := g.Validate(); err != nil {
		return sde.Coefficients{}, err
	}
	c := sde.Coefficients{Grid: g}
	nodes, values := make([]float64, g.N), make([]float64, g.N)
	for i := range nodes {
		nodes[i] = g.At(i)
	}
	for _, part := range []struct {
		name   string
		source *Expression
		to     *[]float32
	}{{"drift", drift, &c.Drift}, {"diffusion", diffusion, &c.Diffusion}} {
		*part.to = make([]float32, g.N)
		part.source.Eval(values, nodes)
		for i, v := range values {
			if math.IsNaN(v) || math.Abs(v) > math.MaxFloat32 {
				return sde.Coefficients{}, fmt.Errorf("%s %q is %v at x = %.6g: %w", part.name, part.source, v, g.At(i), sde.ErrNotFinite)
			}
			(*part.to)[i] = float32(v)
		}
	}
	return c, c.Validate()
}
