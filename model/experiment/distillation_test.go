package experiment_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
)

func distillation() experiment.Distillation {
	return experiment.Distillation{Evaluations: 2, Steps: 10, BatchFunctions: 4, BatchSamples: 8, LearningRate: 1e-3}
}

// A distilled experiment is the teacher's but for its solver, has a hash of its own, survives
// JSON, and can neither be trained by a cluster, nor begin a training, nor be a teacher.
func TestDistilled(t *testing.T) {
	teacher := load(t, "vn1d")
	st, _ := trained(t, teacher)
	e, err := teacher.Distilled(st, distillation())
	if err != nil {
		t.Fatal(err)
	}
	if d := e.Distillation; d.Teacher.Run != st.Run || d.Teacher.Step != 3 || len(d.Teacher.Parameters) != 64 {
		t.Errorf("the teacher is %+v", d.Teacher)
	}
	if e.Hash() == teacher.Hash() || e.Steps() != 10 || teacher.Distillation != nil {
		t.Errorf("hash %s, %d steps", e.Hash(), e.Steps())
	}
	other := distillation()
	other.Seed = 1
	if o, err := teacher.Distilled(st, other); err != nil || o.Hash() == e.Hash() {
		t.Errorf("another seed: the same hash, or %v", err)
	}
	config, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	again, err := experiment.Parse(config)
	if err != nil || again.Hash() != e.Hash() {
		t.Errorf("from JSON: %v", err)
	}
	if _, err := e.Plan(); !errors.Is(err, experiment.ErrDistilled) {
		t.Errorf("a plan: %v", err)
	}
	if _, err := e.Distilled(st, distillation()); !errors.Is(err, experiment.ErrDistilled) {
		t.Errorf("a distilled teacher: %v", err)
	}
	_, encoded := trained(t, e)
	if _, _, err := load(t, "vn1d", "training.steps=10").StartFrom(encoded); !errors.Is(err, experiment.ErrStart) || !errors.Is(err, experiment.ErrDistilled) {
		t.Errorf("a warm start: %v", err)
	}
}

// Every solver integrates a trained network, and the evaluation's is the default. A distilled
// one is for Euler's method with its number of steps.
func TestSolver(t *testing.T) {
	teacher := load(t, "vn1d")
	for name, want := range map[string]ode.Solver{"": ode.RK4{Steps: 4}, "euler-8": ode.Euler{Steps: 8}, "dopri5": ode.Dopri5{}} {
		if got, err := teacher.Solver(name); err != nil || got != want {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	if _, err := teacher.Solver("rk9"); err == nil {
		t.Error("rk9 is a solver")
	}
	st, _ := trained(t, teacher)
	e, err := teacher.Distilled(st, distillation())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "euler-2"} {
		if got, err := e.Solver(name); err != nil || got != (ode.Euler{Steps: 2}) {
			t.Errorf("distilled, %q: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"rk4-4", "euler-1", "dopri5"} {
		if _, err := e.Solver(name); !errors.Is(err, experiment.ErrDistilled) {
			t.Errorf("distilled, %q: %v", name, err)
		}
	}
}

// Every field of a distillation is checked, also one that comes from a file.
func TestBadDistillation(t *testing.T) {
	teacher := load(t, "vn1d")
	st, _ := trained(t, teacher)
	good, err := teacher.Distilled(st, distillation())
	if err != nil {
		t.Fatal(err)
	}
	for field, spoil := range map[string]func(*experiment.Distillation){
		"distillation.teacher.run":        func(d *experiment.Distillation) { d.Teacher.Run = "" },
		"distillation.teacher.step":       func(d *experiment.Distillation) { d.Teacher.Step = -1 },
		"distillation.teacher.parameters": func(d *experiment.Distillation) { d.Teacher.Parameters = "00" },
		"distillation.evaluations":        func(d *experiment.Distillation) { d.Evaluations = 17 },
		"distillation.steps":              func(d *experiment.Distillation) { d.Steps = 0 },
		"distillation.batch_functions":    func(d *experiment.Distillation) { d.BatchFunctions = 1 << 40 },
		"distillation.batch_samples":      func(d *experiment.Distillation) { d.BatchSamples = 1 << 20 },
		"distillation.learning_rate":      func(d *experiment.Distillation) { d.LearningRate = 2 },
		"evaluation.solver":               func(d *experiment.Distillation) { d.Evaluations = 4 },
	} {
		e, d := good, *good.Distillation
		spoil(&d)
		e.Distillation = &d
		var got *experiment.FieldError
		if err := e.Validate(); !errors.As(err, &got) || got.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
