package simulator

import (
	"fmt"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
)

// Engine is the name by which Choose takes the device itself.
const Engine = "device"

// Choose is what simulates SDEs beside a backend: the device, the processor's
// engine of that name, or for auto and the empty name the device if it is a GPU
// and otherwise the processor's fastest engine. Whatever is on the device ends
// with the backend. Errors for names are a simulate.ErrEngine.
func Choose(b *backend.Backend, engine string) (simulate.Simulator, error) {
	switch engine {
	case Engine:
		return New(b)
	case backend.Auto, "":
		if b.Name == backend.XLACUDA {
			return New(b)
		}
		return simulate.Fastest(), nil
	}
	e, err := simulate.NewEngine(engine)
	if err != nil {
		return nil, fmt.Errorf("%w, and %s", err, Engine)
	}
	return e, nil
}
