package request

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/wells"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// inSpace reads formulas for a family without a grid.
func (r Request) inSpace(spatial family.Spatial) (Target, error) {
	box := spatial.Box()
	shapes, values := make(map[string]expression.Shape), make(map[string][]float64)
	for name, v := range r.Parameters {
		shapes[name], values[name] = expression.Number, []float64{v}
	}
	compiled, err := expression.CompileSystem(len(box), r.Drift, r.Diffusion, shapes)
	if err != nil {
		input := "drift"
		if part := new(expression.PartError); errors.As(err, &part) {
			input, err = part.Part, part.Err
		}
		return Target{}, &InputError{input, ErrSpaceFormula, err}
	}
	if compiled.Terms > spatial.Terms() {
		return Target{}, &InputError{"diffusion", ErrDiffusion, fmt.Errorf("it has %d numbers, functions of the model's family have %d", compiled.Terms, spatial.Terms())}
	}
	system, err := compiled.Space(box, values)
	if err != nil {
		return Target{}, &InputError{"drift", ErrSpaceFormula, err}
	}
	system.Domain = spatial.Domain()
	system = system.Widened(spatial.Terms())
	if err := system.CheckUniform(checkedStates, boxSeed); err != nil {
		if bad := new(sde.CoefficientError); errors.As(err, &bad) {
			return Target{}, &InputError{bad.Part, ErrSpaceFormula, fmt.Errorf("in the model's box %w", err)}
		}
		if errors.Is(err, sde.ErrEnds) {
			return Target{}, &InputError{"drift", ErrSpaceFormula, err}
		}
		return Target{}, &InputError{"diffusion", ErrDiffusion, err}
	}
	return Target{
		Subject: flow.Subject{Function: family.Function{System: system}},
		subject: certificate.Subject{Equation: certificate.Space{Space: system}, Wells: wells.For(system), Unlearned: math.NaN()},
		inSpace: true,
	}, nil
}

const (
	checkedStates, boxSeed = 256, 1 // in the box, the same for every request
	// comparedFunctions of the training set give the range of the coefficients at every state.
	comparedFunctions = 256
	// mostBeyond is the part of the coefficients that may be out of that range without a word. A
	// function of the family is beyond 256 others with one coefficient of 128.
	mostBeyond = 0.05
)

// ranges are the least and the largest coefficients of functions of one family at every state of its
// box.
type ranges struct {
	states      []float64
	least, most []float64
	functions   int
}

// trainedRanges are those of the first functions of the training set, of each component of a mixture.
func (m *Reader) trainedRanges() ([]ranges, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ranges != nil {
		return m.ranges, nil
	}
	mixed, ok := m.family.(family.Mixed)
	components := []family.Component{{Family: m.family}}
	if ok {
		components = mixed.Components()
	}
	all := make([]ranges, len(components))
	seed := m.experiment.Data.Seed
	first, count := m.experiment.Data.Generated()
	for i := range min(count, comparedFunctions*len(components)) {
		number, of := m.experiment.Data.TrainingFunction(first+i), 0
		if ok {
			of = mixed.Component(seed, number)
		}
		if all[of].functions == comparedFunctions {
			continue
		}
		function, err := m.family.Function(seed, number)
		if err != nil {
			return nil, err
		}
		all[of].add(function.System.(sde.Space))
	}
	m.ranges = slices.DeleteFunc(all, func(r ranges) bool { return r.functions == 0 })
	return m.ranges, nil
}

// add widens the ranges to the coefficients of another function.
func (r *ranges) add(system sde.Space) {
	if r.functions++; r.functions == 1 {
		r.states = system.Uniform(checkedStates, boxSeed)
		r.least = coefficients(system, r.states)
		r.most = slices.Clone(r.least)
		return
	}
	for k, v := range coefficients(system, r.states) {
		r.least[k], r.most[k] = min(r.least[k], v), max(r.most[k], v)
	}
}

// beyond is the part of an equation's coefficients that is out of the ranges.
func (r *ranges) beyond(system sde.Space) (part float64) {
	values := coefficients(system, r.states)
	for k, v := range values {
		slack := 0.01 * (r.most[k] - r.least[k])
		if v < r.least[k]-slack-tiny*math.Abs(v) || v > r.most[k]+slack+tiny*math.Abs(v) {
			part += 1 / float64(len(values))
		}
	}
	return part
}

// bound is how much of a function of the family may be out of the ranges without a word: one in
// n + 1 functions has the largest coefficient, and one the least.
func (r *ranges) bound() float64 { return max(mostBeyond, 4/float64(r.functions+1)) }

// coefficients are drifts and then diffusions at states, those up to their sign.
func coefficients(s sde.Space, states []float64) []float64 {
	drift, diffusion := s.Coefficients(states)
	for _, v := range diffusion {
		drift = append(drift, math.Abs(v))
	}
	return drift
}

// beyondTraining warns of an equation whose coefficients are where those of the training set are
// not. In a mixture it is compared with each component, in that component's box.
func (m *Reader) beyondTraining(system sde.Space) ([]string, error) {
	all, err := m.trainedRanges()
	if err != nil {
		return nil, err
	}
	least := math.Inf(1)
	for _, r := range all {
		part := r.beyond(system)
		if part <= r.bound() {
			return nil, nil
		}
		least = min(least, part)
	}
	of := "the training set has"
	if len(all) > 1 {
		of = "the nearest component of the training set has"
	}
	return []string{fmt.Sprintf("%s of the equation's coefficients in the box are out of the range that %s there: the model may not know such equations", percent(least), of)}, nil
}

// tiny is for rounding where all functions have the same coefficient.
const tiny = 1e-6
