package engine_test

import (
	"errors"
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment/experimenttest"
	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
)

// Table and network give the same samples, before another state is loaded and after, and an
// engine leaves a backend open that is not its own.
func TestEnginesAgree(t *testing.T) {
	e, f, st := experimenttest.Untrained(t, "vn1d", 1)
	b, err := backend.Open(backend.Go)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	solver := ode.RK4{Steps: 2}
	functions := experimenttest.Subjects(t, f, 1, 2)
	open := func(name string) *engine.Engine {
		drawer, err := engine.Open(engine.Options{Name: name, Shared: b}, e, f, st)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(drawer.Close)
		return drawer
	}
	byTable, byNetwork := open(engine.Auto), open(engine.Network)
	if byTable.Of(solver) != engine.Table || byNetwork.Of(solver) != engine.Network || byTable.Of(ode.Dopri5{}) != engine.Processor {
		t.Error("another engine is chosen")
	}
	var before float32
	for range 2 {
		got, err := byTable.Sample(t.Context(), functions, 50, solver, 3)
		if err != nil {
			t.Fatal(err)
		}
		want, err := byNetwork.Sample(t.Context(), functions, 50, solver, 3)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			for j, v := range want[i] {
				if math.Abs(float64(got[i][j]-v)) > 1e-4 {
					t.Fatalf("function %d, sample %d is %g by table, %g by the network", i, j, got[i][j], v)
				}
			}
		}
		if got[0][0] == before {
			t.Error("another state gives the same sample")
		}
		before = got[0][0]
		_, _, other := experimenttest.Untrained(t, "vn1d", 2)
		for _, drawer := range []*engine.Engine{byTable, byNetwork} {
			if err := drawer.Load(other); err != nil {
				t.Fatal(err)
			}
		}
	}
	byNetwork.Close()
	if _, err := open(engine.Network).Sample(t.Context(), functions[:1], 10, ode.Euler{Steps: 1}, 3); err != nil {
		t.Errorf("the shared backend is closed: %v", err)
	}
}

// Without a table, auto takes the processor itself, and the backend where that is a GPU.
func TestWithoutTable(t *testing.T) {
	t.Setenv("ERGOFLOW_CACHE", t.TempDir()) // no plugin is installed
	e, f, st := experimenttest.Untrained(t, "cn2d_grid", 1)
	for _, test := range []struct{ name, backend, want string }{
		{engine.Auto, backend.Auto, engine.Processor}, {engine.Auto, backend.XLACPU, engine.Processor},
		{engine.Auto, backend.XLACUDA, engine.Network}, {engine.Processor, backend.XLACUDA, engine.Processor},
		{engine.Network, backend.Go, engine.Network},
	} {
		drawer, err := engine.Open(engine.Options{Name: test.name, Backend: test.backend}, e, f, st)
		if err != nil {
			t.Fatal(err)
		}
		defer drawer.Close()
		if got := drawer.Of(ode.RK4{Steps: 4}); got != test.want {
			t.Errorf("--engine %s --backend %s is computed by %s, want %s", test.name, test.backend, got, test.want)
		}
	}
	if _, err := engine.Open(engine.Options{Backend: "gpu"}, e, f, st); !errors.Is(err, backend.ErrUnknown) {
		t.Errorf("an unknown backend: %v", err)
	}
}

// The benchmark says how far the processor's samples are from those of a backend.
func TestBenchmarkCompares(t *testing.T) {
	e, f, st := experimenttest.Untrained(t, "cn2d_grid", 1)
	s, err := engine.Benchmark(t.Context(), engine.Options{Name: engine.Processor, Backend: backend.Go}, e, f, st, ode.RK4{Steps: 1}, 2, 50, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s.Engine != engine.Processor || s.Compared != 2 || !(s.MaxErrorVsDirect > 0 && s.MaxErrorVsDirect < 1e-4) || s.RMSErrorVsDirect > s.MaxErrorVsDirect {
		t.Errorf("the benchmark is %+v", s)
	}
}

// Draws of several requests have the samples that each request has alone, by either engine.
func TestSampleEach(t *testing.T) {
	e, f, st := experimenttest.Untrained(t, "vn1d", 1)
	functions := experimenttest.Subjects(t, f, 1, 3)
	solver := ode.Euler{Steps: 2}
	draws := []sampler.Draw{
		{Function: functions[0], N: 20, Seed: 1}, {Function: functions[1], N: 20, Seed: 1, Place: 1},
		{Function: functions[2], N: 30, Seed: 1}, {Function: functions[0], N: 20, Seed: 2},
	}
	for _, name := range []string{engine.Table, engine.Processor, engine.Network} {
		drawer, err := engine.Open(engine.Options{Name: name, Backend: backend.Go}, e, f, st)
		if err != nil {
			t.Fatal(err)
		}
		defer drawer.Close()
		got, failures, err := drawer.SampleEach(t.Context(), draws, solver)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := drawer.Sample(t.Context(), functions[:2], 20, solver, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range draws {
			if failures[i] != nil || len(got[i]) != d.N {
				t.Fatalf("%s, draw %d: %d samples, error %v", name, i, len(got[i]), failures[i])
			}
		}
		for i := range pair {
			for j, v := range pair[i] {
				if math.Abs(float64(got[i][j]-v)) > 1e-5 {
					t.Errorf("%s: draw %d, sample %d is %g, alone %g", name, i, j, got[i][j], v)
				}
			}
		}
		if got[3][0] == got[0][0] {
			t.Errorf("%s: another seed gives the same sample", name)
		}
	}
}

func TestNoTable(t *testing.T) {
	e, f, st := experimenttest.Untrained(t, "cn2d_grid", 1)
	if _, err := engine.Open(engine.Options{Name: engine.Table}, e, f, st); !errors.Is(err, engine.ErrNoTable) {
		t.Errorf("in the plane: %v", err)
	}
	e, f, st = experimenttest.Untrained(t, "vn1d", 1)
	drawer, err := engine.Open(engine.Options{Name: engine.Table}, e, f, st)
	if err != nil {
		t.Fatal(err)
	}
	defer drawer.Close()
	if err := drawer.Prepare(t.Context(), ode.Dopri5{}); !errors.Is(err, engine.ErrNoTable) {
		t.Errorf("an adaptive solver: %v", err)
	}
	if _, err := drawer.Sample(t.Context(), experimenttest.Subjects(t, f, 1, 1), 10, ode.Dopri5{}, 0); !errors.Is(err, engine.ErrNoTable) {
		t.Errorf("samples by an adaptive solver: %v", err)
	}
	if _, err := engine.Open(engine.Options{Name: "fast"}, e, f, st); err == nil {
		t.Error("an unknown engine is opened")
	}
}
