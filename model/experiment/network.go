package experiment

import (
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow/data/family"
	"github.com/ergoflow/ergoflow/data/shard"
	"github.com/ergoflow/ergoflow/model/assignment"
	"github.com/ergoflow/ergoflow/model/deeponet"
	"github.com/ergoflow/ergoflow/model/flow"
	"github.com/ergoflow/ergoflow/model/velocity"
)

// Model is the choice of one network: the member that is not nil.
type Model struct {
	DeepONet *deeponet.Config `json:"deeponet,omitempty" yaml:"deeponet"`
}

// members lists what is chosen, under the names of the configuration.
func (m Model) members() (names []string, models []velocity.Model) {
	if m.DeepONet != nil {
		names, models = append(names, "deeponet"), append(models, *m.DeepONet)
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
	return fmt.Errorf("model: %v are chosen, want one network (null takes one away)", names)
}

// Velocity is the chosen network of a valid experiment.
func (e Experiment) Velocity() velocity.Model {
	_, models := e.Model.members()
	return models[0]
}

// Conditioner makes the network's inputs, in training as afterwards: from the
// fields that shards store, standardised as in the training shards.
func (e Experiment) Conditioner(n shard.Normalisation) (flow.Conditioner, error) {
	f, err := family.ByName(e.Data.Family)
	if err != nil {
		return nil, fmt.Errorf("data.family: %w", err)
	}
	return flow.NewStored(e.Velocity().Inputs(), f.Fields(), n)
}

// modelFits reports a network that is not for the family: of another dimension,
// or with an input that is not stored of its functions; and batches that are too
// large to be coupled.
func (e Experiment) modelFits() error {
	f, err := family.ByName(e.Data.Family)
	if err != nil {
		return fmt.Errorf("data.family: %w", err)
	}
	names, models := e.Model.members()
	path, model := "model."+names[0], models[0]
	if model.Dim() != f.Dim() {
		return &FieldError{path + ".dimension", model.Dim(), fmt.Sprintf("%d, as states of %s have", f.Dim(), f.Name())}
	}
	for _, input := range model.Inputs() {
		if _, err := flow.Find(input, f.Fields()); err != nil {
			return fmt.Errorf("%s: %w of %s", path, err, f.Name())
		}
	}
	t := e.Training
	if t.Coupling == flow.OptimalTransport && f.Dim() > 1 && t.BatchSamples > assignment.MaxPoints {
		return &FieldError{"training.batch_samples", t.BatchSamples, fmt.Sprintf("at most %d with the coupling %q", assignment.MaxPoints, t.Coupling)}
	}
	return nil
}
