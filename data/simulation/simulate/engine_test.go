package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// otherEngines are all but the plain one, which is the last.
func otherEngines(t *testing.T) []*Engine {
	if engines[len(engines)-1] != plain {
		t.Fatalf("the last of %v is not the plain engine", engines)
	}
	return engines[:len(engines)-1]
}

// jagged has coefficients that differ at every node, so that a wrong cell shows.
func jagged(nodes int) sde.Coefficients {
	r := rand.New(rand.NewPCG(1, uint64(nodes)))
	return tabulate(sde.Grid{Lo: -3, Hi: 2.5, N: nodes},
		func(x float64) float64 { return -x + 2*r.NormFloat64() },
		func(x float64) float64 { return 0.5 + r.Float64() })
}

// All engines give the plain one's samples to the last bit, for all sizes of
// grids and awkward numbers of chains and steps.
func TestEnginesAgree(t *testing.T) {
	var sizes []int
	for n := 2; n <= 300; n++ {
		sizes = append(sizes, n)
	}
	schemes := []Scheme{
		{DT: 0.01, BurnIn: 0, Thin: 1, Chains: 1},
		{DT: 0.05, BurnIn: 3, Thin: 2, Chains: 7},
		{DT: 0.02, BurnIn: 15, Thin: 16, Chains: 15},
		{DT: 0.02, BurnIn: 16, Thin: 17, Chains: 16},
		{DT: 0.1, BurnIn: 37, Thin: 10, Chains: 17},
		{DT: 0.1, BurnIn: 5, Thin: 40, Chains: 33},
		{DT: 0.01, BurnIn: 40, Thin: 3, Chains: 63},
		{DT: 0.01, BurnIn: 17, Thin: 33, Chains: 64},
		{DT: 0.03, BurnIn: 100, Thin: 5, Chains: 130},
	}
	for _, e := range otherEngines(t) {
		for _, nodes := range append(sizes, 1000, 4097) {
			c := jagged(nodes)
			s := schemes[nodes%len(schemes)]
			compareEngines(t, e, c, s, 5, uint64(nodes))
		}
		for function, s := range schemes { // and each with both kinds of table
			compareEngines(t, e, jagged(64), s, 9, uint64(function))
			compareEngines(t, e, jagged(65), s, 9, uint64(function))
		}
	}
}

func compareEngines(t *testing.T, e *Engine, system sde.System, s Scheme, perChain int, function uint64) {
	t.Helper()
	d := system.Dim()
	want, got := make([]float32, perChain*s.Chains*d), make([]float32, perChain*s.Chains*d)
	if err := plain.Chains(context.Background(), want, system, s, 11, function, "engines"); err != nil {
		t.Fatal(err)
	}
	if err := e.Chains(context.Background(), got, system, s, 11, function, "engines"); err != nil {
		t.Fatal(err)
	}
	for i, v := range want {
		if math.Float32bits(got[i]) != math.Float32bits(v) {
			t.Fatalf("%v, %+v: coordinate %d of sample %d of chain %d is %v, plain %v for %s",
				e, s, i%d, i/d%perChain, i/d/perChain, got[i], v, sizes(system))
		}
	}
}

// One step from everywhere: the nodes and middles of all cells with their
// neighbours, zeros of both signs, subnormal, huge and non-finite states. The
// latter must stay so, or divergence would go unseen.
func TestEnginesStep(t *testing.T) {
	for _, e := range otherEngines(t) {
		for _, nodes := range []int{2, 3, 31, 32, 33, 63, 64, 65, 255, 256, 257} {
			c := jagged(nodes)
			table := newTable(c, 0.25)
			zero := math.Copysign(0, -1)
			places := []float64{table.origin[0], 0, zero, 1e-42, -1e-42, bound, -bound, 1e30, -1e30, math.MaxFloat32, -math.MaxFloat32,
				math.Inf(1), math.Inf(-1), math.NaN()}
			for i := range nodes {
				for _, x := range []float64{c.Grid.At(i), c.Grid.At(i) + c.Grid.Step()/2} {
					v := float32(x)
					places = append(places, x, float64(math.Nextafter32(v, 9)), float64(math.Nextafter32(v, -9)))
				}
			}
			var z [lanes]float32
			for first := 0; first < len(places); first += lanes {
				var from, want, got states[float32]
				for l := range lanes {
					from[l] = float32(table.toState(0, places[(first+l)%len(places)]))
					z[l] = float32(l%7) - 3
				}
				want, got = from, from
				plain.line(table, &want, lanes, z[:])
				e.line(table, &got, lanes, z[:])
				for l, v := range want[:lanes] {
					if math.Float32bits(got[l]) != math.Float32bits(v) && !(v != v && got[l] != got[l]) {
						t.Fatalf("%v, %d nodes: from %v to %v, plain %v", e, nodes, from[l], got[l], v)
					}
				}
			}
		}
	}
}

// States on either side of the bound, in every lane.
func TestEnginesBound(t *testing.T) {
	inside := math.Nextafter32(bound, 0)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	still := newTable(tabulate(sde.Grid{Lo: -1, Hi: 1, N: 3}, func(float64) float64 { return 0 }, func(float64) float64 { return 0 }), 1)
	z := make([]float32, lanes)
	for _, e := range engines {
		for _, active := range []int{1, 5, 16, 17, 64} {
			for l := range active {
				for _, c := range []struct {
					state float32
					want  bool
				}{{inside, true}, {-inside, true}, {bound, false}, {-bound, false}, {nan, false}, {inf, false}, {-inf, false}} {
					x := states[float32]{}
					x[l] = c.state
					if got := e.line(still, &x, active, z); got != c.want {
						t.Errorf("%v: lane %d of %d at %v: bounded is %v", e, l, active, c.state, got)
					}
				}
			}
		}
	}
}

// The generators reach every segment of the inverse and the tail, and are in
// the same state afterwards.
func TestEnginesNormals(t *testing.T) {
	for _, e := range otherEngines(t) {
		for _, active := range []int{1, 8, 9, 16, 40, 64} {
			want := new(normals)
			for l := range lanes {
				want.seed(min(l, active-1), 1, "engines", 2, uint64(l))
			}
			for l := active; l < lanes; l++ {
				want.repeat(l)
			}
			got := *want
			tails := 0
			for w := range 2000 {
				if w == 7 { // the ends of tail and cubics, with both signs
					for l, r := range []uint32{0, 1, cubicFirst - 1, cubicFirst, 1<<31 - 65, 1<<31 - 64, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
						l %= active
						want.s0[l], want.s3[l] = r, 0
						got.s0[l], got.s3[l] = r, 0
					}
				}
				want.fill(active)
				e.fill(&got, active)
				for k := range window {
					for l := range active {
						v, g := want.values[k*lanes+l], got.values[k*lanes+l]
						if math.Abs(float64(v)) > 4.3 {
							tails++
						}
						if math.Float32bits(v) != math.Float32bits(g) {
							t.Fatalf("%v, %d lanes: normal %d of lane %d in window %d is %v, plain %v", e, active, k, l, w, g, v)
						}
					}
				}
				for l := range active {
					if want.s0[l] != got.s0[l] || want.s1[l] != got.s1[l] || want.s2[l] != got.s2[l] || want.s3[l] != got.s3[l] {
						t.Fatalf("%v, %d lanes: generator of lane %d differs after window %d", e, active, l, w)
					}
				}
			}
			if active == lanes && tails == 0 {
				t.Error("no normal came from the tail")
			}
		}
	}
}

// Divergence is the same event on every engine.
func TestEnginesDiverge(t *testing.T) {
	outward := tabulate(sde.Grid{Lo: -1, Hi: 1, N: 3}, func(float64) float64 { return 1e4 }, func(float64) float64 { return 100 })
	for _, chains := range []int{1, 3, 64, 70} {
		var want string
		for _, e := range engines {
			s := Scheme{DT: 1, BurnIn: 1000, Thin: 1, Chains: chains}
			err := e.Chains(context.Background(), make([]float32, chains), outward, s, 1, 42, "p")
			if !errors.Is(err, ErrDiverged) {
				t.Fatalf("%v: %v, want ErrDiverged", e, err)
			}
			if want == "" {
				want = err.Error()
			}
			if err.Error() != want {
				t.Errorf("%d chains: %v says %q, %v %q", chains, e, err, engines[0], want)
			}
		}
	}
}

// A step does not allocate: ten times as many steps, the same count.
func TestEnginesAllocate(t *testing.T) {
	for _, e := range engines {
		for _, system := range []sde.System{rough, smoothPlane(4, false)} {
			count := func(steps int) float64 {
				dst := make([]float32, 100*system.Dim())
				return testing.AllocsPerRun(5, func() {
					s := Scheme{DT: 0.01, BurnIn: steps, Thin: 1, Chains: 100}
					if err := e.Chains(context.Background(), dst, system, s, 1, 0, "p"); err != nil {
						t.Fatal(err)
					}
				})
			}
			if few, many := count(100), count(1000); few != many || !(few <= 10) {
				t.Errorf("%v, %T: %v allocations in 100 steps, %v in 1000", e, system, few, many)
			}
		}
	}
}

func TestNewEngine(t *testing.T) {
	for _, name := range Engines() {
		e, err := NewEngine(name)
		if err != nil || e.String() != name {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
	if names := Engines(); !slices.Contains(names, "go") {
		t.Errorf("engines are %v, want go among them", names)
	}
	for _, name := range []string{"", "neon", "AVX512"} {
		e, err := NewEngine(name)
		if want := fmt.Sprintf("%q, this processor has ", name); e != nil || !errors.Is(err, ErrEngine) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want ErrEngine with %s", name, e, err, want)
		}
	}
}
