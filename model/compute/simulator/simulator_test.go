package simulator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
)

func opened(t *testing.T, b *backend.Backend) *Simulator {
	t.Helper()
	s, err := New(b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func plain(t *testing.T) *simulate.Engine {
	t.Helper()
	e, err := simulate.NewEngine("go")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// bumpy is a system on a line, different for every function.
func bumpy(nodes int) func(i int) (sde.System, error) {
	return func(i int) (sde.System, error) {
		c := sde.Coefficients{Grid: sde.Grid{Lo: -3, Hi: 4 + float64(i%3), N: nodes}}
		for k := range nodes {
			x := c.Grid.At(k)
			c.Drift = append(c.Drift, float32(-x+math.Sin(3*x+float64(i))))
			c.Diffusion = append(c.Diffusion, float32(1+0.5*math.Cos(2*x)))
		}
		return c, nil
	}
}

// hilly is one in the plane, on 5×4 nodes, with that many numbers of diffusion.
func hilly(terms int, constant bool) func(i int) (sde.System, error) {
	return func(i int) (sde.System, error) {
		p := sde.Plane{X: sde.Grid{Lo: -2, Hi: 2, N: 5}, Y: sde.Grid{Lo: -3, Hi: 1 + float64(i), N: 4}}
		for n := range p.Nodes() {
			x, y := p.X.At(n%p.X.N), p.Y.At(n/p.X.N)
			p.Drift = append(p.Drift, float32(-2*x+math.Sin(y)), float32(-y+math.Cos(3*x)))
			if n == 0 || !constant {
				s := []float32{float32(1 + 0.3*math.Sin(x+y)), float32(0.7 + 0.2*math.Cos(x)), float32(0.5 * math.Sin(y)), 2}
				p.Diffusion = append(p.Diffusion, s[:terms]...)
			}
		}
		return p, nil
	}
}

// swarm is particles that repel one another.
func swarm(n int) func(i int) (sde.System, error) {
	force := sde.Tabulate(func(r2 float64) float64 { return 2 * math.Exp(-r2) }, 0, 4.5)
	return func(i int) (sde.System, error) {
		return sde.Particles{N: n, Trap: 0.5 + float64(i), Noise: 1.2, Force: force}, nil
	}
}

// Burn-in, thinning, starts and the order of samples: short paths are those of
// the plain engine, for all kinds of systems.
func TestPaths(t *testing.T) {
	schemes := []simulate.Scheme{
		{DT: 0.01, BurnIn: 0, Thin: 1, Chains: 3},
		{DT: 0.02, BurnIn: 17, Thin: 3, Chains: 3, Start: "2"},
		{DT: 0.01, BurnIn: 3, Thin: 1, Chains: 3, Start: "normal(0.5, 1)"},
		{DT: 0.01, BurnIn: 3, Thin: 1, Chains: 3, Start: "uniform(-1, 2)"},
	}
	systems := map[string]func(int) (sde.System, error){
		"line, 2 nodes": bumpy(2), "line, 64 nodes": bumpy(64), "line, 256 nodes": bumpy(256),
		"one particle": swarm(1), "seven particles": swarm(7),
	}
	for _, terms := range []int{1, 2, 4} {
		systems[fmt.Sprintf("plane, %d terms", terms)] = hilly(terms, false)
		systems[fmt.Sprintf("plane, %d constant terms", terms)] = hilly(terms, true)
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		s := opened(t, b)
		for name, system := range systems {
			one, err := system(0)
			if err != nil {
				t.Fatal(err)
			}
			for _, scheme := range schemes {
				// One download and a half.
				n := 2 * scheme.Chains * (maxRecorded + maxRecorded/2) * one.Dim()
				batch := simulate.Batch{First: 3, Count: 2, System: system, Scheme: scheme, Seed: 5, Purpose: "paths"}
				want, got := make([]float32, n), make([]float32, n)
				if err := plain(t).Simulate(context.Background(), want, batch, nil); err != nil {
					t.Fatal(err)
				}
				var reports []int
				err := s.Simulate(context.Background(), got, batch, func(done, total int) { reports = append(reports, done, total) })
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if !slices.Equal(reports, []int{2, 2}) {
					t.Errorf("%s: progress is %v", name, reports)
				}
				for i, v := range want {
					if !(math.Abs(float64(got[i]-v)) < 1e-4) {
						t.Fatalf("%s, %+v: value %d is %v, on the processor %v", name, scheme, i, got[i], v)
					}
				}
			}
		}
	})
}

// A path does not depend on which functions are on the device with it.
func TestBatches(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		s := opened(t, b)
		batch := simulate.Batch{
			First: 10, Count: 7, System: bumpy(9), Seed: 1, Purpose: "batches",
			Scheme: simulate.Scheme{DT: 0.01, BurnIn: 10, Thin: 2, Chains: 5},
		}
		whole, parts := make([]float32, 7*5*3), make([]float32, 7*5*3)
		if err := s.Simulate(context.Background(), whole, batch, nil); err != nil {
			t.Fatal(err)
		}
		l := layout{equation: line{9}, chains: 5, recorded: 3}
		s.budget = 3 * l.bytesPerFunction()
		var done []int
		if err := s.Simulate(context.Background(), parts, batch, func(n, _ int) { done = append(done, n) }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(done, []int{3, 6, 7}) {
			t.Errorf("progress is %v", done)
		}
		if !slices.Equal(whole, parts) {
			t.Error("samples depend on how many functions are on the device")
		}
		batch.First, batch.Count = 12, 1
		one := make([]float32, 5*3)
		if err := s.Simulate(context.Background(), one, batch, nil); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(one, whole[2*5*3:3*5*3]) {
			t.Error("samples depend on the other functions")
		}
	})
}

func TestFit(t *testing.T) {
	for _, c := range []struct{ functions, bytes, limit, want int }{
		{1, 10, 5, 1}, {7, 10, 5, 1}, {7, 10, 30, 3}, {8, 10, 30, 3}, {9, 10, 30, 3}, {10, 10, 30, 3}, {100, 10, 1 << 30, 100}, {6, 10, 49, 3},
	} {
		if got := fit(c.functions, c.bytes, c.limit); got != c.want {
			t.Errorf("%d functions of %d bytes in %d: %d at a time, want %d", c.functions, c.bytes, c.limit, got, c.want)
		}
	}
}

// Function 4 explodes, the others do not.
func TestDivergence(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		s := opened(t, b)
		outward := func(i int) (sde.System, error) {
			c := sde.Coefficients{Grid: sde.Grid{Lo: -1, Hi: 1, N: 2}, Drift: []float32{0, 0}, Diffusion: []float32{1, 1}}
			if i == 4 {
				c.Drift = []float32{1e4, 1e4}
			}
			return c, nil
		}
		batch := simulate.Batch{
			First: 2, Count: 4, System: outward, Purpose: "divergence", Seed: 1,
			Scheme: simulate.Scheme{DT: 1, BurnIn: 1 << 40, Thin: 1, Chains: 3},
		}
		err := s.Simulate(context.Background(), make([]float32, 12), batch, nil)
		var diverged *simulate.DivergedError
		if !errors.As(err, &diverged) {
			t.Fatalf("%v, want a DivergedError", err)
		}
		if diverged.Function != 4 || diverged.Step < 99 || diverged.Step > 100 {
			t.Errorf("%+v", diverged)
		}
	})
}

// For a function that diverges only on the device the processor's samples count.
func TestRepeatDiverged(t *testing.T) {
	batch := simulate.Batch{
		First: 2, Count: 3, System: bumpy(9), Purpose: "repeat", Seed: 1,
		Scheme: simulate.Scheme{DT: 0.01, BurnIn: 5, Thin: 2, Chains: 2},
	}
	want, got := make([]float32, 3*2*4), make([]float32, 3*2*4)
	if err := plain(t).Simulate(context.Background(), want, batch, nil); err != nil {
		t.Fatal(err)
	}
	r := &run{
		layout: layout{equation: line{9}, functions: 3, chains: 2, recorded: 4}, batch: batch, dst: got, perChain: 4,
		diverged: []float32{0, 1, 0}, onProcessor: make([]bool, 3),
	}
	if err := r.repeatDiverged(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.store(slices.Repeat([]float32{7}, 3*2*4), 0, 4)
	for i, v := range got {
		if repeated := i/8 == 1; repeated && v != want[i] || !repeated && v != 7 {
			t.Errorf("value %d is %v", i, v)
		}
	}
}

// Whether it succeeds or fails, a simulation leaves nothing on the device.
func TestMemory(t *testing.T) {
	s := opened(t, backendtest.Fast(t))
	fails := 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	batch := simulate.Batch{
		Count: 2, Scheme: simulate.Scheme{DT: 0.01, BurnIn: 3, Thin: 1, Chains: 3},
		System: func(i int) (sde.System, error) {
			if fails > 0 {
				cancel()
			}
			return bumpy(4)(i)
		},
	}
	dst := make([]float32, 2*3*20)
	before := int64(-1)
	for ; fails < 2; fails++ {
		if err := s.Simulate(ctx, dst, batch, nil); (err != nil) != (fails > 0) {
			t.Fatal(err)
		}
		if before < 0 {
			before = backend.LiveBuffers()
		}
		if now := backend.LiveBuffers(); now != before {
			t.Errorf("%d buffers are alive, want %d", now, before)
		}
	}
	if before > 1 {
		t.Errorf("%d buffers are alive, want that of the normals alone", before)
	}
}

// fading is cancelled after a number of calls of Err.
type fading struct {
	context.Context
	calls *atomic.Int64
}

func (f fading) Err() error {
	if f.calls.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A run that would last for hours ends when its context does.
func TestCancellation(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		s := opened(t, b)
		for _, calls := range []int64{0, 1, 10} {
			ctx := fading{context.Background(), new(atomic.Int64)}
			ctx.calls.Store(calls)
			batch := simulate.Batch{Count: 2, System: bumpy(4), Scheme: simulate.Scheme{DT: 0.01, BurnIn: 1 << 40, Thin: 1, Chains: 2}}
			if err := s.Simulate(ctx, make([]float32, 4), batch, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("%v after %d calls of Err, want context.Canceled", err, calls)
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	s := opened(t, backendtest.Fast(t))
	good := simulate.Batch{Count: 2, System: bumpy(4), Scheme: simulate.Scheme{DT: 0.01, Thin: 1, Chains: 3}}
	with := func(change func(b *simulate.Batch)) simulate.Batch {
		b := good
		change(&b)
		return b
	}
	systems := func(system func(i int) (sde.System, error)) simulate.Batch {
		return with(func(b *simulate.Batch) { b.System = system })
	}
	for _, c := range []struct {
		batch  simulate.Batch
		values int
		want   string
	}{
		{good, 0, "0 values cannot be shared by 2 functions"},
		{good, 7, "7 values cannot be shared by 2 functions"},
		{good, 8, "4 values cannot be shared by 3 chains"},
		{with(func(b *simulate.Batch) { b.Count = 0 }), 6, "6 values cannot be shared by 0 functions"},
		{with(func(b *simulate.Batch) { b.Scheme.DT = 0 }), 6, "time step dt is 0"},
		{systems(func(i int) (sde.System, error) { return bumpy(4 + i)(i) }), 6, "function 1 is a sde.Coefficients of size"},
		{systems(func(i int) (sde.System, error) { return sde.Coefficients{}, nil }), 6, "function 0: grid has 0 nodes"},
		{systems(func(i int) (sde.System, error) { return nil, errors.New("deliberate") }), 6, "deliberate"},
	} {
		err := s.Simulate(context.Background(), make([]float32, c.values), c.batch, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
