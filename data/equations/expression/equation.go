package expression

// Equation is dX = b(X)dt + σ(X)dW with formulas for b and σ. Common subexpressions are
// computed once. It is safe for concurrent use.
type Equation struct {
	program *program
}

// NewEquation joins a drift and a diffusion in x alone, as Compile makes them.
func NewEquation(drift, diffusion *Expression) *Equation {
	g := newGraph("x")
	return &Equation{g.compile(drift.add(g), diffusion.add(g))}
}

// Bind prepares the evaluation of b and σ at the states x, for one goroutine, with an
// engine's instructions (Engines). evaluate(n) computes at least the first n values of drift
// and diffusion. The returned blocks do not move; the block of the formula "x" is x itself.
func (e *Equation) Bind(engine string, x *[Lanes]float64) (evaluate func(n int), drift, diffusion *[Lanes]float64) {
	m := e.program.bind(kernelsOf(engine), x)
	return m.run, m.outputs[0], m.outputs[1]
}

// Engines names the instruction sets for formulas of this processor and build, fastest
// first: "avx512", "avx2", and always "go". All give the same numbers to the last bit.
func Engines() []string {
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.name
	}
	return names
}

// set is an instruction set.
type set struct {
	name    string
	kernels *kernels
}

// sets are those of this processor and build, fastest first.
var sets = append(vectorSets(), set{"go", plain})

// kernelsOf are those of an instruction set. A build without them (GOEXPERIMENT=simd is missing)
// has plain Go for all, with the same numbers.
func kernelsOf(engine string) *kernels {
	for _, s := range sets {
		if s.name == engine {
			return s.kernels
		}
	}
	return plain
}

// machine is a program with memory for its registers.
type machine struct {
	steps   []step
	outputs []*block
}

type step struct {
	run          kernel
	dst, a, b, c *block
}

// bind allocates the registers; those of the variables are given.
func (p *program) bind(k *kernels, variables ...*block) *machine {
	registers := make([]block, p.registers)
	for r, v := range p.constants {
		for i := range registers[r] {
			registers[r][i] = v
		}
	}
	place := func(r int) *block {
		if r < p.inputs {
			return variables[r]
		}
		return &registers[r]
	}
	bound := func(code []instruction) (steps []step) {
		for _, in := range code {
			steps = append(steps, step{in.kernel(k), place(in.dst), place(in.a), place(in.b), place(in.c)})
		}
		return steps
	}
	(&machine{steps: bound(p.once)}).run(Lanes)
	m := &machine{steps: bound(p.code)}
	for _, r := range p.outputs {
		m.outputs = append(m.outputs, place(r))
	}
	return m
}

// run computes the outputs for the first n states, at most Lanes.
func (m *machine) run(n int) {
	n = min(n, Lanes)
	for i := range m.steps {
		s := &m.steps[i]
		s.run(s.dst, s.a, s.b, s.c, n)
	}
}
