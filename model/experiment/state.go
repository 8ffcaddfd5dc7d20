package experiment

import "github.com/ergoflow/ergoflow/model/training/state"

// DecodeState reads an encoded training state together with the experiment that
// it carries. Bytes whose tensors are not those of that experiment's network
// are refused.
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
