package distillation

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/experiment/experimenttest"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// setting is an experiment of a student, and its teacher: an untrained network, whose flow is
// made steeper.
func setting(t *testing.T, name string, d experiment.Distillation) (*backend.Backend, experiment.Experiment, *state.State) {
	t.Helper()
	e, _, st := experimenttest.Untrained(t, name, 5)
	for i := range st.Parameters {
		st.Parameters[i] *= 1.3
	}
	e, err := e.Distilled(st, d)
	if err != nil {
		t.Fatal(err)
	}
	b, err := backend.Open(backend.Go)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b, e, st
}

func configuration(evaluations, steps int) experiment.Distillation {
	return experiment.Distillation{Evaluations: evaluations, Steps: steps, BatchFunctions: 4, BatchSamples: 8, LearningRate: 1e-3, Seed: 3}
}

// train runs a distillation, continuing from a state, until it has taken that many updates; 0 is
// all of them.
func train(t *testing.T, b *backend.Backend, e experiment.Experiment, of, from *state.State, until int) (*state.State, error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var saved *state.State
	st, err := Run(ctx, e, Options{
		Backend: b, Teacher: of, Student: from,
		Save: func(st *state.State) error {
			encoded, err := st.Encode()
			if err != nil {
				return err
			}
			_, saved, err = experiment.DecodeState(encoded)
			return err
		},
		Progress: func(step int, _ float64) {
			if step == until {
				stop()
			}
		},
	})
	if st != nil && !slices.Equal(st.Parameters, saved.Parameters) {
		t.Error("Run returns another state than it saves")
	}
	return saved, err
}

// The pairs of a batch lead through the states of the paths with the mean velocity of the
// interval after each.
func TestLessons(t *testing.T) {
	b, e, of := setting(t, "vn1d", configuration(2, 1))
	s, err := New(b, e, of, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const n, samples = 4, 8
	at := make([][]float32, 3) // the path of number i is i + t²
	for k := range at {
		for i := range n * samples {
			at[k] = append(at[k], float32(i)+float32(k*k)/4)
		}
	}
	s.batch.Functions = n
	s.lessons(at)
	if len(s.batch.T) != n*2*samples {
		t.Fatalf("%d pairs", len(s.batch.T))
	}
	for i, time := range s.batch.T {
		x0, x1 := float64(s.batch.X0[i]), float64(s.batch.X1[i])
		function, interval, sample := i/(2*samples), i/samples%2, i%samples
		path := float64(function*samples + sample)
		t0 := float64(interval) / 2
		if want := path + t0*t0; float64(time) != t0 || math.Abs(x0+t0*(x1-x0)-want) > 1e-5 {
			t.Errorf("pair %d is at %g at time %g, not at %g at %g", i, x0+t0*(x1-x0), time, want, t0)
		}
		if want := t0 + (t0 + 0.5); math.Abs(x1-x0-want) > 1e-5 { // (t₁² − t₀²)/(t₁ − t₀)
			t.Errorf("pair %d has the velocity %g, not %g", i, x1-x0, want)
		}
	}
}

// A student of one evaluation comes closer to where its teacher's flow ends, for functions that
// it has not seen, on the line and in the plane.
func TestStudentLearns(t *testing.T) {
	for _, name := range []string{"vn1d", "cn2d_grid"} {
		t.Run(name, func(t *testing.T) {
			b, e, of := setting(t, name, configuration(1, 60))
			st, err := train(t, b, e, of, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			f, err := e.Family()
			if err != nil {
				t.Fatal(err)
			}
			conditioner, err := e.Conditioner(f, of.Normalisation)
			if err != nil {
				t.Fatal(err)
			}
			subjects := experimenttest.Subjects(t, f, 99, 8)
			draw := func(st *state.State, solver ode.Solver) []float32 {
				s, err := sampler.New(b, e.Velocity(), conditioner, st)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				x, err := s.Sample(t.Context(), subjects, 64, solver, 1)
				if err != nil {
					t.Fatal(err)
				}
				return slices.Concat(x...)
			}
			want := draw(of, ode.RK4{Steps: 8})
			apart := func(x []float32) (sum float64) {
				for i, v := range x {
					sum += (float64(v) - float64(want[i])) * (float64(v) - float64(want[i]))
				}
				return sum / float64(len(x))
			}
			before, after := apart(draw(of, ode.Euler{Steps: 1})), apart(draw(st, e.Distillation.Solver()))
			if !(after < before/2) {
				t.Errorf("mean squared distance to the teacher's samples: %g before, %g after", before, after)
			}
		})
	}
}

// A distillation that is interrupted keeps its state, and continued ends where an undisturbed
// one does.
func TestContinued(t *testing.T) {
	b, e, of := setting(t, "vn1d", configuration(2, 6))
	whole, err := train(t, b, e, of, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	part, err := train(t, b, e, of, nil, 3)
	if !errors.Is(err, context.Canceled) || part.Step != 3 || part.Run != e.Hash() {
		t.Fatalf("interrupted: step %d, %v", part.Step, err)
	}
	rest, err := train(t, b, e, of, part, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rest.Parameters, whole.Parameters) || !slices.Equal(rest.Losses, whole.Losses) {
		t.Error("the continued distillation ends elsewhere")
	}
	if again, err := train(t, b, e, of, whole, 0); err != nil || !slices.Equal(again.Parameters, whole.Parameters) {
		t.Errorf("a complete one is trained on: %v", err)
	}
}
