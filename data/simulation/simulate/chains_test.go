package simulate

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

var rough = tabulate(sde.Grid{Lo: -5, Hi: 5, N: 64},
	func(x float64) float64 { return -x + 2*math.Sin(3*x) },
	func(x float64) float64 { return 1 + 0.5*math.Cos(2*x) })

// dumb is the scheme for one chain in float64, one step after the other, with
// the coefficients' own interpolation.
func dumb(c sde.Coefficients, s Scheme, samples int, seed, function uint64, purpose string, chain int) []float64 {
	n := new(normals)
	n.seed(0, seed, purpose, function, uint64(chain))
	k := 0
	next := func() float64 {
		if k%window == 0 {
			n.fill(1)
		}
		k++
		return float64(n.values[(k-1)%window*lanes])
	}
	x := next()
	var out []float64
	for step := 0; ; step++ {
		if step >= s.BurnIn && (step-s.BurnIn)%s.Thin == 0 {
			if out = append(out, x); len(out) == samples {
				return out
			}
		}
		x += c.DriftAt(x)*s.DT + c.DiffusionAt(x)*math.Sqrt(s.DT)*next()
	}
}

// Lanes, windows, thinning and the layout of dst: every chain is what the dumb
// simulation gives, up to float32 rounding, for awkward sizes of everything.
func TestAgainstDumbSimulation(t *testing.T) {
	for _, s := range []Scheme{
		{DT: 0.01, BurnIn: 0, Thin: 1, Chains: 1},
		{DT: 0.01, BurnIn: 1, Thin: 3, Chains: 2},
		{DT: 0.02, BurnIn: 15, Thin: 16, Chains: 63},
		{DT: 0.02, BurnIn: 16, Thin: 17, Chains: 64},
		{DT: 0.01, BurnIn: 37, Thin: 10, Chains: 65},
		{DT: 0.01, BurnIn: 5, Thin: 40, Chains: 130},
	} {
		const perChain = 7
		table, function := make([]float32, perChain*s.Chains), make([]float64, perChain*s.Chains)
		if err := Chains(context.Background(), table, rough, s, 3, 5, "p"); err != nil {
			t.Fatal(err)
		}
		err := Fastest().EulerMaruyamaFunc(context.Background(), function, vectorised(rough.DriftAt, rough.DiffusionAt), sde.WholeLine, s, 3, 5, "p", nil)
		if err != nil {
			t.Fatal(err)
		}
		for chain := range s.Chains {
			for j, want := range dumb(rough, s, perChain, 3, 5, "p", chain) {
				if got := float64(table[chain*perChain+j]); !(math.Abs(got-want) <= 1e-4) {
					t.Fatalf("%+v: table: sample %d of chain %d is %v, want %v", s, j, chain, got, want)
				}
				if got := function[chain*perChain+j]; !(math.Abs(got-want) <= 1e-6) {
					t.Fatalf("%+v: function: sample %d of chain %d is %v, want %v", s, j, chain, got, want)
				}
			}
		}
	}
}

// One step from any place, the grid's nodes, ends and outside included, for odd
// and even numbers of nodes.
func TestStep(t *testing.T) {
	for _, nodes := range []int{2, 3, 63, 64, 65, 256, 1025} {
		c := tabulate(sde.Grid{Lo: -3, Hi: 5, N: nodes},
			func(x float64) float64 { return math.Cos(5*x) * 3 },
			func(x float64) float64 { return 2 + math.Sin(7*x) })
		table := newTable(c, 0.25)
		places := []float64{-1e5, -100, -3.0001, 5.0001, 77, 1e5}
		for i := range nodes {
			places = append(places, c.Grid.At(i), c.Grid.At(i)+c.Grid.Step()/2, c.Grid.At(i)-1e-6, c.Grid.At(i)+1e-6)
		}
		for _, at := range places {
			x := float32(at)
			for _, z := range []float32{0, 1, -2} {
				state := []float32{float32(table.toState(0, at))}
				table.step(state, []float32{z})
				got := table.toX(0, float64(state[0]))
				want := float64(x) + c.DriftAt(float64(x))*0.25 + c.DiffusionAt(float64(x))*0.5*float64(z)
				// The state carries float32's rounding, which slopes magnify.
				if tolerance := 1e-4 + 1e-7*math.Abs(want); !(math.Abs(got-want) <= tolerance) {
					t.Fatalf("%d nodes: from %v with noise %v to %v, want %v", nodes, x, z, got, want)
				}
			}
		}
	}
}

// Seed, purpose, function and chain all matter; the number of other chains and
// of threads does not.
func TestStreams(t *testing.T) {
	s := Scheme{DT: 0.01, BurnIn: 20, Thin: 5, Chains: 100}
	sample := func(s Scheme, seed, function uint64, purpose string) []float32 {
		dst := make([]float32, 4*s.Chains)
		if err := Chains(context.Background(), dst, rough, s, seed, function, purpose); err != nil {
			t.Fatal(err)
		}
		return dst
	}
	base := sample(s, 1, 2, "a")
	fewer := s
	fewer.Chains = 3
	if got := sample(fewer, 1, 2, "a"); !slices.Equal(got, base[:12]) {
		t.Errorf("chains change with their number: %v, want %v", got, base[:12])
	}
	for name, other := range map[string][]float32{
		"seed": sample(s, 2, 2, "a"), "function": sample(s, 1, 3, "a"), "purpose": sample(s, 1, 2, "b"),
	} {
		for i, v := range other {
			if v == base[i] {
				t.Errorf("sample %d does not depend on the %s", i, name)
				break
			}
		}
	}
	if want := []float32{0.93888485, 1.2299392, 1.0709734, 1.0913538}; !slices.Equal(base[:4], want) {
		t.Errorf("samples changed: %v, want %v", base[:4], want)
	}

	run := func(procs int) []float64 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		dst := make([]float64, 4*s.Chains)
		err := Fastest().EulerMaruyamaFunc(context.Background(), dst, vectorised(rough.DriftAt, rough.DiffusionAt), sde.WholeLine, s, 1, 2, "a", nil)
		if err != nil {
			t.Fatal(err)
		}
		return dst
	}
	for _, procs := range []int{2, 4, 100} {
		if !slices.Equal(run(1), run(procs)) {
			t.Errorf("samples of %d threads are not those of one", procs)
		}
	}
}

func TestDivergence(t *testing.T) {
	// An outward drift, clamped, takes chains past the bound after some steps.
	outward := tabulate(sde.Grid{Lo: -1, Hi: 1, N: 3}, func(x float64) float64 { return 1e4 }, func(float64) float64 { return 1 })
	s := Scheme{DT: 1, BurnIn: 1000, Thin: 1, Chains: 70}
	err := Chains(context.Background(), make([]float32, 70), outward, s, 1, 42, "p")
	var diverged *DivergedError
	if !errors.Is(err, ErrDiverged) || !errors.As(err, &diverged) {
		t.Fatalf("outward drift: %v, want ErrDiverged", err)
	}
	// 1e4 per step and noise of about ±10 pass 1e6 in step 99 or 100.
	if diverged.Function != 42 || diverged.Step < 99 || diverged.Step > 100 || !(diverged.From <= bound && diverged.To >= bound-1) {
		t.Errorf("outward drift: %+v", diverged)
	}
	if want := "function 42, chain "; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("outward drift: %v, want prefix %q", err, want)
	}

	for _, c := range []struct {
		name             string
		drift, diffusion func(float64) float64
		want             string
	}{
		{"explosive", func(x float64) float64 { return x * x * x }, func(float64) float64 { return 1 }, "simulation diverged"},
		{"NaN drift", math.Sqrt, func(float64) float64 { return 1 }, "the drift is NaN at x = -"},
		{"infinite diffusion", func(x float64) float64 { return -x }, func(x float64) float64 { return 1 / max(x, 0) }, "the diffusion is +Inf at x = -"},
	} {
		err := Fastest().EulerMaruyamaFunc(context.Background(), make([]float64, 70), vectorised(c.drift, c.diffusion), sde.WholeLine,
			Scheme{DT: 0.1, BurnIn: 1000, Thin: 1, Chains: 70}, 1, 0, "p", nil)
		if !errors.Is(err, ErrDiverged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want ErrDiverged with %q", c.name, err, c.want)
		}
	}
}

// The state before and the state after are told apart, however slowly a chain leaves.
func TestDivergenceIsVisible(t *testing.T) {
	for _, c := range []struct {
		from, to float64
		want     string
		drifted  bool
	}{
		{999999.98, 1000000.08, "state went from 999999.98 to 1000000.08: ", true},
		{999999.99999, 1000000.00001, "from 999999.99999 to 1000000: ", true},
		{1e6 - 1e-9, 1e6, "from 999999.999999999 to 1000000: ", true},
		{-3408.04, -3.95838e8, "from -3408.04 to -3.95838e+08: ", false},
		{1, math.NaN(), "from 1 to NaN: ", false},
		{1, math.Inf(1), "from 1 to +Inf: ", false},
	} {
		err := &DivergedError{From: c.from, To: c.to}
		if !strings.Contains(err.Error(), c.want) || err.Drifted() != c.drifted {
			t.Errorf("%v to %v: %v, drifted %v", c.from, c.to, err, err.Drifted())
		}
	}
}

func TestRefusals(t *testing.T) {
	good := Scheme{DT: 0.01, BurnIn: 1, Thin: 1, Chains: 4}
	with := func(change func(s *Scheme)) Scheme {
		s := good
		change(&s)
		return s
	}
	broken := rough
	broken.Drift = slices.Clone(rough.Drift)
	broken.Drift[7] = float32(math.NaN())
	for _, c := range []struct {
		s    Scheme
		c    sde.Coefficients
		n    int
		want string
	}{
		{with(func(s *Scheme) { s.DT = 0 }), rough, 8, "time step dt is 0"},
		{with(func(s *Scheme) { s.DT = math.NaN() }), rough, 8, "time step dt is NaN"},
		{with(func(s *Scheme) { s.DT = math.Inf(1) }), rough, 8, "time step dt is +Inf"},
		{with(func(s *Scheme) { s.BurnIn = -1 }), rough, 8, "burn-in is -1"},
		{with(func(s *Scheme) { s.Thin = 0 }), rough, 8, "thinning is 0"},
		{with(func(s *Scheme) { s.Chains = 0 }), rough, 8, "chains is 0"},
		{good, rough, 0, "0 samples cannot be divided among 4 chains"},
		{with(func(s *Scheme) { s.BurnIn = 1<<40 + 1 }), rough, 8, "burn-in is"},
		{good, rough, 9, "9 samples cannot be divided among 4 chains"},
		{good, broken, 8, "function 6: drift NaN at x = -3.88889"},
		{good, sde.Coefficients{}, 8, "grid has 0 nodes"},
	} {
		err := Chains(context.Background(), make([]float32, c.n), c.c, c.s, 1, 6, "p")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.want)
		}
	}
}

// A run that would last for hours ends soon after its context.
func TestCancellation(t *testing.T) {
	endless := Scheme{DT: 0.01, BurnIn: 1 << 40, Thin: 1, Chains: 128}
	ctx, cancel := context.WithCancel(context.Background())
	started := make(chan struct{})
	go func() { // ends when the simulation below reports its first steps
		<-started
		cancel()
	}()
	first := true
	err := Fastest().EulerMaruyamaFunc(ctx, make([]float64, 128), vectorised(rough.DriftAt, rough.DiffusionAt), sde.WholeLine, endless, 1, 0, "p",
		func(done, total int) {
			if done <= 0 || total != 128<<40 {
				t.Errorf("progress is %d of %d", done, total)
			}
			if first {
				close(started)
				first = false
			}
		})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("function: %v, want context.Canceled", err)
	}

	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // function 0 does not end by itself
	err = Each(context.Background(), 100, func(ctx context.Context, i int) error {
		if i == 1 {
			return errDeliberate
		}
		return Chains(ctx, make([]float32, 128), rough, endless, 1, uint64(i), "p")
	}, nil)
	if !errors.Is(err, errDeliberate) {
		t.Errorf("batch: %v, want the first failure", err)
	}
}

var errDeliberate = errors.New("deliberate")

func TestEach(t *testing.T) {
	visits := make([]int, 500)
	var reports []int
	err := Each(context.Background(), len(visits), func(_ context.Context, i int) error {
		visits[i]++
		return nil
	}, func(done, total int) {
		if total != len(visits) {
			t.Errorf("total is %d", total)
		}
		reports = append(reports, done)
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range visits {
		if n != 1 || reports[i] != i+1 {
			t.Fatalf("function %d ran %d times, report %d says %d", i, n, i, reports[i])
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err = Each(ctx, 10, func(context.Context, int) error { t.Error("ran after cancellation"); return nil }, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled batch: %v", err)
	}
	if err := Each(context.Background(), 0, nil, nil); err != nil {
		t.Errorf("empty batch: %v", err)
	}
}

// Start scales the first states and nothing else.
func TestStart(t *testing.T) {
	free := tabulate(rough.Grid, func(float64) float64 { return 0 }, func(float64) float64 { return 1 })
	draw := func(start Start) []float32 {
		dst := make([]float32, 70)
		if err := Chains(context.Background(), dst, free, Scheme{DT: 0.01, Thin: 1, Chains: 70, Start: start}, 1, 2, "p"); err != nil {
			t.Fatal(err)
		}
		return dst
	}
	one, three := draw(""), draw("3")
	for l := range one {
		if !(math.Abs(float64(three[l]-3*one[l])) <= 1e-5) {
			t.Fatalf("chain %d starts at %v, and at %v with three times the deviation", l, one[l], three[l])
		}
	}
	for _, start := range []Start{"-1", "NaN", "Inf"} {
		if (Scheme{DT: 1, Thin: 1, Chains: 1, Start: start}).Validate() == nil {
			t.Errorf("a start of deviation %v is accepted", start)
		}
	}
}
