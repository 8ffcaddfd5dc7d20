package experiment

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// Probes says how the sensors of a network observe equations. How many there are
// and how many steps each records is the network's to say.
type Probes struct {
	Kind probe.Kind `json:"kind" yaml:"kind"`
	DT   float64    `json:"dt" yaml:"dt"` // time between recorded points
}

// scaled are probes with how their features are standardised, which a hash names:
// it changes when the same probes come to be shown to networks otherwise.
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

// scale is over all rows where the network sees probes follow the equation: they
// come to where its law is, and what they do there is to be told apart. Probes
// that it sees at their start alone, or that walk by themselves, are where what all
// functions share may be far larger than what tells them apart
// (docs/decisions/probe-scale.md).
func (e Experiment) scale() probe.Scale {
	s := e.Model.Sensor
	if e.Probes.Kind == probe.Walk || s.Representation == sensor.Point || s.Steps == 1 {
		return probe.BetweenFunctions
	}
	return probe.OverRows
}

// standardised is of how many training functions probes make the normalisation:
// with thousands of rows each, its error is far below what a network could notice.
const standardised = 1024

// probes are those of every function, where the network has sensors.
func (e Experiment) probes() probe.Config {
	s := e.Model.Sensor
	return probe.Config{Kind: e.Probes.Kind, Sensors: s.Sensors, Steps: s.Steps, DT: e.Probes.DT}
}

// feature is the name under which the normalisation has feature k of an input.
func feature(input string, k int) string { return fmt.Sprintf("%s[%d]", input, k) }

// Normalisation standardises the network's inputs, by the training set: stored
// fields by the manifests of its shards, which the store must have, every feature
// of probes over those of its first functions, 1,024 or all if there are fewer. It
// is the same on every worker.
func (e Experiment) Normalisation(ctx context.Context, f family.Family, store *shard.Dir) (shard.Normalisation, error) {
	if e.Probes == nil {
		return e.Data.Normalisation(store)
	}
	standards, err := flow.Standards(ctx, e.probes(), f, e.Data.Seed, e.firstFunctions(), e.scale())
	if err != nil {
		return nil, fmt.Errorf("normalisation: %w", err)
	}
	n := make(shard.Normalisation, len(standards))
	for k, s := range standards {
		n[feature(e.Velocity().Inputs()[0].Name, k)] = s
	}
	return n, nil
}

// firstFunctions are the numbers of those whose probes make the normalisation.
func (e Experiment) firstFunctions() []int {
	numbers := make([]int, min(e.Data.Functions, standardised))
	for i := range numbers {
		numbers[i] = e.Data.TrainingFunction(i)
	}
	return numbers
}

// Conditioner makes the network's inputs, in training as afterwards, standardised
// as in training: from the fields that shards store, or from probes.
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
	return flow.NewProbed(inputs[0], e.probes(), f, e.Data.Seed, standards)
}

// Alternatives are the experiment as it is at each step in turn: with one number
// of sensors after the other, or once. Their networks have the same parameters.
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

// Inference is the experiment as trained networks are used: with as many sensors
// as the evaluation has. Its network has the same parameters.
func (e Experiment) Inference() Experiment {
	if e.Evaluation.Sensors > 0 {
		e.Model = e.Model.withSensors(e.Evaluation.Sensors)
	}
	return e
}

// probesFit reports probes that the network cannot read or that the family's
// equations do not have.
func (e Experiment) probesFit(f family.Family, path string) error {
	s := e.Model.Sensor
	if s == nil {
		return fmt.Errorf("probes: %s has no sensors (null takes them away)", path)
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
		return &FieldError{path + ".features", s.Features, fmt.Sprintf("%d, as probes of kind %s have", want, probes.Kind)}
	}
	// One row of the first function shows what is the same for all.
	function, err := f.Function(e.Data.Seed, 0)
	if err != nil {
		return fmt.Errorf("probes: %w", err)
	}
	row := probes
	row.Sensors, row.Steps = 1, 1
	if err := row.Fill(make([]float32, row.Size()), function.System, e.Data.Seed, "validate", 0); err != nil {
		return fmt.Errorf("probes.kind: %s: %w", f.Name(), err)
	}
	return nil
}
