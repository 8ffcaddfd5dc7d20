package experiment

import (
	"context"
	"fmt"
	"maps"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// Probes describes the probes by which a network sees equations. A network with sensors reads
// them, and sets their number and their steps. To a network on a grid of the plane they give the
// coefficients at its nodes (flow.Gridded): in use, with as many as evaluation.sensors says, and
// in training too if Sensors or training.sensors say so.
type Probes struct {
	Kind    probe.Kind `json:"kind" yaml:"kind"`
	DT      float64    `json:"dt" yaml:"dt"` // time between recorded points
	Sensors int        `json:"sensors,omitempty" yaml:"sensors"`
	Steps   int        `json:"steps,omitempty" yaml:"steps"` // recorded points of each
}

// scaled are probes with the scale of their features, for the hash: it changes when networks
// read the same probes standardised differently.
type scaled struct {
	Probes
	Scale probe.Scale `json:"scale"`
}

func (e Experiment) scaledProbes() *scaled {
	unused := e.onGrid() && e.Probes.Sensors == 0 && len(e.Training.Sensors) == 0 // in training
	if e.Probes == nil || unused {
		return nil
	}
	return &scaled{*e.Probes, e.scale()}
}

// UnlearnedProbes are those that the training does not use, and the hash does not name; nil
// without such.
func (e Experiment) UnlearnedProbes() *Probes {
	if e.scaledProbes() != nil {
		return nil
	}
	return e.Probes
}

// scale is over all rows if the network reads probes that follow the equation: they reach the
// region of its law, where functions differ. Probes that the network reads only at their
// start, or random walks, are where the part that all functions share may be far larger than
// their differences (docs/decisions/probe-scale.md).
func (e Experiment) scale() probe.Scale {
	s := e.Model.Sensor
	if s == nil {
		return "" // their features are not standardised
	}
	if e.Probes.Kind == probe.Walk || s.Representation == sensor.Point || s.Steps == 1 {
		return probe.BetweenFunctions
	}
	return probe.OverRows
}

// standardised is the number of training functions whose probes make the normalisation. With
// thousands of rows each, its error is negligible.
const standardised = 1024

// onGrid reports whether probes give a network on a grid the coefficients at its nodes.
func (e Experiment) onGrid() bool { return e.Probes != nil && e.Model.Sensor == nil }

// probes configures the probes of every function.
func (e Experiment) probes() probe.Config {
	c := probe.Config{
		Kind: e.Probes.Kind, Sensors: e.Probes.Sensors, Steps: e.Probes.Steps, DT: e.Probes.DT,
		PerGrid: e.Training.States == flow.Standardised,
	}
	s := e.Model.Sensor
	if s == nil {
		return c
	}
	c.Sensors, c.Steps = s.Sensors, s.Steps
	if c.Kind == probe.Path {
		c.Dim, c.Terms = s.Dimension, s.Features-2*s.Dimension
	}
	return c
}

// Sensors is the number of probes of an equation; 0 without probes.
func (e Experiment) Sensors() int {
	if e.Probes == nil {
		return 0
	}
	return e.probes().Sensors
}

// ProbeSteps is the number of recorded points of each probe; 0 without probes.
func (e Experiment) ProbeSteps() int {
	if e.Probes == nil {
		return 0
	}
	return e.probes().Steps
}

// feature is the name of feature k of an input in the normalisation.
func feature(input string, k int) string { return fmt.Sprintf("%s[%d]", input, k) }

// Normalisation standardises the network's inputs over the training set, and the states if the
// experiment wants it. f is the experiment's family. Stored fields and states use the manifests
// of all training shards, which the store must have. Features of probes use the first 1,024
// functions, or all if there are fewer. It is the same on every worker. A warm start keeps the
// normalisation that its parameters belong to (docs/decisions/warm-start.md).
func (e Experiment) Normalisation(ctx context.Context, f family.Family, store *shard.Dir) (shard.Normalisation, error) {
	if s := e.Training.Start; s != nil {
		return maps.Clone(s.Normalisation), nil
	}
	// Where equations have their own they measure distances alone.
	n, states := shard.Normalisation{}, e.Training.States == flow.Standardised || e.Training.States.Own()
	fields := e.Probes == nil || e.onGrid()
	if fields || states {
		manifests, err := e.Data.TrainingManifests(store)
		if err != nil {
			return nil, fmt.Errorf("normalisation: %w", err)
		}
		if fields {
			if n, err = shard.Normalise(manifests); err != nil {
				return nil, err
			}
		}
		if states {
			if err := n.AddStates(store, manifests); err != nil {
				return nil, err
			}
		}
	}
	if fields {
		return n, nil
	}
	return n, e.addFeatures(ctx, n, f)
}

// addFeatures adds the standards of the probes' features.
func (e Experiment) addFeatures(ctx context.Context, n shard.Normalisation, f family.Family) error {
	standards, err := flow.Standards(ctx, e.probes(), f, e.Data.Seed, e.firstFunctions(), e.scale(), e.Training.States)
	if err != nil {
		return fmt.Errorf("normalisation: %w", err)
	}
	for k, s := range standards {
		n[feature(e.Velocity().Inputs()[0].Name, k)] = s
	}
	return nil
}

// firstFunctions are the numbers of the functions whose probes make the normalisation: not
// those of imported ones, whose equations the family does not make.
func (e Experiment) firstFunctions() []int {
	first, count := e.Data.Generated()
	numbers := make([]int, min(count, standardised))
	for i := range numbers {
		numbers[i] = e.Data.TrainingFunction(first + i)
	}
	return numbers
}

// Conditioner makes the network's inputs from stored fields or from probes, standardised by n.
// f is the experiment's family.
func (e Experiment) Conditioner(f family.Family, n shard.Normalisation) (flow.Conditioner, error) {
	inputs := e.Velocity().Inputs()
	if e.Probes == nil || e.onGrid() {
		stored, err := flow.NewStored(inputs, f.Fields(), flow.GridOf(f), n)
		if err != nil || e.Sensors() == 0 {
			return stored, err
		}
		return flow.NewGridded(stored, e.probes(), f, e.Data.Seed)
	}
	standards := make([]shard.Standard, e.probes().Features())
	for k := range standards {
		var ok bool
		if standards[k], ok = n[feature(inputs[0].Name, k)]; !ok {
			return nil, fmt.Errorf("the normalisation lacks the input %q", feature(inputs[0].Name, k))
		}
	}
	return flow.NewProbed(inputs[0], e.probes(), f, e.Data.Seed, standards, e.Training.States)
}

// Alternatives are the experiments that training steps use in turn, one for each number in
// Training.Sensors, or the experiment itself. Their networks have the same parameters.
func (e Experiment) Alternatives() []Experiment {
	if len(e.Training.Sensors) == 0 {
		return []Experiment{e}
	}
	all := make([]Experiment, len(e.Training.Sensors))
	for i, n := range e.Training.Sensors {
		all[i] = e.withSensors(n)
	}
	return all
}

// withSensors replaces the number of probes.
func (e Experiment) withSensors(n int) Experiment {
	if e.onGrid() {
		probes := *e.Probes
		probes.Sensors = n
		e.Probes = &probes
		return e
	}
	s := *e.Model.Sensor
	s.Sensors = n
	e.Model.Sensor = &s
	return e
}

// Inference is the experiment with the number of sensors of the evaluation, for the use of
// trained networks. Its network has the same parameters.
func (e Experiment) Inference() Experiment {
	if e.Evaluation.Sensors > 0 {
		return e.withSensors(e.Evaluation.Sensors)
	}
	return e
}

// seen is the equation whose probes the network reads.
func (e Experiment) seen(system sde.System) (sde.System, error) {
	return e.Training.States.Seen(system, e.Probes.DT)
}

// probesFit reports probes that the network cannot read, or that do not exist for the family's
// equations.
func (e Experiment) probesFit(f family.Family, path string) error {
	s, steps := e.Model.Sensor, "probes.steps"
	switch {
	case s == nil && flow.GridOf(f).Plane == nil:
		return fmt.Errorf("probes: %s has no sensors, and %s no grid in the plane at whose nodes probes give coefficients (null removes the probes)", path, f.Name())
	case s == nil && e.Inference().Sensors() == 0:
		return fmt.Errorf("probes: %s has no sensors: set evaluation.sensors, as 256, and probes.steps, as 20, of the probes that give it coefficients at nodes (null removes the probes)", path)
	case s != nil && (e.Probes.Sensors != 0 || e.Probes.Steps != 0):
		return fmt.Errorf("probes: %s has the numbers of sensors and steps: must be 0 here", path)
	case s != nil:
		steps = path + ".steps"
	}
	if err := integer(steps, e.ProbeSteps(), 1, probe.MaxSteps); err != nil {
		return err
	}
	if err := number("probes.dt", e.Probes.DT, data.LeastStep, data.LargestStep); err != nil {
		return err
	}
	if s == nil {
		return e.nodesFit(f)
	}
	probes := e.probes()
	if err := probes.Validate(); err != nil {
		return fmt.Errorf("probes.%w", err)
	}
	if want := probes.Features(); s.Features != want {
		return &FieldError{path + ".features", s.Features, fmt.Sprintf("%d, the features of probes of kind %s", want, probes.Kind)}
	}
	if s.Representation == sensor.Force && probes.Kind != probe.Pairs {
		return &FieldError{path + ".representation", fmt.Sprintf("%q", s.Representation), fmt.Sprintf("another one: it is for probes of kind %s, not %s", probe.Pairs, probes.Kind)}
	}
	if _, particles := f.(family.Gibbs); s.Decoder == sensor.Pairs && !particles {
		return &FieldError{path + ".decoder", fmt.Sprintf("%q", s.Decoder), fmt.Sprintf("another one for %s: it has no particles", f.Name())}
	}
	// One row of the first function is enough: the kind fits all or none.
	function, err := f.Function(e.Data.Seed, 0)
	if err != nil {
		return fmt.Errorf("probes: %w", err)
	}
	row := probes
	row.Sensors, row.Steps = 1, 1
	seen, err := e.seen(function.System)
	if err != nil {
		return fmt.Errorf("probes.dt: %s: %w", f.Name(), err)
	}
	if err := row.Fill(make([]float32, row.Size()), seen, e.Data.Seed, "validate", 0); err != nil {
		return fmt.Errorf("probes.kind: %s: %w", f.Name(), err)
	}
	return nil
}

// nodesFit reports probes that do not give the network the coefficients at the nodes of f's grid.
func (e Experiment) nodesFit(f family.Family) error {
	for _, used := range append(e.Alternatives(), e.Inference()) {
		if used.Sensors() == 0 {
			continue
		}
		if _, err := flow.NewGridded(nil, used.probes(), f, e.Data.Seed); err != nil {
			return fmt.Errorf("probes: %w", err)
		}
	}
	return nil
}
