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

// Probes describes the probes that the sensors of a network read. The network sets their
// number and their steps.
type Probes struct {
	Kind probe.Kind `json:"kind" yaml:"kind"`
	DT   float64    `json:"dt" yaml:"dt"` // time between recorded points
}

// scaled are probes with the scale of their features, for the hash: it changes when networks
// read the same probes standardised differently.
type scaled struct {
	Probes
	Scale probe.Scale `json:"scale"`
}

func (e Experiment) scaledProbes() *scaled {
	if e.Probes == nil {
		return nil
	}
	return &scaled{*e.Probes, e.scale()}
}

// scale is over all rows if the network reads probes that follow the equation: they reach the
// region of its law, where functions differ. Probes that the network reads only at their
// start, or random walks, are where the part that all functions share may be far larger than
// their differences (docs/decisions/probe-scale.md).
func (e Experiment) scale() probe.Scale {
	s := e.Model.Sensor
	if e.Probes.Kind == probe.Walk || s.Representation == sensor.Point || s.Steps == 1 {
		return probe.BetweenFunctions
	}
	return probe.OverRows
}

// standardised is the number of training functions whose probes make the normalisation. With
// thousands of rows each, its error is negligible.
const standardised = 1024

// probes configures the probes of every function, for a network with sensors.
func (e Experiment) probes() probe.Config {
	s := e.Model.Sensor
	c := probe.Config{
		Kind: e.Probes.Kind, Sensors: s.Sensors, Steps: s.Steps, DT: e.Probes.DT,
		PerGrid: e.Training.States == flow.Standardised,
	}
	if c.Kind == probe.Path {
		c.Dim, c.Terms = s.Dimension, s.Features-2*s.Dimension
	}
	return c
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
	if e.Probes == nil || states {
		manifests, err := e.Data.TrainingManifests(store)
		if err != nil {
			return nil, fmt.Errorf("normalisation: %w", err)
		}
		if e.Probes == nil {
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
	if e.Probes == nil {
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
	if e.Probes == nil {
		return flow.NewStored(inputs, f.Fields(), gridOf(f), n)
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
		all[i] = e
		all[i].Model = e.Model.withSensors(n)
	}
	return all
}

// Inference is the experiment with the number of sensors of the evaluation, for the use of
// trained networks. Its network has the same parameters.
func (e Experiment) Inference() Experiment {
	if e.Evaluation.Sensors > 0 {
		e.Model = e.Model.withSensors(e.Evaluation.Sensors)
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
	s := e.Model.Sensor
	if s == nil {
		return fmt.Errorf("probes: %s has no sensors (null removes the probes)", path)
	}
	if err := integer(path+".steps", s.Steps, 1, probe.MaxSteps); err != nil {
		return err
	}
	if err := number("probes.dt", e.Probes.DT, data.LeastStep, data.LargestStep); err != nil {
		return err
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
