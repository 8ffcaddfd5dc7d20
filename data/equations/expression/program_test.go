package expression

import (
	"math/rand/v2"
	"testing"
)

func equation(t *testing.T, drift, diffusion string) *Equation {
	t.Helper()
	b, err := Compile(drift)
	if err != nil {
		t.Fatal(err)
	}
	sigma, err := Compile(diffusion)
	if err != nil {
		t.Fatal(err)
	}
	return NewEquation(b, sigma)
}

// Each distinct subexpression costs one operation per step, constants none.
func TestWhatIsComputed(t *testing.T) {
	for _, c := range []struct {
		drift, diffusion string
		operations       int
	}{
		{"x", "1", 0},
		{"-x", "sqrt(2)*exp(1)/2^0.3", 1},
		{"x-x^3", "0.7", 3},
		{"x^2", "x^3", 2},
		{"x^4", "1", 2},
		{"sin(x)*cos(x)", "2+sin(x)", 4},
		{"exp(-x^2/2)", "exp(-x^2/2)", 4},
		{"1 > 2 ? x : 3", "1", 1},
		{"-x", "-x", 1},
	} {
		if n := len(equation(t, c.drift, c.diffusion).program.code); n != c.operations {
			t.Errorf("%s, %s: %d operations, want %d", c.drift, c.diffusion, n, c.operations)
		}
	}
}

// Long formulas have few values at a time.
func TestRegistersAreUsedAgain(t *testing.T) {
	long := "x"
	for range 100 {
		long = "sin(" + long + ")*x+2"
	}
	e := equation(t, long, "1+x^2")
	if n := e.program.registers; n > 6 {
		t.Errorf("%d operations take %d registers", len(e.program.code), n)
	}
}

// Drift and diffusion together are what each is alone, for every instruction
// set, number of states and formulas of all shapes.
func TestEquation(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		drift, diffusion := formula(random, 5), formula(random, 5)
		e := equation(t, drift, diffusion)
		driftAt, diffusionAt := alone(t, drift), alone(t, diffusion)
		for _, engine := range Engines() {
			var x block
			evaluate, b, sigma := e.Bind(engine, &x)
			for range 3 {
				n := 1 + random.IntN(Lanes)
				for i := range x {
					x[i] = 3 * random.NormFloat64()
				}
				evaluate(n)
				for i := range n {
					if want := driftAt(x[i]); !same(b[i], want) {
						t.Fatalf("%s: drift %s at %v beside %s is %v, alone %v", engine, drift, x[i], diffusion, b[i], want)
					}
					if want := diffusionAt(x[i]); !same(sigma[i], want) {
						t.Fatalf("%s: diffusion %s at %v beside %s is %v, alone %v", engine, diffusion, x[i], drift, sigma[i], want)
					}
				}
			}
		}
	}
}

// formula makes one of some depth.
func formula(random *rand.Rand, depth int) string {
	if depth == 0 {
		return []string{"x", "2", "0.3", "x"}[random.IntN(4)]
	}
	f := func() string { return formula(random, depth-1-random.IntN(depth)) }
	switch random.IntN(10) {
	case 0:
		return "(" + f() + " < " + f() + " ? " + f() + " : " + f() + ")"
	case 1:
		return []string{"sin", "cos", "exp", "tanh", "abs", "sqrt", "log", "erf"}[random.IntN(8)] + "(" + f() + ")"
	case 2:
		return "max(" + f() + "," + f() + ")"
	case 3:
		return "(" + f() + ")^3"
	case 4:
		return "(-" + f() + ")"
	}
	return "(" + f() + []string{"+", "-", "*", "/"}[random.IntN(4)] + f() + ")"
}

// alone computes a formula operation by operation on one number.
func alone(t *testing.T, source string) func(x float64) float64 {
	t.Helper()
	e, err := Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	g := newGraph("x")
	out := e.add(g)
	values := make([]block, len(g.nodes))
	return func(x float64) float64 {
		for id, n := range g.nodes {
			switch n.op {
			case opState:
				values[id][0] = x
			case opConstant:
				values[id][0], _ = g.valueOf(id)
			default:
				n.kernel(plain)(&values[id], &values[n.a], &values[n.b], &values[n.c], 1)
			}
		}
		return values[out][0]
	}
}
