package backend

import "github.com/ergoflow/ergoflow/data/simulate"

// Simulator is what simulates SDEs beside this backend: the processor's engine of
// that name, or for auto and the empty name its fastest. Errors are a
// simulate.ErrEngine.
func (b *Backend) Simulator(engine string) (simulate.Simulator, error) {
	if engine == Auto || engine == "" {
		return simulate.Fastest(), nil
	}
	return simulate.NewEngine(engine)
}
