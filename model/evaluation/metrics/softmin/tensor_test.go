package softmin

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/internal/testclouds"
)

// The product of matrices is the sum at every node, for full blocks and others.
func TestTensorSumsEqualDefinition(t *testing.T) {
	for _, n := range []int{8, 64, 200} {
		for _, nodes := range [][gridAxes]int{{1, 3, 3}, {1, 6, 9}, {3, 3, 6}, {6, 3, 3}} {
			d := gridAxes
			if nodes[0] == 1 {
				d = 2
			}
			stride := n + 3
			a, v, radius := make([]float64, n), make([]float64, d*stride), []float64{0.3, 1, 0.7}[:d]
			source := testclouds.Law{Seed: uint64(n)}
			for j := range a {
				a[j] = -400 * math.Pow(source.Uniform(j, 0), 4)
			}
			for j := range v {
				v[j] = 20 * (source.Uniform(j, 1) - 0.5)
			}
			g := grid{nodes: nodes}
			for range 2 { // what is left of the sums before does not matter
				g.tensorSums(a, v, stride, radius)
			}
			for at, got := range g.value {
				index := [gridAxes]int{at / (nodes[1] * nodes[2]), at / nodes[2] % nodes[1], at % nodes[2]}
				u := make([]float64, d)
				for k := range u {
					axis := gridAxes - d + k
					u[k] = radius[k] * math.Cos(math.Pi*(float64(index[axis])+0.5)/float64(nodes[axis]))
				}
				if want := expSumPlain(a, v, stride, u); !(math.Abs(got-want) <= 1e-9*want) {
					t.Errorf("%d sources on %v nodes: sum %v is %v, want %v", n, nodes, index, got, want)
				}
			}
		}
	}
}

// An expansion of a function that the nodes of two or three axes resolve equals it at
// any point, with as many terms as expand returns.
func TestExpansionsInterpolate(t *testing.T) {
	value := func(u [gridAxes]float64) float64 {
		return math.Exp(u[0]) + math.Exp(0.3*u[0]*u[1]-u[2]) + math.Cosh(2*u[1]+u[2])
	}
	for _, nodes := range [][gridAxes]int{{1, 15, 18}, {12, 15, 15}} {
		g := grid{nodes: nodes}
		for _, z0 := range chebyshevs[nodes[0]].node {
			for _, z1 := range chebyshevs[nodes[1]].node {
				for _, z2 := range chebyshevs[nodes[2]].node {
					g.value = append(g.value, value([gridAxes]float64{z0, z1, z2}))
				}
			}
		}
		terms, ok := g.expand(1e-7)
		if !ok || terms[1] >= nodes[1] || terms[2] >= nodes[2] || terms[1]%gridStep+terms[2]%gridStep > 0 {
			t.Fatalf("%v nodes: terms %v, %v", nodes, terms, ok)
		}
		for axis := range gridAxes {
			for i := range gridTargets {
				if nodes[axis] > 1 {
					g.polynomial[axis][1][i] = math.Sin(float64(100*axis + 7*i))
				}
			}
			g.polynomial[axis].extend(terms[axis])
		}
		var got [gridTargets]float64
		g.evaluate(&got, terms)
		for i, v := range got {
			want := value([gridAxes]float64{g.polynomial[0][1][i], g.polynomial[1][1][i], g.polynomial[2][1][i]})
			if !(math.Abs(v-want) <= 1e-6) {
				t.Errorf("%v nodes: %v at target %d, want %v", nodes, v, i, want)
			}
		}
	}
	// With too few nodes expand is not ok.
	g := grid{nodes: [gridAxes]int{1, 3, 3}}
	for _, z := range chebyshevs[9].node {
		g.value = append(g.value, math.Exp(z))
	}
	if _, ok := g.expand(1e-7); ok {
		t.Error("three nodes resolve an exponential")
	}
}

// Vectors weigh sources as the plain code does.
func TestWeightsAgree(t *testing.T) {
	for _, d := range []int{2, 3} {
		from := measured(testclouds.Law{Kind: "ratio", N: 203, D: d, Seed: 122, Parameters: []float64{1}})
		centre, star := make([]float64, d), make([]float64, d)
		centre[0], star[0] = 0.3, -0.2
		var e exponents
		e.set(make([]float64, from.n), 1, from.groups)
		job := task{Transform: Transform{From: from}, exponents: e, eps: 0.04}
		var want, got scratch
		want.reserve(from.n, d)
		got.reserve(from.n, d)
		clear(want.v)
		clear(got.v)
		job.weighPlain(&want, 3, 5, 200, -1.5, centre, star)
		job.weigh(&got, 3, 5, 200, -1.5, centre, star)
		for name, pair := range map[string][2][]float64{"exponent": {want.a[:198], got.a[:198]}, "slope": {want.v, got.v}} {
			for i, w := range pair[0] {
				if g := pair[1][i]; !(math.Abs(g-w) <= 1e-14*math.Abs(w)) {
					t.Errorf("%dD: %s %d is %v, plain %v", d, name, i, g, w)
				}
			}
		}
	}
}
