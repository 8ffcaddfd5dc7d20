package simulator

import (
	"fmt"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
)

// Engine is the name of the engine that simulates on the device.
const Engine = "device"

// Choose returns the engine of that name: the device of the backend, or one of the
// processor's engines. auto and the empty name choose the processor's fastest engine,
// also beside a GPU: it was faster there (docs/results/gpu.md), and its samples are the
// same bits on every machine of its architecture. Closing the backend frees what the
// engine has on the device. An unknown name is a simulate.ErrEngine.
func Choose(b *backend.Backend, engine string) (simulate.Simulator, error) {
	switch engine {
	case Engine:
		return New(b)
	case backend.Auto, "":
		return simulate.Fastest(), nil
	}
	e, err := simulate.NewEngine(engine)
	if err != nil {
		return nil, fmt.Errorf("%w, and %s", err, Engine)
	}
	return e, nil
}
