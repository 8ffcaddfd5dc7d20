// Package distillation trains a network, the student, to arrive in K evaluations where another one
// of the same architecture, the teacher, arrives by an accurate solver.
//
// The teacher's flow carries noise z(0) ~ N(0, I) along a path z(t). The student learns the
// mean velocity over each of K equal intervals,
//
//	v(z(t_i), t_i) ≈ K·(z(t_{i+1}) − z(t_i)),  t_i = i/K,
//
// so that Euler's method with K steps follows the path (progressive distillation: Luhman and
// Luhman, arXiv 2101.02388; Liu and others, arXiv 2209.03003). It begins with the teacher's
// parameters. It needs no samples of the equations: every step makes functions that neither
// training nor evaluation has, and noise.
package distillation

import (
	"context"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/optim"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

// teacher is a trained network with what it was trained for.
type teacher struct {
	model       velocity.Model
	family      family.Family
	conditioner flow.Conditioner
	parameters  []float32
}

// Student is under training. It is for one goroutine.
type Student struct {
	config  experiment.Distillation
	teacher teacher
	paths   *paths
	trainer *trainer.Trainer
	batch   flow.Batch
	losses  []float64
}

// New makes a student of the teacher, as the experiment (Experiment.Distilled of the teacher's)
// says. It begins with the teacher's parameters, or continues from the student's state st, which
// is nil in the first case.
func New(b *backend.Backend, e experiment.Experiment, of *state.State, st *state.State) (*Student, error) {
	config := *e.Distillation
	e = e.Inference()
	f, err := e.Family()
	if err != nil {
		return nil, err
	}
	conditioner, err := e.Conditioner(f, of.Normalisation)
	if err != nil {
		return nil, err
	}
	s := &Student{config: config, teacher: teacher{e.Velocity(), f, conditioner, of.Parameters}}
	s.trainer, err = trainer.New(b, trainer.Config{
		Model: e.Velocity(), Samples: config.BatchSamples * config.Evaluations, Precision: e.Training.Precision,
		Optimizer: optim.AdamW{
			WeightDecay: e.Training.WeightDecay, ClipNorm: e.Training.ClipNorm,
			Schedule: optim.OneCycle{Peak: config.LearningRate, Total: int64(config.Steps)},
		},
	})
	if err != nil {
		return nil, err
	}
	if s.paths, err = newPaths(b, s.teacher, config); err != nil {
		s.trainer.Close()
		return nil, err
	}
	zeros := make([]float32, s.trainer.Size())
	theta, m, v := of.Parameters, zeros, zeros
	if st != nil {
		theta, m, v, s.losses = st.Parameters, st.M, st.V, append(s.losses, st.Losses...)
	}
	if err := s.trainer.SetState(theta, m, v); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close frees everything on the device.
func (s *Student) Close() {
	s.paths.close()
	s.trainer.Close()
}

// Steps is the number of updates so far.
func (s *Student) Steps() int { return len(s.losses) }

// Step takes one update, and returns the mean squared error before it: over the numbers of a
// state summed, over intervals, paths and functions averaged.
func (s *Student) Step(ctx context.Context) (loss float64, err error) {
	step := s.Steps()
	subjects, err := s.subjects(step)
	if err != nil {
		return 0, err
	}
	c, d := s.config, s.teacher.model.Dim()
	s.batch.Reset(c.BatchSamples*c.Evaluations, d, len(s.teacher.model.Inputs()))
	s.batch.Functions = len(subjects)
	if err := s.teacher.conditioner.Condition(ctx, s.batch.Inputs, subjects); err != nil {
		return 0, err
	}
	noise := make([]float32, 0, c.BatchFunctions*c.BatchSamples*d)
	for j := range subjects {
		source := random.New(c.Seed, "distillation/noise", uint64(step), uint64(j))
		for range c.BatchSamples * d {
			noise = append(noise, float32(source.NormFloat64()))
		}
	}
	at, err := s.paths.follow(ctx, s.batch.Inputs, noise)
	if err != nil {
		return 0, fmt.Errorf("step %d: the teacher's paths: %w", step, err)
	}
	s.lessons(at)
	s.trainer.Reset()
	if err := s.trainer.Accumulate(&s.batch); err != nil {
		return 0, err
	}
	sum := make([]float32, s.trainer.Size()+2)
	if err := s.trainer.TakeSum(sum); err != nil {
		return 0, err
	}
	if err := s.trainer.Apply(sum, int64(step)); err != nil {
		return 0, err
	}
	loss, _ = trainer.Loss(sum)
	s.losses = append(s.losses, loss)
	return loss, nil
}

// attempts is how many functions are made in place of one that has no equation.
const attempts = 16

// subjects are the functions of a step. Their seeds are none that training or evaluation uses.
func (s *Student) subjects(step int) ([]flow.Subject, error) {
	subjects := make([]flow.Subject, s.config.BatchFunctions)
	for j := range subjects {
		i := step*len(subjects) + j
		var err error
		for attempt := range attempts {
			seed, _ := random.Key(s.config.Seed, "distillation/functions", uint64(attempt))
			subjects[j].Index = i
			if subjects[j].Function, err = s.teacher.family.Function(seed, i); err == nil {
				break
			}
		}
		if err != nil {
			return nil, fmt.Errorf("step %d: none of %d attempts at function %d of %s has an equation: %w", step, attempts, i, s.teacher.family.Name(), err)
		}
	}
	return subjects, nil
}

// lessons sets the pairs of the batch from the states at [K+1] times of the paths, each
// [functions, samples, d]. The trainer fits v(x_t, t), x_t = x₀ + t·(x₁ − x₀), to x₁ − x₀. For
// the state z at t_i and the mean velocity u from there on, the pair is x₀ = z − t_i·u and
// x₁ = x₀ + u.
func (s *Student) lessons(at [][]float32) {
	k, d := s.config.Evaluations, s.teacher.model.Dim()
	stretch := s.config.BatchSamples * d // numbers of a function at one time
	for j := range s.batch.Functions {
		for i := range k {
			t := float64(i) / float64(k)
			from, to := at[i][j*stretch:(j+1)*stretch], at[i+1][j*stretch:(j+1)*stretch]
			for n, z := range from {
				u := float64(k) * (float64(to[n]) - float64(z))
				x0 := float64(z) - t*u
				s.batch.X0 = append(s.batch.X0, float32(x0))
				s.batch.X1 = append(s.batch.X1, float32(x0+u))
			}
			for range s.config.BatchSamples {
				s.batch.T = append(s.batch.T, float32(t))
			}
		}
	}
}

// State is that of the student so far: parameters, moments and losses. What else st has stays.
func (s *Student) State(st *state.State) error {
	n := s.trainer.Size()
	st.Parameters, st.M, st.V = make([]float32, n), make([]float32, n), make([]float32, n)
	st.Losses = slices.Clone(s.losses)
	st.Step = ergoflow.Step(len(s.losses))
	return s.trainer.State(st.Parameters, st.M, st.V)
}
