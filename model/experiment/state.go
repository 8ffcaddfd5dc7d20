package experiment

import "github.com/ergoflow/ergoflow/model/training/state"

// DecodeState reads an encoded training state and the experiment that it contains. It refuses
// tensors that are not those of the experiment's network.
func DecodeState(encoded []byte) (Experiment, *state.State, error) {
	config, err := state.Config(encoded)
	if err != nil {
		return Experiment{}, nil, err
	}
	e, err := Parse(config)
	if err != nil {
		return Experiment{}, nil, err
	}
	st, err := state.Decode(encoded, e.Velocity().Layout())
	return e, st, err
}
