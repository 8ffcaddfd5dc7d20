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

// diffusions are the six kinds, by the numbers at a node and whether they vary.
var diffusions = []struct {
	terms    int
	constant bool
}{{1, true}, {2, true}, {4, true}, {1, false}, {2, false}, {4, false}}

// jaggedPlane has coefficients that differ at every node, an inward pull, and
// different spacings.
func jaggedPlane(nx, ny, terms int, constant bool) sde.Plane {
	r := rand.New(rand.NewPCG(uint64(nx), uint64(ny)))
	p := sde.Plane{X: sde.Grid{Lo: -3, Hi: 2.5, N: nx}, Y: sde.Grid{Lo: -1, Hi: 6, N: ny}}
	for n := range p.Nodes() {
		x, y := p.X.At(n%nx), p.Y.At(n/nx)
		p.Drift = append(p.Drift, float32(-x+r.NormFloat64()), float32(2-y+r.NormFloat64()))
		if n > 0 && constant {
			continue
		}
		for term := range terms {
			s := 0.5 + r.Float64()
			if terms == 4 && (term == 1 || term == 2) { // dominated by the diagonal
				s = 0.9 * (r.Float64() - 0.5)
			}
			p.Diffusion = append(p.Diffusion, float32(s))
		}
	}
	return p
}

var planeSizes = [][2]int{{2, 2}, {2, 7}, {32, 32}, {40, 3}, {3, 200}}

// sizes says which of the tests' equations it is.
func sizes(system sde.System) string {
	switch system := system.(type) {
	case sde.Coefficients:
		return fmt.Sprintf("%d nodes", system.Grid.N)
	case sde.Plane:
		return fmt.Sprintf("%d×%d nodes, %d values of diffusion", system.X.N, system.Y.N, len(system.Diffusion))
	}
	return fmt.Sprintf("%T", system)
}

// All engines give the plain one's samples to the last bit, for all kinds of
// diffusion and awkward grids and numbers of chains and steps.
func TestPlaneEnginesAgree(t *testing.T) {
	schemes := []Scheme{
		{DT: 0.01, BurnIn: 0, Thin: 1, Chains: 1},
		{DT: 0.05, BurnIn: 3, Thin: 2, Chains: 7},
		{DT: 0.02, BurnIn: 7, Thin: 8, Chains: 15},
		{DT: 0.02, BurnIn: 8, Thin: 9, Chains: 16},
		{DT: 0.1, BurnIn: 37, Thin: 10, Chains: 17},
		{DT: 0.01, BurnIn: 40, Thin: 3, Chains: 63},
		{DT: 0.01, BurnIn: 17, Thin: 33, Chains: 64},
		{DT: 0.3, BurnIn: 16, Thin: 1, Chains: 65},
		{DT: 0.03, BurnIn: 100, Thin: 5, Chains: 130},
	}
	for _, e := range otherEngines(t) {
		for _, size := range planeSizes {
			for k, kind := range diffusions {
				p := jaggedPlane(size[0], size[1], kind.terms, kind.constant)
				if terms, constant := p.DiffusionTerms(); terms != kind.terms || constant != kind.constant {
					continue // the four numbers of one matrix are those of 2×2 nodes
				}
				for function, s := range schemes {
					compareEngines(t, e, p, s, 5, uint64(10*function+k))
				}
			}
		}
	}
}

// Offsets into large tables are whole numbers beyond 2²⁴, which float32 has only
// if they are multiples of a cell.
func TestPlaneEnginesLargeGrid(t *testing.T) {
	s := Scheme{DT: 0.1, BurnIn: 10, Thin: 3, Chains: 64, Start: "3"}
	for _, e := range otherEngines(t) {
		compareEngines(t, e, jaggedPlane(600, 400, 4, false), s, 5, 1)
	}
}

// everywhere are places along an axis: its nodes and the middles between them
// with their neighbours, and far outside.
func everywhere(g sde.Grid) []float32 {
	places := []float32{-bound, -100, float32(g.Lo) - 0.01, float32(g.Hi) + 0.01, 100, bound}
	for i := range g.N {
		for _, x := range []float64{g.At(i), g.At(i) + g.Step()/2} {
			v := float32(x)
			places = append(places, v, math.Nextafter32(v, 9), math.Nextafter32(v, -9))
		}
	}
	return places
}

// One step from everywhere, what is not a number included, which must stay so:
// divergence would go unseen.
func TestPlaneEnginesStep(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	odd := []float32{0, float32(math.Copysign(0, -1)), 1e-42, math.MaxFloat32, -math.MaxFloat32, inf, -inf, nan}
	var z [2 * lanes]float32
	for i := range z {
		z[i] = float32(i%7) - 3
	}
	for _, e := range otherEngines(t) {
		for _, size := range planeSizes {
			for _, kind := range diffusions {
				table := newPlaneTable(jaggedPlane(size[0], size[1], kind.terms, kind.constant), 0.25)
				xs := append(everywhere(sde.Grid{Lo: -3, Hi: 2.5, N: size[0]}), odd...)
				ys := append(everywhere(sde.Grid{Lo: -1, Hi: 6, N: size[1]}), odd...)
				// All pairs of places of small grids, the first ones of larger.
				for first := 0; first < len(xs)*len(ys) && first < 1<<15; first += lanes {
					var from, want, got states[float32]
					for l := range lanes {
						from[l], from[lanes+l] = xs[(first+l)%len(xs)], ys[(first+l)/len(xs)%len(ys)]
					}
					want, got = from, from
					plain.plane(table, &want, lanes, z[:])
					e.plane(table, &got, lanes, z[:])
					for i, v := range want {
						if math.Float32bits(got[i]) != math.Float32bits(v) && !(v != v && got[i] != got[i]) {
							t.Fatalf("%v, %v nodes, %+v: from (%v, %v) coordinate %d goes to %v, plain %v",
								e, size, kind, from[i%lanes], from[lanes+i%lanes], i/lanes, got[i], v)
						}
					}
				}
			}
		}
	}
}

// States on either side of the bound, in every lane and coordinate.
func TestPlaneEnginesBound(t *testing.T) {
	inside := math.Nextafter32(bound, 0)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	still := newPlaneTable(sde.Plane{X: sde.Grid{Lo: -1, Hi: 1, N: 2}, Y: sde.Grid{Lo: -1, Hi: 1, N: 3}, Drift: make([]float32, 12), Diffusion: []float32{0}}, 1)
	z := make([]float32, 2*lanes)
	for _, e := range engines {
		for _, active := range []int{1, 3, 4, 5, 16, 17, 64} {
			for l := range active {
				for i, v := range []float32{inside, -inside, bound, -bound, nan, inf, -inf} {
					for c := range 2 {
						x := states[float32]{}
						x[c*lanes+l] = v
						if got := e.plane(still, &x, active, z); got != (i < 2) {
							t.Errorf("%v: coordinate %d of lane %d of %d at %v: bounded is %v", e, c, l, active, v, got)
						}
					}
				}
			}
		}
	}
}

// fieldAt is the coordinate-th of k numbers per node, bilinear and clamped, in
// double precision.
func fieldAt(p sde.Plane, values []float32, k, coordinate int, x, y float64) float64 {
	i, d := cellOf(p.X, x)
	j, e := cellOf(p.Y, y)
	at := func(i, j int) float64 { return float64(values[k*(j*p.X.N+i)+coordinate]) }
	return (1-e)*((1-d)*at(i, j)+d*at(i+1, j)) + e*((1-d)*at(i, j+1)+d*at(i+1, j+1))
}

func cellOf(g sde.Grid, x float64) (cell int, part float64) {
	u := min(max((x-g.Lo)/g.Step(), 0), float64(g.N-1))
	cell = min(int(u), g.N-2)
	return cell, u - float64(cell)
}

// planeStep is a step in double precision.
func planeStep(p sde.Plane, dt, x, y, z0, z1 float64) (float64, float64) {
	s := [4]float64{}
	k, constant := p.DiffusionTerms()
	for term := range k {
		at := term
		switch {
		case k == 2:
			at = 3 * term
		case k == 1:
			at = 0
		}
		if s[at] = float64(p.Diffusion[term]); !constant {
			s[at] = fieldAt(p, p.Diffusion, k, term, x, y)
		}
	}
	if k == 1 {
		s[3] = s[0]
	}
	root := math.Sqrt(dt)
	return x + fieldAt(p, p.Drift, 2, 0, x, y)*dt + (s[0]*z0+s[1]*z1)*root,
		y + fieldAt(p, p.Drift, 2, 1, x, y)*dt + (s[2]*z0+s[3]*z1)*root
}

// One step of the table is one in double precision, from everywhere.
func TestPlaneStep(t *testing.T) {
	for _, size := range planeSizes {
		for _, kind := range diffusions {
			p := jaggedPlane(size[0], size[1], kind.terms, kind.constant)
			table := newPlaneTable(p, 0.25)
			for _, x := range everywhere(p.X) {
				for _, y := range everywhere(p.Y) {
					xs, ys := []float32{x}, []float32{y}
					table.step(xs, ys, []float32{1}, []float32{-2})
					wantX, wantY := planeStep(p, 0.25, float64(x), float64(y), 1, -2)
					tolerance := 1e-4 + 1e-7*(math.Abs(wantX)+math.Abs(wantY))
					if !(math.Abs(float64(xs[0])-wantX) <= tolerance && math.Abs(float64(ys[0])-wantY) <= tolerance) {
						t.Fatalf("%v nodes, %+v: from (%v, %v) to (%v, %v), want (%v, %v)", size, kind, x, y, xs[0], ys[0], wantX, wantY)
					}
				}
			}
		}
	}
}

// smoothPlane forgets errors: rounding does not grow along a chain.
func smoothPlane(terms int, constant bool) sde.Plane {
	p := sde.Plane{X: sde.Grid{Lo: -4, Hi: 4, N: 33}, Y: sde.Grid{Lo: -5, Hi: 5, N: 21}}
	for n := range p.Nodes() {
		x, y := p.X.At(n%p.X.N), p.Y.At(n/p.X.N)
		p.Drift = append(p.Drift, float32(math.Sin(y)-2*x), float32(math.Cos(x)-y))
		if n > 0 && constant {
			continue
		}
		s := []float64{1 + 0.3*math.Cos(x), 0.8 + 0.2*math.Sin(y)}
		if terms == 4 {
			s = []float64{s[0], 0.3 * math.Sin(x+y), -0.2 * math.Cos(y), s[1]}
		}
		for _, v := range s[:terms] {
			p.Diffusion = append(p.Diffusion, float32(v))
		}
	}
	return p
}

// Lanes, windows, thinning, the order of draws and the layout of dst: every
// chain is what a dumb simulation gives, up to float32 rounding.
func TestPlaneAgainstDumbSimulation(t *testing.T) {
	for _, s := range []Scheme{
		{DT: 0.01, BurnIn: 0, Thin: 1, Chains: 1},
		{DT: 0.01, BurnIn: 1, Thin: 3, Chains: 2, Start: "0.5"},
		{DT: 0.02, BurnIn: 7, Thin: 8, Chains: 63},
		{DT: 0.02, BurnIn: 8, Thin: 17, Chains: 64},
		{DT: 0.01, BurnIn: 5, Thin: 40, Chains: 130},
	} {
		for _, kind := range diffusions {
			const perChain = 7
			p := smoothPlane(kind.terms, kind.constant)
			dst := make([]float32, 2*perChain*s.Chains)
			if err := Chains(context.Background(), dst, p, s, 3, 5, "p"); err != nil {
				t.Fatal(err)
			}
			for chain := range s.Chains {
				n := new(normals)
				n.seed(0, 3, "p", 5, uint64(chain))
				draws := window
				next := func() float64 {
					if draws == window {
						n.fill(1)
						draws = 0
					}
					draws++
					return float64(n.values[(draws-1)*lanes])
				}
				deviation, _ := s.Start.deviation()
				x, y := next()*deviation, next()*deviation
				for step := range s.Steps(perChain) + 1 {
					if j := step - s.BurnIn; j >= 0 && j%s.Thin == 0 {
						got := dst[2*(chain*perChain+j/s.Thin):][:2]
						if !(math.Abs(float64(got[0])-x) <= 1e-4 && math.Abs(float64(got[1])-y) <= 1e-4) {
							t.Fatalf("%+v, %+v: sample %d of chain %d is %v, want (%v, %v)", s, kind, j/s.Thin, chain, got, x, y)
						}
					}
					z0 := next()
					x, y = planeStep(p, s.DT, x, y, z0, next())
				}
			}
		}
	}
}

// The first samples are fixed for ever: data sets depend on them.
func TestPlaneSamples(t *testing.T) {
	dst := make([]float32, 2*4*20)
	s := Scheme{DT: 0.01, BurnIn: 20, Thin: 5, Chains: 20}
	if err := Chains(context.Background(), dst, smoothPlane(4, false), s, 1, 2, "a"); err != nil {
		t.Fatal(err)
	}
	if want := []float32{0.8393009, 2.6710129, 0.50962615, 2.6182635}; !slices.Equal(dst[:4], want) {
		t.Errorf("samples changed: %v, want %v", dst[:4], want)
	}
}

func TestPlaneDivergence(t *testing.T) {
	// Only y is driven away: past the bound in step 99 or 100.
	outward := sde.Plane{X: sde.Grid{Lo: -1, Hi: 1, N: 2}, Y: sde.Grid{Lo: -1, Hi: 1, N: 2},
		Drift: []float32{0, 1e4, 0, 1e4, 0, 1e4, 0, 1e4}, Diffusion: []float32{1, 50}}
	for _, chains := range []int{1, 3, 64, 70} {
		var want string
		for _, e := range engines {
			err := e.Chains(context.Background(), make([]float32, 2*chains), outward, Scheme{DT: 1, BurnIn: 1000, Thin: 1, Chains: chains}, 1, 42, "p")
			var diverged *DivergedError
			if !errors.Is(err, ErrDiverged) || !errors.As(err, &diverged) {
				t.Fatalf("%v: %v, want ErrDiverged", e, err)
			}
			if diverged.Function != 42 || diverged.Coordinate != 2 || diverged.Step < 97 || diverged.Step > 102 || !(diverged.From < bound && diverged.To >= bound) {
				t.Errorf("%v: %+v", e, diverged)
			}
			if want == "" {
				want = err.Error()
			}
			if err.Error() != want || !strings.Contains(want, ": coordinate 2 of the state went from ") {
				t.Errorf("%d chains: %v says %q, %v %q", chains, e, err, engines[0], want)
			}
		}
	}
}

func TestPlaneRefusals(t *testing.T) {
	good := Scheme{DT: 0.01, BurnIn: 1, Thin: 1, Chains: 4}
	broken := smoothPlane(1, true)
	broken.Drift[2*33+1] = float32(math.NaN())
	flat := smoothPlane(2, true)
	flat.Diffusion[0], flat.Diffusion[1] = 0, 0
	for _, c := range []struct {
		p    sde.Plane
		n    int
		want string
	}{
		{smoothPlane(1, true), 15, "function 6: 15 values are not a whole number of states of dimension 2"},
		{smoothPlane(1, true), 10, "function 6: 5 samples cannot be divided among 4 chains"},
		{broken, 16, "function 6: drift NaN at (-4, -4.5): not finite"},
		{flat, 16, "is zero"},
		{sde.Plane{}, 16, "grid has 0 nodes"},
	} {
		err := Chains(context.Background(), make([]float32, c.n), c.p, good, 1, 6, "p")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	endless := Scheme{DT: 0.01, BurnIn: 1 << 40, Thin: 1, Chains: 128}
	if err := Chains(ctx, make([]float32, 256), smoothPlane(4, false), endless, 1, 0, "p"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
