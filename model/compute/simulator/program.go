package simulator

import (
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// layout has everything that the programs depend on.
type layout struct {
	equation  equation
	functions int // at a time
	chains    int // of each function
	recorded  int // samples of each chain between two downloads
}

// dimensions of the arrays of a state.
func (l layout) dimensions() []int {
	if n := l.equation.particles(); n > 0 {
		return []int{l.functions, l.chains, n}
	}
	return []int{l.functions, l.chains}
}

// dim is the number of coordinates of a state.
func (l layout) dim() int { return l.equation.arrays() * max(l.equation.particles(), 1) }

// skipped is how many numbers of its chain's generator a particle skips between two
// steps: those of the other particles.
func (l layout) skipped() int { return l.dim() - l.equation.arrays() }

// programs are those of a simulation.
//
//	advance: generators, states, rows, noise, steps → generators, states, diverged
//	collect: states at different times → samples [functions, chains, times, dim]
//
// noise is Φ⁻¹ and, for particles, the jump. diverged is 1 for each function that has
// a NaN in a state, else 0.
type programs struct {
	advance, collect *backend.Program
	jump             []backend.Buffer // its table, or empty
}

func compile(b *backend.Backend, l layout) (p *programs, err error) {
	p = new(programs)
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	words := slices.Repeat([]shapes.Shape{shapes.Make(dtypes.Uint32, l.dimensions()...)}, len(generators{}))
	states := slices.Repeat([]shapes.Shape{backend.Shape(l.dimensions()...)}, l.equation.arrays())
	rows, steps := backend.Shape(l.functions*l.equation.width()), backend.Shape()
	noise := []shapes.Shape{backend.Shape(inverseSize)}
	if n := l.skipped(); n > 0 {
		jump, err := uploadJump(b, n)
		if err != nil {
			return p, err
		}
		p.jump = []backend.Buffer{jump}
		noise = append(noise, shapes.Make(dtypes.Uint32, jumpRows, 4))
	}
	name := fmt.Sprintf("%T of %d×%d", l.equation, l.functions, l.chains)

	p.advance, err = b.Compile("advance "+name, slices.Concat(words, states, []shapes.Shape{rows}, noise, []shapes.Shape{steps}), l.advance)
	if err != nil {
		return p, err
	}
	p.collect, err = b.Compile("collect "+name, slices.Repeat(states, l.recorded), l.collect)
	return p, err
}

func (p *programs) close() {
	for _, program := range []*backend.Program{p.advance, p.collect} {
		if program != nil {
			program.Close()
		}
	}
	backend.Free(p.jump...)
}

// draw draws the normals of one step.
func (l layout) draw(s generators, noise []*graph.Node) (generators, []*graph.Node) {
	inverse, z := inverseOf(noise[0]), make([]*graph.Node, l.equation.arrays())
	for i := range z {
		s, z[i] = s.next(inverse)
	}
	if l.skipped() > 0 {
		s = s.jump(noise[1])
	}
	return s, z
}

// advance is a loop. Its state is the number of steps left and all inputs, since the
// body of a loop can access nothing else.
func (l layout) advance(in []*graph.Node) []*graph.Node {
	last, constant := len(in)-1, 4+l.equation.arrays()
	parameters := func(g *graph.Graph) (left *graph.Node, rest []*graph.Node) {
		left = graph.Parameter(g, "left", shapes.Make(dtypes.Int32))
		for i, n := range in[:last] {
			rest = append(rest, graph.Parameter(g, fmt.Sprintf("loop%d", i), n.Shape()))
		}
		return left, rest
	}
	g := in[0].Graph()
	more := graph.NewClosure(g, func(g *graph.Graph) []*graph.Node {
		left, _ := parameters(g)
		return []*graph.Node{graph.GreaterThan(left, graph.Const(g, int32(0)))}
	})
	body := graph.NewClosure(g, func(g *graph.Graph) []*graph.Node {
		left, rest := parameters(g)
		s, x := l.step(generators(rest[:4]), rest[4:constant], rest[constant], rest[constant+1:])
		left = graph.Sub(left, graph.Const(g, int32(1)))
		return slices.Concat([]*graph.Node{left}, s[:], x, rest[constant:])
	})
	left := graph.ConvertDType(in[last], dtypes.Int32)
	out := graph.While(more, body, append([]*graph.Node{left}, in[:last]...)...)[1 : 1+constant]
	var diverged *graph.Node
	for _, x := range out[4:] {
		isNaN := graph.ConvertDType(graph.NotEqual(x, x), dtypes.Float32)
		anyNaN := graph.ReduceMax(graph.Reshape(isNaN, l.functions, -1), -1)
		if diverged == nil {
			diverged = anyNaN
		} else {
			diverged = graph.Max(diverged, anyNaN)
		}
	}
	return append(out, diverged)
}

// step is one step of all chains. A coordinate beyond ±simulate.Bound becomes NaN, and
// stays NaN in all later steps.
func (l layout) step(s generators, x []*graph.Node, rows *graph.Node, noise []*graph.Node) (generators, []*graph.Node) {
	g := rows.Graph()
	s, z := l.draw(s, noise)
	t := tableOf(rows, l.functions, l.equation.width(), len(l.dimensions()))
	moved := make([]*graph.Node, len(x))
	for i, move := range l.equation.step(t, x, z) {
		at := graph.Add(x[i], move)
		inside := graph.LessThan(graph.Abs(at), graph.Const(g, float32(simulate.Bound)))
		moved[i] = graph.Where(inside, at, graph.Const(g, float32(math.NaN())))
	}
	return s, moved
}

func (l layout) collect(in []*graph.Node) []*graph.Node {
	times := make([]*graph.Node, l.recorded)
	for j := range times {
		state := graph.Stack(in[j*l.equation.arrays():][:l.equation.arrays()], -1)
		times[j] = graph.Reshape(state, l.functions, l.chains, l.dim())
	}
	return []*graph.Node{graph.Stack(times, 2)}
}
