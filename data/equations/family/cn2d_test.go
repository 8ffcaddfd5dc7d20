package family

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

func cn2dPlane(t *testing.T, seed uint64, i int) sde.Plane {
	t.Helper()
	f, err := cn2d{}.Function(seed, i)
	if err != nil {
		t.Fatal(err)
	}
	return f.System.(sde.Plane)
}

// Over 1,500 functions, without the well: both components have mean 0, variance
// 1 and covariances ∫exp(−r²/2ℓ²)dℓ/1.7 along x, y and the diagonal, and are
// independent. All within 5 standard errors.
func TestCN2DFields(t *testing.T) {
	const functions = 1500
	n := cn2dAxis.N
	fields := make([][2][]float64, functions)
	err := simulate.Each(context.Background(), functions, func(_ context.Context, i int) error {
		f, err := cn2d{}.Function(11, i)
		if err != nil {
			return err
		}
		for c := range fields[i] {
			fields[i][c] = make([]float64, n*n)
			for k := range n * n {
				wx, wy := cn2dWell(cn2dAxis.At(k%n), cn2dAxis.At(k/n))
				fields[i][c][k] = float64(f.Fields[0][2*k+c]) - [2]float64{wx, wy}[c]
			}
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// covariance is E g_c(node a) g_e(node b).
	covariance := func(c, a, e, b int) (mean, err float64) {
		var square float64
		for _, f := range fields {
			v := f[c][a] * f[e][b]
			mean += v / functions
			square += v * v / functions
		}
		return mean, math.Sqrt((square - mean*mean) / functions)
	}
	expected := func(di, dj int) (k float64) {
		const cells = 1000
		r := cn2dAxis.Step() * math.Hypot(float64(di), float64(dj))
		for c := range cells {
			l := 0.3 + 1.7*(float64(c)+0.5)/cells
			k += math.Exp(-r*r/(2*l*l)) / cells
		}
		return k
	}
	for _, node := range []int{0, 31, 15*32 + 16, 20*32 + 7, 26*32 + 26} {
		for c := range 2 {
			var mean float64
			for _, f := range fields {
				mean += f[c][node] / functions
			}
			if !(math.Abs(mean)*math.Sqrt(functions) <= 5) {
				t.Errorf("component %d at node %d has mean %.3f", c, node, mean)
			}
			for _, d := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {3, 0}, {0, 3}, {3, 4}, {0, 5}} {
				i, j := node%n, node/n
				if i+d[0] >= n || j+d[1] >= n {
					continue
				}
				got, err := covariance(c, node, c, node+d[1]*n+d[0])
				if want := expected(d[0], d[1]); !(math.Abs(got-want) <= 5*err) {
					t.Errorf("component %d, node %d: covariance at %v is %.3f ± %.3f, want %.3f", c, node, d, got, err, want)
				}
			}
		}
		if got, err := covariance(0, node, 1, node); !(math.Abs(got) <= 5*err) {
			t.Errorf("components at node %d have covariance %.3f ± %.3f", node, got, err)
		}
	}
}

// At radius 3 the well outweighs ten standard deviations of the field: the drift
// points inward there and beyond, so that every function has an invariant law.
func TestCN2DIsConfined(t *testing.T) {
	for i := range 50 {
		p := cn2dPlane(t, 2, i)
		for k := range p.Nodes() {
			x, y := cn2dAxis.At(k%cn2dAxis.N), cn2dAxis.At(k/cn2dAxis.N)
			radial := (float64(p.Drift[2*k])*x + float64(p.Drift[2*k+1])*y) / math.Hypot(x, y)
			if math.Hypot(x, y) > 3 && !(radial <= -3) {
				t.Fatalf("function %d: radial drift %v at (%v, %v)", i, radial, x, y)
			}
		}
	}
}

// A stationary Euler–Maruyama chain has E b = 0 and 2E b·x + ΔtE|b|² + 2d = 0,
// from the means of x and |x|² before and after a step. Without burn-in it has not.
func TestCN2DSamplesAreStationary(t *testing.T) {
	const dt, chains, per = 0.01, 2048, 4
	s := simulate.Scheme{DT: dt, BurnIn: 1000, Thin: 100, Chains: chains, Start: "3"}
	residual := func(i int, s simulate.Scheme) (bx, by, energy float64) {
		dst := make([]float32, 2*chains*per)
		if err := Sample(context.Background(), cn2d{}, dst, SampleSpec{i, 1, 1, s, "test", false}, simulate.Fastest(), nil); err != nil {
			t.Fatal(err)
		}
		p := cn2dPlane(t, 1, i)
		for ; len(dst) > 0; dst = dst[2:] {
			b := bilinear(p, float64(dst[0]), float64(dst[1]))
			bx += b[0] / (chains * per)
			by += b[1] / (chains * per)
			energy += (2*(b[0]*float64(dst[0])+b[1]*float64(dst[1])) + dt*(b[0]*b[0]+b[1]*b[1]) + 4) / (chains * per)
		}
		return bx, by, energy
	}
	for i := range 4 {
		if bx, by, energy := residual(i, s); !(math.Abs(bx) <= 0.15 && math.Abs(by) <= 0.15 && math.Abs(energy) <= 0.5) {
			t.Errorf("function %d: E b = (%.3f, %.3f), 2E b·x + ΔtE|b|² + 4 = %.3f, want 0", i, bx, by, energy)
		}
		if _, _, energy := residual(i, simulate.Scheme{DT: dt, Thin: 1, Chains: chains, Start: "3"}); !(math.Abs(energy) >= 0.5) {
			t.Errorf("function %d: without burn-in 2E b·x + ΔtE|b|² + 4 is %.3f too", i, energy)
		}
	}
}

// bilinear is b(x, y), clamped.
func bilinear(p sde.Plane, x, y float64) (b [2]float64) {
	at := func(g sde.Grid, x float64) (cell int, t float64) {
		u := min(max((x-g.Lo)/g.Step(), 0), float64(g.N-1))
		cell = min(int(u), g.N-2)
		return cell, u - float64(cell)
	}
	i, s := at(p.X, x)
	j, t := at(p.Y, y)
	for c := range b {
		v := func(i, j int) float64 { return float64(p.Drift[2*(j*p.X.N+i)+c]) }
		b[c] = (1-t)*((1-s)*v(i, j)+s*v(i+1, j)) + t*((1-s)*v(i, j+1)+s*v(i+1, j+1))
	}
	return b
}

func TestCN2DGolden(t *testing.T) {
	p := cn2dPlane(t, 1, 65535)
	want := []float64{34.48926, -17.36304, 1.337818, -33.85201}
	var got []float64
	for _, k := range []int{0, 500, 1023, 2047} {
		got = append(got, float64(p.Drift[k]))
	}
	if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*(1+math.Abs(b)) }) {
		t.Errorf("function 65535 changed: %.7v, want %v", got, want)
	}
}

func TestCN2DRestore(t *testing.T) {
	drift := make([]float32, 2*32*32)
	if f, err := (cn2d{}).Restore([][]float32{drift}); err != nil || &f.System.(sde.Plane).Drift[0] != &drift[0] {
		t.Errorf("the drift was copied, error %v", err)
	}
	drift[77] = float32(math.Inf(1))
	if _, err := (cn2d{}).Restore([][]float32{drift}); !errors.Is(err, sde.ErrNotFinite) {
		t.Errorf("infinite drift: %v", err)
	}
	for _, fields := range [][][]float32{nil, {drift[:2046]}, {drift, drift}} {
		if _, err := (cn2d{}).Restore(fields); err == nil {
			t.Errorf("%d fields are accepted", len(fields))
		}
	}
	err := Sample(context.Background(), cn2d{}, make([]float32, 2), SampleSpec{First: 17, Count: 1}, simulate.Fastest(), nil)
	if err == nil || !strings.Contains(err.Error(), "cn2d: function 17: time step dt is 0") {
		t.Errorf("empty scheme: %v", err)
	}
}
