package request

import (
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
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
	system = asTerms(system, spatial.Terms())
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
		subject: certificate.Subject{Equation: certificate.Space{Space: system}, Unlearned: math.NaN()},
		inSpace: true,
	}, nil
}

// asTerms is an equation whose diffusion has as many terms as the networks of a family read, which
// σ·I and a diagonal can be written in.
func asTerms(s sde.Space, terms int) sde.Space {
	if s.Terms == terms {
		return s
	}
	wide := s
	wide.Terms = terms
	wide.Bind = func(engine string, x []*[sde.Lanes]float64) (func(int), []*[sde.Lanes]float64, []*[sde.Lanes]float64) {
		evaluate, drift, diffusion := s.Bind(engine, x)
		all, none := make([]*[sde.Lanes]float64, terms), new([sde.Lanes]float64)
		for k := range all {
			row, column := k, k
			if terms > s.Dim() {
				row, column = k/s.Dim(), k%s.Dim()
			}
			all[k] = none
			if row == column {
				all[k] = diffusion[min(row, len(diffusion)-1)]
			}
		}
		return evaluate, drift, all
	}
	return wide
}

const (
	checkedStates, boxSeed = 256, 1 // in the box, the same for every request
	// comparedFunctions of the training set give the range of the coefficients at every state.
	comparedFunctions = 256
	// mostBeyond is the part of the coefficients that may be out of that range without a word. A
	// function of the family is beyond 256 others with one coefficient of 128.
	mostBeyond = 0.05
)

// ranges are the least and the largest coefficients of the training set at every state of the box.
type ranges struct{ least, most []float64 }

// trainedRanges are those of the first functions of the training set.
func (m *Reader) trainedRanges() (ranges, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ranges != nil {
		return *m.ranges, nil
	}
	var r ranges
	var states []float64
	first, count := m.experiment.Data.Generated()
	for i := range min(count, comparedFunctions) {
		function, err := m.family.Function(m.experiment.Data.Seed, m.experiment.Data.TrainingFunction(first+i))
		if err != nil {
			return r, err
		}
		system := function.System.(sde.Space)
		if states == nil {
			states = system.Uniform(checkedStates, boxSeed)
		}
		values := coefficients(system, states)
		if r.least == nil {
			r.least, r.most = values, append([]float64(nil), values...)
			continue
		}
		for k, v := range values {
			r.least[k], r.most[k] = min(r.least[k], v), max(r.most[k], v)
		}
	}
	m.ranges = &r
	return r, nil
}

// coefficients are drifts and then diffusions at states, those up to their sign.
func coefficients(s sde.Space, states []float64) []float64 {
	drift, diffusion := s.Coefficients(states)
	for _, v := range diffusion {
		drift = append(drift, math.Abs(v))
	}
	return drift
}

// beyondTraining warns of an equation whose coefficients are where those of the training set are
// not.
func (m *Reader) beyondTraining(system sde.Space) ([]string, error) {
	r, err := m.trainedRanges()
	if err != nil {
		return nil, err
	}
	values := coefficients(system, system.Uniform(checkedStates, boxSeed))
	beyond := 0.
	for k, v := range values {
		slack := 0.01 * (r.most[k] - r.least[k])
		if v < r.least[k]-slack-tiny*math.Abs(v) || v > r.most[k]+slack+tiny*math.Abs(v) {
			beyond += 1 / float64(len(values))
		}
	}
	if beyond <= mostBeyond {
		return nil, nil
	}
	return []string{fmt.Sprintf("%s of the equation's coefficients in the box are out of the range that the training set has there: the model may not know such equations", percent(beyond))}, nil
}

// tiny is for rounding where all functions have the same coefficient.
const tiny = 1e-6
