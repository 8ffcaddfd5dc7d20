package expression

import (
	"math"
	"math/rand/v2"
	"testing"
)

// awkward numbers, of which operands are made.
var awkward = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 0.625, -0.625, 0.1, -3, 7, 22, -22, 44, 100, -100, 700, -700, 709.78, -708.5, -745, 1e4, -1e4,
	math.Pi / 4, math.Pi / 2, -math.Pi, 355, 1 << 19, 1 << 20, -(1<<20 + 1), 1e9, -1e300, 1e-9, -1e-300,
	math.MaxFloat64, -math.MaxFloat64, leastNormal, -leastNormal, math.SmallestNonzeroFloat64, 3e-310, math.Inf(1), math.Inf(-1), math.NaN(),
	math.Sqrt2, math.Sqrt2 / 2, math.Nextafter(math.Sqrt2/2, 1), math.Nextafter(1, 0), math.Nextafter(1, 2), math.Ln2, math.Ln2 / 2, 1.5 * math.Ln2,
}

// All instruction sets compute what the plain kernels do, to the last bit, for
// every number of states and wherever the result goes.
func TestKernelsAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	operand := func() *block {
		var b block
		scale := math.Exp(4 * random.NormFloat64())
		for i := range b {
			b[i] = scale * random.NormFloat64()
			if random.IntN(4) == 0 {
				b[i] = awkward[random.IntN(len(awkward))]
			}
			if random.IntN(20) == 0 {
				b[i] = math.Float64frombits(random.Uint64())
			}
		}
		return &b
	}
	for _, s := range sets[:len(sets)-1] {
		for op := opAdd; op < opUnary; op++ {
			for round := range 400 {
				a, b, c := operand(), operand(), operand()
				if op == opSin || op == opCos { // mostly within the range of the kernel
					for i, v := range a {
						if round%2 == 0 && !(math.Abs(v) <= angleMost) {
							a[i] = float64(i)
						}
					}
				}
				if round%3 == 0 {
					*b = *a
				}
				if round%5 == 0 {
					a = &block{0: 1, 5: 1, 63: 1}
				}
				n := 1 + random.IntN(Lanes)
				var want, got block
				plain[op](&want, a, b, c, n)
				x := *a
				s.kernels[op](&got, a, b, c, n)
				s.kernels[op](a, a, b, c, n)
				for i, w := range want[:n] {
					if !same(got[i], w) || !same(a[i], w) {
						t.Fatalf("%s, operation %d of %v, %v, %v is %v, in place %v, want %v", s.name, op, x[i], b[i], c[i], got[i], a[i], w)
					}
				}
			}
		}
	}
}

func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// Every instruction set has every kernel.
func TestKernelsAreComplete(t *testing.T) {
	for _, s := range sets {
		for op := opAdd; op < opUnary; op++ {
			if s.kernels[op] == nil {
				t.Errorf("%s has no kernel for operation %d", s.name, op)
			}
		}
	}
}

// The elementary functions are within three units in the last place of package
// math's, which is within one of the truth, and have its values at the ends.
func TestElementaryFunctions(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, f := range []struct {
		name      string
		got, want func(float64) float64
		draw      func() float64
	}{
		{"exp", exp, exponential, func() float64 { return 1500*random.Float64() - 760 }},
		{"exp near 0", exp, exponential, func() float64 { return random.NormFloat64() }},
		{"log", log, logarithm, func() float64 { return math.Exp(1400*random.Float64() - 700) }},
		{"log near 1", log, logarithm, func() float64 { return 0.5 + random.Float64() }},
		{"log of subnormals", log, logarithm, func() float64 { return math.Float64frombits(random.Uint64() >> 12) }},
		{"sin", sin, math.Sin, func() float64 { return 10 * random.NormFloat64() }},
		{"cos", cos, math.Cos, func() float64 { return 10 * random.NormFloat64() }},
		{"sin of large angles", sin, math.Sin, func() float64 { return angleMost * (2*random.Float64() - 1) }},
		{"cos of large angles", cos, math.Cos, func() float64 { return angleMost * (2*random.Float64() - 1) }},
		{"tanh", tanh, math.Tanh, func() float64 { return 3 * random.NormFloat64() }},
		{"tanh near 0", tanh, math.Tanh, func() float64 { return 1e-3 * random.NormFloat64() }},
	} {
		check := func(x float64) {
			got, want := f.got(x), f.want(x)
			unit := math.Nextafter(math.Abs(want), math.Inf(1)) - math.Abs(want)
			if !same(got, want) && !(math.Abs(got-want) <= 3*unit) {
				t.Errorf("%s of %v is %v, want %v: %.1f units in the last place", f.name, x, got, want, math.Abs(got-want)/unit)
			}
		}
		for range 50000 {
			check(f.draw())
		}
		for _, x := range awkward {
			check(x)
		}
		if t.Failed() {
			return
		}
	}
}

// exponential is math.Exp, whose assembly overflows a little early.
func exponential(x float64) float64 {
	if x > 700 {
		return math.Exp(x-64) * 6.235149080811616882909e27 // e⁶⁴
	}
	return math.Exp(x)
}

// logarithm is math.Log, whose assembly is wrong for subnormal numbers.
func logarithm(x float64) float64 {
	if x < leastNormal {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// sin is accurate where it is small, beside multiples of π.
func TestSineBesideItsZeros(t *testing.T) {
	// sin(nπ + δ) for the float64 next to nπ, by arbitrary precision.
	for _, c := range []struct{ x, want float64 }{
		{math.Pi, 1.2246467991473531772e-16},
		{2 * math.Pi, -2.4492935982947063545e-16},
		{355, -3.0144353359488449214e-05},
		{710, 6.0288706691585265933e-05},
		{103993, -1.9129335778423750224e-05},
		{833719, 2.3129194164527015006e-06},
	} {
		if got := sin(c.x); !(math.Abs(got-c.want) <= 1e-13*math.Abs(c.want)) {
			t.Errorf("sin(%v) is %v, want %v", c.x, got, c.want)
		}
	}
}

// BenchmarkElementary times functions of a block, by instruction set.
func BenchmarkElementary(b *testing.B) {
	for _, s := range sets {
		for _, f := range []struct {
			name string
			op   opcode
		}{{"exp", opExp}, {"log", opLog}, {"sin", opSin}, {"cos", opCos}, {"tanh", opTanh}} {
			b.Run(s.name+"/"+f.name, func(b *testing.B) {
				var x, y block
				for i := range x {
					x[i] = 0.5 + 0.05*float64(i)
				}
				for b.Loop() {
					s.kernels[f.op](&y, &x, nil, nil, Lanes)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*Lanes), "ns/number")
			})
		}
	}
}
