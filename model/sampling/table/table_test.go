package table

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

const nodes = 64

// functions are random equations on a grid.
func functions(n int) []flow.Subject {
	all := make([]flow.Subject, n)
	for i := range all {
		c := sde.Coefficients{Grid: sde.Grid{Lo: -5, Hi: 5, N: nodes}}
		source := random.New(5, "test", uint64(i))
		for range nodes {
			c.Drift = append(c.Drift, float32(source.NormFloat64()))
			c.Diffusion = append(c.Diffusion, float32(0.5+source.Float64()))
		}
		all[i].Function = family.Function{System: c, Fields: [][]float32{c.Drift, c.Diffusion}}
	}
	return all
}

// fresh is an untrained network of the paper's size whose velocities are of order one.
func fresh(t testing.TB, dir string) (*Sampler, *state.State) {
	t.Helper()
	config := deeponet.Paper(nodes)
	st := state.Fresh(config.Layout(), 3)
	st.Normalisation = shard.Normalisation{"drift": {Std: 1}, "diffusion": {Mean: 1, Std: .3}, shard.State(0): {Mean: 2, Std: 3}}
	offsets := config.Layout().Offsets()
	last := st.Parameters[offsets[len(offsets)-3]:] // of the trunk
	for i := range last {
		last[i] *= 1000
	}
	return open(t, config, st, dir), st
}

func open(t testing.TB, config deeponet.Config, st *state.State, dir string) *Sampler {
	t.Helper()
	var fields []family.Field
	for _, input := range config.Inputs() {
		fields = append(fields, family.Field(input))
	}
	conditioner, err := flow.NewStored(config.Inputs(), fields, flow.Grid{}, st.Normalisation)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(config, conditioner, st, dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Polynomials of the table's degree are exact, and the sine at the highest frequency of the
// paper's embeddings is within 1e-5.
func TestChebyshev(t *testing.T) {
	points, transform := chebyshev()
	for name, f := range map[string]func(s float64) float64{
		"polynomial": func(s float64) float64 { return 1 + s*(2+s*s*s*s*s*(3-s)) },
		"sine":       func(s float64) float64 { return math.Sin(2*math.Pi*16*s/2/perUnit + 1) },
	} {
		c := make(field, cells*terms)
		for k := range terms {
			sum := 0.
			for j, s := range points {
				sum += float64(transform[k*terms+j]) * f(s)
			}
			c[3*terms+k] = float32(sum)
		}
		for i := range 100 {
			x := float32(lo + (3+(float64(i)+.5)/100)/perUnit)
			s := 2*((float64(x)-lo)*perUnit-3) - 1
			v := make([]float32, 1)
			c.evaluate(v, []float32{x})
			if d := math.Abs(float64(v[0]) - f(s)); !(d <= 2e-5) {
				t.Errorf("%s at %g is %g, want %g", name, s, v[0], f(s))
			}
			const h = 1e-4
			value, slope := c.slope(x)
			want := (f(s+h) - f(s-h)) / (2 * h) * 2 * perUnit
			if !(math.Abs(value-f(s)) <= 2e-5) || !(math.Abs(slope-want) <= 2e-3*perUnit) {
				t.Errorf("%s at %g: value %g and slope %g, want %g and %g", name, s, value, slope, f(s), want)
			}
		}
	}
}

// The samples are those of the network, integrated by the same solver from the same noise, also
// where they leave the table: the noise of seed 11 here reaches beyond it with a drift of 8.
func TestAgreesWithNetwork(t *testing.T) {
	s, _ := fresh(t, "")
	all := functions(5)
	const n = 700
	for _, solver := range []ode.Solver{ode.RK4{Steps: 4}, ode.RK4{Steps: 1}, ode.Euler{Steps: 5}} {
		got, err := s.Sample(t.Context(), all, n, solver, 11)
		if err != nil {
			t.Fatal(err)
		}
		codes, err := s.encode(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		moved := 0.
		for i := range all {
			code := codes[i*s.host.CodeSize() : (i+1)*s.host.CodeSize()]
			want := make([]float32, n)
			source := random.New(11, "sampler", uint64(i))
			for j := range want {
				want[j] = float32(source.NormFloat64())
			}
			begin := append([]float32(nil), want...)
			velocity := func(dst, x []float32, t float64) error { s.host.At(code, t)(dst, x); return nil }
			if _, err := solver.Integrate(t.Context(), velocity, want, 0, 1); err != nil {
				t.Fatal(err)
			}
			for j, z := range want {
				moved = max(moved, math.Abs(float64(z-begin[j])))
				if d := math.Abs(float64(got[i][j])-(2+3*float64(z))) / 3; !(d <= 1e-4) {
					t.Fatalf("%s: function %d, sample %d is %g, want %g", solver, i, j, got[i][j], 2+3*z)
				}
			}
		}
		if moved < 0.5 {
			t.Fatalf("%s moves samples by %g at most: the test shows nothing", solver, moved)
		}
	}
}

// A constant velocity of 6 carries samples out of the table. The network computes these.
func TestOutsideTable(t *testing.T) {
	_, st := fresh(t, "")
	config := deeponet.Paper(nodes)
	layout, offsets := config.Layout(), config.Layout().Offsets()
	for i, tensor := range layout {
		part := st.Parameters[offsets[i]:offsets[i+1]]
		switch tensor.Name {
		case "trunk.output.weight", "drift.output.weight", "diffusion.output.weight":
			clear(part)
		case "trunk.output.bias", "drift.output.bias", "diffusion.output.bias":
			for k := range part {
				part[k] = float32(math.Cbrt(6. / float64(config.Rank)))
			}
		}
	}
	s := open(t, config, st, "")
	x, err := s.Sample(t.Context(), functions(1), 4000, ode.RK4{Steps: 4}, 0)
	if err != nil {
		t.Fatal(err)
	}
	source, beyond := random.New(0, "sampler", 0), 0
	for i, v := range x[0] {
		z := source.NormFloat64() + 6
		if z > hi {
			beyond++
		}
		if want := 2 + 3*z; !(math.Abs(float64(v)-want) <= 1e-4) {
			t.Fatalf("sample %d is %g, want %g", i, v, want)
		}
	}
	if beyond < 20 {
		t.Errorf("%d samples left the table: the test shows nothing", beyond)
	}
}

// A function's samples do not depend on the functions beside it, nor on their number.
func TestGroupsAreInvisible(t *testing.T) {
	s, _ := fresh(t, "")
	all := functions(maxGroup*2 + 5)
	many, err := s.Sample(t.Context(), all, 20, ode.RK4{Steps: 4}, 7)
	if err != nil {
		t.Fatal(err)
	}
	few, err := s.Sample(t.Context(), all[:3], 50, ode.RK4{Steps: 4}, 7)
	if err != nil {
		t.Fatal(err)
	}
	for i := range few {
		for j := range 20 {
			if d := math.Abs(float64(few[i][j] - many[i][j])); !(d <= 1e-5) {
				t.Fatalf("function %d, sample %d is %g among few, %g among many", i, j, few[i][j], many[i][j])
			}
		}
	}
}

// A second sampler reads the first one's table. A damaged, cut or foreign file is made again.
func TestCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tables")
	s, st := fresh(t, dir)
	solver := ode.Euler{Steps: 3}
	draw := func(s *Sampler) []float32 {
		x, err := s.Sample(t.Context(), functions(1), 30, solver, 1)
		if err != nil {
			t.Fatal(err)
		}
		return x[0]
	}
	want := draw(s)
	scheme, _ := schemeOf(solver)
	path := s.cache.path(scheme)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	again := func() *Sampler { return open(t, deeponet.Paper(nodes), st, dir) }
	if again().cache.read(scheme, s.host.CodeSize()) == nil {
		t.Fatal("the table is not read")
	}
	damaged := append([]byte(nil), good...)
	damaged[len(damaged)/2] ^= 4
	foreign := append([]byte(nil), good...)
	foreign[20] ^= 1
	for name, content := range map[string][]byte{
		"damaged": damaged, "cut": good[:len(good)-9], "foreign": foreign, "empty": nil, "long": append(append([]byte(nil), good...), 0),
	} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		other := again()
		if other.cache.read(scheme, s.host.CodeSize()) != nil {
			t.Errorf("a %s file is read", name)
		}
		for i, v := range draw(other) {
			if v != want[i] {
				t.Fatalf("%s file: sample %d is %g, want %g", name, i, v, want[i])
			}
		}
	}
	changed := *st
	changed.Parameters = append([]float32(nil), st.Parameters...)
	changed.Parameters[5]++
	if open(t, deeponet.Paper(nodes), &changed, dir).cache.path(scheme) == path {
		t.Error("other parameters have the same table")
	}
	for steps := 4; steps < 12; steps++ {
		solver = ode.Euler{Steps: steps}
		draw(s)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != mostKept {
		t.Errorf("%d tables are kept, want %d", len(left), mostKept)
	}
}

func TestSchemes(t *testing.T) {
	for _, solver := range []ode.Solver{ode.Dopri5{}, ode.RK4{Steps: 17}, ode.Euler{Steps: 33}, ode.RK4{}} {
		if _, err := schemeOf(solver); err == nil {
			t.Errorf("%s has a table", solver)
		}
	}
	s, err := schemeOf(ode.RK4{Steps: 4})
	if err != nil || len(s.times) != 9 || s.times[8] != 1 {
		t.Errorf("rk4-4 has the times %v, error %v", s.times, err)
	}
}

// BenchmarkSample reports the time of one equation in a batch of 128, of 4,096 samples each.
func BenchmarkSample(b *testing.B) {
	s, _ := fresh(b, "")
	for _, count := range []int{1, 128} {
		all := functions(count)
		b.Run(map[int]string{1: "one", 128: "batch"}[count], func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Sample(b.Context(), all, 4096, ode.RK4{Steps: 4}, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*count), "µs/equation")
		})
	}
}
