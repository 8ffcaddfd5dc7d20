package processor_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/experiment/experimenttest"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/processor"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// model is a network of an experiment whose output layer is not zero, what conditions it, and
// functions of the experiment.
func model(t *testing.T, name string, n int) (experiment.Experiment, flow.Conditioner, *state.State, []flow.Subject) {
	t.Helper()
	e, f, st := experimenttest.Untrained(t, name, 1)
	for i := range st.Parameters {
		st.Parameters[i] = 1.3*st.Parameters[i] + 0.02*float32(math.Sin(float64(i)))
	}
	for k := range 8 { // features of a probe, at most
		st.Normalisation[fmt.Sprintf("probes[%d]", k)] = shard.Standard{Std: 1}
	}
	for k := range e.Velocity().Dim() {
		st.Normalisation[shard.State(k)] = shard.Standard{Mean: 2, Std: 3}
	}
	conditioner, err := e.Conditioner(f, st.Normalisation)
	if err != nil {
		t.Fatal(err)
	}
	return e, conditioner, st, experimenttest.Subjects(t, f, 1, n)
}

func open(t *testing.T, e experiment.Experiment, c flow.Conditioner, st *state.State) *processor.Sampler {
	t.Helper()
	s, err := processor.New(e.Velocity(), c, st)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The samples are those of the network on a backend, from the same noise, within 1e-4 of a
// deviation, with every kind of network and with solvers of fixed and of own steps.
func TestAgreesWithSampler(t *testing.T) {
	b, err := backend.Open(backend.Go)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, name := range []string{"vn1d", "cn2d_grid", "cn2d", "particles64d"} {
		t.Run(name, func(t *testing.T) {
			e, c, st, subjects := model(t, name, 2)
			direct, err := sampler.New(b, e.Velocity(), c, st)
			if err != nil {
				t.Fatal(err)
			}
			defer direct.Close()
			n := 300
			if name == "particles64d" {
				n = 10
			}
			for _, solver := range []ode.Solver{ode.RK4{Steps: 1}, ode.Dopri5{}} {
				got, err := open(t, e, c, st).Sample(t.Context(), subjects, n, solver, 3)
				if err != nil {
					t.Fatal(err)
				}
				want, err := direct.Sample(t.Context(), subjects, n, solver, 3)
				if err != nil {
					t.Fatal(err)
				}
				moved := 0.0
				for i := range want {
					noise := sampler.Noise(3, i, len(want[i]))
					for j, v := range want[i] {
						moved = max(moved, math.Abs(float64(v-2)/3-float64(noise[j])))
						if d := math.Abs(float64(got[i][j]-v)) / 3; !(d <= 1e-4) {
							t.Fatalf("%s: function %d, number %d is %g, want %g", solver, i, j, got[i][j], v)
						}
					}
				}
				if moved < 0.01 || slices.Equal(got[0], got[1]) {
					t.Errorf("%s moves samples by %g at most: the test shows nothing", solver, moved)
				}
			}
		})
	}
}

// Concurrent requests get the samples that each gets alone.
func TestConcurrent(t *testing.T) {
	e, c, st, subjects := model(t, "cn2d", 3)
	s := open(t, e, c, st)
	solver := ode.Euler{Steps: 2}
	want, err := s.Sample(t.Context(), subjects, 250, solver, 1)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			got, err := s.Sample(t.Context(), subjects, 250, solver, 1)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range want {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("function %d has other samples beside other requests", i)
				}
			}
		})
	}
	group.Wait()
}

// cancelling ends the context at the first evaluation of the flow.
type cancelling struct {
	ode.Solver
	cancel context.CancelFunc
}

func (c cancelling) Integrate(ctx context.Context, field ode.Field, x []float32, t0, t1 float64) (int, error) {
	return c.Solver.Integrate(ctx, func(dst, x []float32, t float64) error {
		err := field(dst, x, t)
		c.cancel()
		return err
	}, x, t0, t1)
}

// A cancelled request ends with the context's error, before and during the integration.
func TestCancelled(t *testing.T) {
	e, c, st, subjects := model(t, "cn2d_grid", 2)
	s := open(t, e, c, st)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := s.Sample(ctx, subjects, 10, cancelling{ode.Euler{Steps: 1 << 20}, cancel}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled during the integration: %v", err)
	}
	if _, err := s.Sample(ctx, subjects, 10, ode.Euler{Steps: 1}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
}

// A function whose samples are not finite fails alone.
func TestFailuresAreSingle(t *testing.T) {
	e, c, st, subjects := model(t, "cn2d_grid", 2)
	fields := slices.Clone(subjects[1].Function.Fields)
	fields[0] = slices.Repeat([]float32{float32(math.NaN())}, len(fields[0]))
	subjects[1].Function.Fields = fields
	samples, failures, err := open(t, e, c, st).SampleEach(t.Context(), []sampler.Draw{
		{Function: subjects[0], N: 10}, {Function: subjects[1], N: 10, Place: 1},
	}, ode.Euler{Steps: 1})
	if err != nil {
		t.Fatal(err)
	}
	if failures[0] != nil || len(samples[0]) != 20 || !errors.Is(failures[1], ode.ErrNonFinite) || samples[1] != nil {
		t.Errorf("failures %v, %d and %d numbers", failures, len(samples[0]), len(samples[1]))
	}
}

func TestOtherNetwork(t *testing.T) {
	e, c, st, _ := model(t, "cn2d", 1)
	if _, err := processor.New(deeponet.PaperPlane(8), c, st); !errors.Is(err, sampler.ErrOtherNetwork) {
		t.Errorf("the state of another network: %v", err)
	}
	s := open(t, e, c, st)
	if _, _, err := s.SampleEach(t.Context(), []sampler.Draw{{N: 0}}, ode.Euler{Steps: 1}); err == nil {
		t.Error("no samples are accepted")
	}
}
