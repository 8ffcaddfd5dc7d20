package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/data/sde"
)

// Engine runs EulerMaruyama on one instruction set: "avx512", "avx2", or "go",
// which every processor has. All engines give the same samples to the last
// bit, so none is named in a data set's identity; they differ in speed alone.
type Engine struct {
	name string
	// fill makes the normals of the next window for lanes 0..active−1 at least.
	fill func(n *normals, active int)
	// advance takes len(z)/lanes steps of lanes 0..active−1 at least, and says
	// whether all their states are then finite and within the bound.
	advance func(t *table, x *[lanes]float32, active int, z []float32) bool
}

// ErrEngine says that an engine does not exist or not on this processor.
var ErrEngine = errors.New("simulation engine not available")

// plain is the engine whose code says what the others compute.
var plain = &Engine{name: "go", fill: (*normals).fill, advance: (*table).advance}

// engines are those of this processor and build, fastest first.
var engines = append(vectorEngines(), plain)

// Engines names the engines that this processor and this build can run, the
// fastest, which EulerMaruyama takes, first. Other architectures than amd64 have
// "go" alone.
func Engines() []string {
	names := make([]string, len(engines))
	for i, e := range engines {
		names[i] = e.name
	}
	return names
}

// NewEngine finds an engine by name. Its error is an ErrEngine.
func NewEngine(name string) (*Engine, error) {
	i := slices.IndexFunc(engines, func(e *Engine) bool { return e.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w: %q, here there are %s", ErrEngine, name, strings.Join(Engines(), ", "))
	}
	return engines[i], nil
}

// String is the engine's name.
func (e *Engine) String() string { return e.name }

// EulerMaruyama is the function of that name on this engine.
func (e *Engine) EulerMaruyama(
	ctx context.Context, dst []float32, c sde.Coefficients, s Scheme, seed, function uint64, purpose string,
) error {
	perChain, err := s.samplesPerChain(len(dst))
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		return fmt.Errorf("function %d: %w", function, err)
	}
	t := newTable(c, s.DT)
	state := &chains[float32]{engine: e}
	advance := func(z []float32) bool { return e.advance(t, &state.x, state.active, z) }
	for first := 0; first < s.Chains; first += lanes {
		state.active = min(lanes, s.Chains-first)
		part := dst[first*perChain : (first+state.active)*perChain]
		err := state.run(ctx, part, s, first, stream{seed, purpose, function}, advance, func(int) {})
		if err != nil {
			return err
		}
	}
	return nil
}
