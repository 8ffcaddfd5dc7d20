package simulate

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// The error of an average over the invariant law is in proportion to dtᵖ: on a log-log plot the slope
// is the order p of the integrator. The averages have no error of chance (transfer).
func TestOrdersOfIntegrators(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: one goroutine computes all, in which the race detector has nothing to find")
	}
	const logistic = math.Pi * math.Pi / 48 // the variance of p ∝ cosh(2x)⁻², by −2tanh(2x) and noise 1
	line, steady := []string{"-2*tanh(2*x0)"}, []string{"1"}
	linear, student := []string{"-x0"}, []string{"sqrt(1 + x0^2/4)"}
	pendulum, thermal := []string{"x1", "-2*tanh(2*x0) - x1"}, []string{"0", "1"}
	for _, c := range []struct {
		name             string
		drift, diffusion []string
		exact            float64
		integrator       Integrator
		coarse           float64 // time step; the other is half of it
		order            float64
	}{
		{"line", line, steady, logistic, Euler, 0.02, 1},
		{"line", line, steady, logistic, LeimkuhlerMatthews, 0.1, 2},
		{"line", line, steady, logistic, Heun, 0.04, 2},
		{"line", line, steady, logistic, Platen, 0.04, 2},
		{"line", line, steady, logistic, Milstein, 0.02, 1},
		{"line", line, steady, logistic, Tamed, 0.02, 1},
		// E x² = 1/(2 − ¼), since 0 = E(−2x² + 1 + x²/4).
		{"student", linear, student, 4. / 7, Euler, 0.04, 1},
		{"student", linear, student, 4. / 7, Milstein, 0.04, 1},
		{"student", linear, student, 4. / 7, Platen, 0.1, 2},
		// The positions have the law of the line, at the temperature ½.
		{"pendulum", pendulum, thermal, logistic, BAOAB, 0.4, 2},
	} {
		s := systemOf(t, c.drift, c.diffusion)
		axes := []side{{-6, 6, 401}}
		switch c.name {
		case "student":
			axes = []side{{-30, 30, 601}}
		case "pendulum":
			axes = []side{{-3.5, 3.5, 91}, {-4, 4, 91}}
		}
		var biases [2]float64
		for k, dt := range []float64{c.coarse, c.coarse / 2} {
			biases[k] = newTransfer(t, s, c.integrator, dt, axes).square(int(16/dt)) - c.exact
		}
		slope := math.Log2(biases[0] / biases[1])
		t.Logf("%s, %v: errors %.2e and %.2e, slope %.2f", c.name, c.integrator, biases[0], biases[1], slope)
		if !(math.Abs(slope-c.order) < 0.15) {
			t.Errorf("%s, %v: errors %.2e and %.2e with dt %g and its half, slope %.2f, want %g", c.name, c.integrator, biases[0], biases[1], c.coarse, slope, c.order)
		}
	}
}

// systemOf compiles formulas in the box [-3, 3].
func systemOf(t *testing.T, drift, diffusion []string) sde.Space {
	t.Helper()
	s, err := expression.CompileSystem(len(drift), drift, diffusion, nil)
	if err != nil {
		t.Fatal(err)
	}
	space, err := s.Space(slices.Repeat([]sde.Interval{{Lo: -3, Hi: 3}}, len(drift)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return space
}

// side has n nodes from lo to hi.
type side struct {
	lo, hi float64
	n      int
}

func (a side) at(i int) float64 { return a.lo + (a.hi-a.lo)*float64(i)/float64(a.n-1) }

// stencil are four nodes of a side, of which cubic interpolation at a point takes these parts.
type stencil struct {
	first int
	part  [4]float64
}

func (a side) stencil(x float64) (s stencil) {
	u := min(max((x-a.lo)/(a.hi-a.lo)*float64(a.n-1), 0), float64(a.n-1)) // laws have almost nothing beyond
	s.first = min(max(int(u)-1, 0), a.n-4)
	u -= float64(s.first)
	s.part = [4]float64{
		-(u - 1) * (u - 2) * (u - 3) / 6, u * (u - 2) * (u - 3) / 2, -u * (u - 1) * (u - 3) / 2, u * (u - 1) * (u - 2) / 6,
	}
	return s
}

// transfer is f ↦ E f(X′) of a step X → X′, for functions on a grid in one or two dimensions. It has the
// states after steps of an integrator with normals at the nodes of Gauss and Hermite, so that the
// expectation is a sum. A state of Leimkuhler and Matthews has the node of its last normal, too.
type transfer struct {
	axes   []side
	nodes  int
	memory int          // nodes that a state has: all, or 1
	weight []float64    // of nodes
	after  [][2]stencil // of the states [grid, memory, nodes]
}

func newTransfer(t *testing.T, s sde.Space, i Integrator, dt float64, axes []side) *transfer {
	t.Helper()
	const nodes = 10
	p := &transfer{axes: axes, nodes: nodes, memory: 1, weight: make([]float64, nodes)}
	if i == LeimkuhlerMatthews {
		p.memory = nodes
	}
	z := make([]float64, nodes)
	quad.Hermite{}.FixedLocations(z, p.weight, math.Inf(-1), math.Inf(1))
	for k := range z {
		z[k] *= math.Sqrt2
		p.weight[k] /= math.Sqrt(math.Pi)
	}
	c, err := newCloud(plain, s, i, Tempering{}, dt)
	if err != nil {
		t.Fatal(err)
	}
	d, total := s.Dim(), p.points()*p.memory*nodes
	p.after = make([][2]stencil, total)
	for first := 0; first < total; first += lanes {
		c.active = min(lanes, total-first)
		for l := range c.active {
			at := first + l
			node, last, g := at%nodes, at/nodes%p.memory, at/nodes/p.memory
			for k, a := range axes {
				c.x[k][l] = a.at(g % a.n)
				g /= a.n
				c.normals.values[k*lanes+l] = float32(z[last]) // which only one that remembers reads before the step
				c.normals.values[(d+k)*lanes+l] = float32(z[node])
			}
		}
		c.used = 0
		c.steps.begin(c)
		c.used = d
		c.move()
		for l := range c.active {
			for k, a := range axes {
				p.after[first+l][k] = a.stencil(c.x[k][l])
			}
		}
	}
	return p
}

func (p *transfer) points() int {
	n := 1
	for _, a := range p.axes {
		n *= a.n
	}
	return n
}

// square is the mean of x0² after so many steps from 0, where it no longer depends on the start.
func (p *transfer) square(steps int) float64 {
	f, next := make([]float64, p.points()*p.memory), make([]float64, p.points()*p.memory)
	for s := range f {
		x := p.axes[0].at(s / p.memory % p.axes[0].n)
		f[s] = x * x
	}
	for range steps {
		for s := range f {
			next[s] = 0
			for k := range p.nodes {
				next[s] += p.weight[k] * p.value(f, p.after[s*p.nodes+k], k%p.memory)
			}
		}
		f, next = next, f
	}
	return f[p.points()/2*p.memory]
}

// value of a function between nodes of the grid.
func (p *transfer) value(f []float64, at [2]stencil, memory int) (v float64) {
	row := func(start int) (v float64) {
		for k, part := range at[0].part {
			v += part * f[(start+at[0].first+k)*p.memory+memory]
		}
		return v
	}
	if len(p.axes) == 1 {
		return row(0)
	}
	for k, part := range at[1].part {
		v += part * row((at[1].first+k)*p.axes[0].n)
	}
	return v
}
