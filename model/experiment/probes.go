package experiment

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/data/family"
	"github.com/ergoflow/ergoflow/data/probe"
	"github.com/ergoflow/ergoflow/data/shard"
	"github.com/ergoflow/ergoflow/model/flow"
)

// Probes says how the sensors of a network observe equations. How many there are
// and how many steps each records is the network's to say.
type Probes struct {
	Kind probe.Kind `json:"kind" yaml:"kind"`
	DT   float64    `json:"dt" yaml:"dt"` // time between recorded points
}

// probes are those of the experiment's functions, where its network has sensors.
func (e Experiment) probes(f family.Family) flow.Probes {
	s := e.Model.Sensor
	return flow.Probes{
		Config: probe.Config{Kind: e.Probes.Kind, Sensors: s.Sensors, Steps: s.Steps, DT: e.Probes.DT},
		Family: f, Seed: e.Data.Seed,
	}
}

// Normalisation standardises the network's inputs, by the training set: stored
// fields by the manifests of its shards, which the store must have, probes by
// those of its first functions. It is the same on every worker.
func (e Experiment) Normalisation(ctx context.Context, store *shard.Dir) (shard.Normalisation, error) {
	if e.Probes == nil {
		return e.Data.Normalisation(store)
	}
	f, err := family.ByName(e.Data.Family)
	if err != nil {
		return nil, fmt.Errorf("data.family: %w", err)
	}
	return e.probes(f).Normalise(ctx, e.Data.Functions)
}

// Conditioner makes the network's inputs, in training as afterwards, standardised
// as in training: from the fields that shards store, or from probes.
func (e Experiment) Conditioner(n shard.Normalisation) (flow.Conditioner, error) {
	f, err := family.ByName(e.Data.Family)
	if err != nil {
		return nil, fmt.Errorf("data.family: %w", err)
	}
	if e.Probes != nil {
		return flow.NewObserved(e.Velocity().Inputs(), e.probes(f), n)
	}
	return flow.NewStored(e.Velocity().Inputs(), f.Fields(), n)
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
	p := e.probes(f)
	if err := p.Config.Validate(); err != nil {
		return fmt.Errorf("probes.%w", err)
	}
	if want := p.Config.Features(); s.Features != want {
		return &FieldError{path + ".features", s.Features, fmt.Sprintf("%d, as probes of kind %s have", want, p.Config.Kind)}
	}
	// One row of the first function shows what is the same for all.
	function, err := f.Function(e.Data.Seed, 0)
	if err != nil {
		return fmt.Errorf("probes: %w", err)
	}
	row := p.Config
	row.Sensors, row.Steps = 1, 1
	if err := row.Fill(make([]float32, row.Size()), function.System, e.Data.Seed, "validate", 0); err != nil {
		return fmt.Errorf("probes.kind: %s: %w", f.Name(), err)
	}
	return nil
}
