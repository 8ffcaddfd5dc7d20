package experiment

import (
	"encoding/json"
	"fmt"

	"github.com/ergoflow/ergoflow/data/safetensors"
	"github.com/ergoflow/ergoflow/model/state"
)

// DecodeState reads an encoded training state together with the experiment that
// it carries. Bytes whose tensors are not those of that experiment's network
// are refused.
func DecodeState(encoded []byte) (Experiment, *state.State, error) {
	file, err := safetensors.Decode(encoded)
	if err != nil {
		return Experiment{}, nil, fmt.Errorf("%w: %w", state.ErrCorrupt, err)
	}
	config := file.Metadata()["config"]
	if !json.Valid([]byte(config)) {
		return Experiment{}, nil, fmt.Errorf("%w: it carries no configuration", state.ErrCorrupt)
	}
	e, err := Parse([]byte(config))
	if err != nil {
		return Experiment{}, nil, err
	}
	st, err := state.Decode(encoded, e.Velocity().Layout())
	return e, st, err
}
