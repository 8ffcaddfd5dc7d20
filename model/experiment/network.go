package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/training/assignment"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// Model is the choice of one network: the member that is not nil.
type Model struct {
	DeepONet *deeponet.Config `json:"deeponet,omitempty" yaml:"deeponet"`
	Sensor   *sensor.Config   `json:"sensor,omitempty" yaml:"sensor"`
}

// members lists the chosen networks with their names in the configuration.
func (m Model) members() (names []string, models []velocity.Model) {
	if m.DeepONet != nil {
		names, models = append(names, "deeponet"), append(models, *m.DeepONet)
	}
	if m.Sensor != nil {
		names, models = append(names, "sensor"), append(models, *m.Sensor)
	}
	return names, models
}

func (m Model) validate() error {
	names, models := m.members()
	switch len(models) {
	case 0:
		return errors.New("model: no network is chosen, as in model: {deeponet: {…}}")
	case 1:
		return models[0].Validate()
	}
	return fmt.Errorf("model: %v are chosen, must be one network (null removes one)", names)
}

// Velocity is the chosen network of a valid experiment.
func (e Experiment) Velocity() velocity.Model {
	_, models := e.Model.members()
	return models[0]
}

// modelFits reports a network that does not fit the family f, because of its dimension or
// its inputs, and a coupling that does not fit the batch or the dimension.
func (e Experiment) modelFits(f family.Family) error {
	names, models := e.Model.members()
	path, model := "model."+names[0], models[0]
	space, spatial := f.(family.Spatial)
	switch paths := e.Probes != nil && e.Probes.Kind == probe.Path; {
	case spatial && !paths:
		return fmt.Errorf("%s has no grid, which %s needs: name the experiment anyd, or give the family a grid instead of a box", f.Name(), e.Name)
	case paths && !spatial:
		return fmt.Errorf("%s has no box, which probes of kind %s need: name another experiment, or give the family a box instead of a grid", f.Name(), probe.Path)
	}
	if e.Training.States.Own() && !spatial {
		return &FieldError{"training.states", fmt.Sprintf("%q", e.Training.States), fmt.Sprintf("another one for %s: it has a grid, or particles", f.Name())}
	}
	if e.Training.States != flow.Whitened && spatial && space.Domain().Restricts() {
		return &FieldError{"training.states", fmt.Sprintf("%q", e.Training.States), fmt.Sprintf("%q for %s, whose domain has ends: other states lead out of it", flow.Whitened, f.Name())}
	}
	if model.Dim() != f.Dim() {
		return &FieldError{path + ".dimension", model.Dim(), fmt.Sprintf("%d, the dimension of %s", f.Dim(), f.Name())}
	}
	if err := e.inputsFit(f, path, model); err != nil {
		return err
	}
	t := e.Training
	if t.Coupling == flow.OptimalTransport && f.Dim() > 1 && t.BatchSamples > assignment.MaxPoints {
		return &FieldError{"training.batch_samples", t.BatchSamples, fmt.Sprintf("at most %d with the coupling %q", assignment.MaxPoints, t.Coupling)}
	}
	if _, particles := f.(family.Gibbs); t.Coupling == flow.Particles && !particles {
		return &FieldError{"training.coupling", fmt.Sprintf("%q", t.Coupling), fmt.Sprintf("another one for %s: it has no particles", f.Name())}
	}
	if t.Coupling == flow.Quantile && f.Dim() > 1 {
		return &FieldError{"training.coupling", fmt.Sprintf("%q", t.Coupling), fmt.Sprintf("another one for %s: quantiles need one dimension", f.Name())}
	}
	return e.pointsFit()
}

// pointsFit reports points that functions cannot share.
func (e Experiment) pointsFit() error {
	t := e.Training
	switch {
	case t.Points == 0:
		return nil
	case t.Coupling != flow.Quantile:
		return &FieldError{"training.points", t.Points, fmt.Sprintf("0 with the coupling %q: the velocity at a point is known with %q alone", t.Coupling, flow.Quantile)}
	case e.Model.DeepONet == nil:
		return &FieldError{"training.points", t.Points, "0: the network is no DeepONet, whose trunk is computed once for all functions"}
	case family.IsDefinition(e.Data.Family) && t.States != flow.Standardised:
		return &FieldError{"training.points", t.Points, fmt.Sprintf("0 unless training.states is %q: the points are where states of deviation 1 are", flow.Standardised)}
	case t.BatchSamples < minPointSamples:
		return &FieldError{"training.batch_samples", t.BatchSamples, fmt.Sprintf("at least %d with training.points: they give each function's density at the points", minPointSamples)}
	}
	return nil
}

// minPointSamples keeps functions from being fitted to a density of a few samples.
const minPointSamples = 16

// inputsFit reports inputs that are neither stored fields of the family's functions nor probes
// of them.
func (e Experiment) inputsFit(f family.Family, path string, model velocity.Model) error {
	if e.Probes != nil {
		if err := e.probesFit(f, path); err != nil || e.Model.Sensor != nil {
			return err
		}
		return e.fieldsFit(f, path, model)
	}
	if e.Model.Sensor != nil {
		return fmt.Errorf("probes: %s needs them, as in probes: {kind: trajectory, dt: 0.01}", path)
	}
	if n := e.Evaluation.Sensors; n > 0 {
		return &FieldError{"evaluation.sensors", n, fmt.Sprintf("0: %s has no sensors", path)}
	}
	if n := e.Training.Sensors; len(n) > 0 {
		return &FieldError{"training.sensors", n, fmt.Sprintf("empty: %s has no sensors", path)}
	}
	return e.fieldsFit(f, path, model)
}

// fieldsFit reports inputs that are neither stored fields of the family's functions nor derived
// from them.
func (e Experiment) fieldsFit(f family.Family, path string, model velocity.Model) error {
	var fitting []string
	var shape *flow.ShapeError
	for _, input := range model.Inputs() {
		err := flow.Find(input, f.Fields(), flow.GridOf(f))
		var other *flow.ShapeError
		switch {
		case errors.As(err, &other):
			shape, input.Shape = cmp.Or(shape, other), other.Shape
		case err != nil:
			return fmt.Errorf("%s: %w of %s", path, err, f.Name())
		}
		numbers := strings.ReplaceAll(fmt.Sprint(input.Shape), " ", ", ")
		fitting = append(fitting, fmt.Sprintf("{name: %s, shape: %s}", input.Name, numbers))
	}
	if shape != nil {
		return &InputsError{Path: path, Setting: path + ".fields=[" + strings.Join(fitting, ", ") + "]", Family: f.Name(), Err: shape}
	}
	return nil
}

// InputsError means that the shapes of a network's inputs differ from the family's fields.
type InputsError struct {
	Path, Family string
	Setting      string // the path=value that makes them equal
	Err          error
}

func (e *InputsError) Error() string { return fmt.Sprintf("%s: %v of %s", e.Path, e.Err, e.Family) }
func (e *InputsError) Unwrap() error { return e.Err }
