package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Engine runs Chains on one instruction set: "avx512", "avx2", or "go", which every
// processor has. All engines give the same samples to the last bit and differ only in
// speed. So a data set's identity does not name the engine.
type Engine struct {
	name string
	// fill makes the normals of the next window for lanes 0..active−1 at least.
	fill func(n *normals, active int)
	// line and plane take the steps that z has normals for, of at least lanes
	// 0..active−1, and report whether all their states are then finite and within
	// the bound.
	line  func(t *table, x *states[float32], active int, z []float32) bool
	plane func(t *planeTable, x *states[float32], active int, z []float32) bool
	// These are methods of pairTable for lanes 0..active−1 at least.
	pairs    func(t *pairTable, f, x []vector, active, first, end, from, to int)
	energies func(t *pairTable, u, f, x []vector, active, first, end, from, to int)
	move     func(t *pairTable, next, f, x []vector, active int, z []float32) bool
	weigh    func(t *pairTable, w *vector, y, g, f, x []vector, active int)
}

// ErrEngine means that an engine does not exist, or not on this processor.
var ErrEngine = errors.New("simulation engine not available")

// plain is the reference: the others compute what its code says.
var plain = &Engine{
	name: "go", fill: (*normals).fill,
	line: (*table).advance, plane: (*planeTable).advance,
	pairs: (*pairTable).pairs, energies: (*pairTable).energies, move: (*pairTable).move, weigh: (*pairTable).weigh,
}

// engines are those of this processor and build, fastest first.
var engines = append(vectorEngines(), plain)

// Engines names the engines of this processor and build, fastest first. Chains takes
// the fastest. Architectures other than amd64 have only "go".
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
		return nil, fmt.Errorf("%w: %q, this processor has %s", ErrEngine, name, strings.Join(Engines(), ", "))
	}
	return engines[i], nil
}

// Fastest is the fastest engine of this processor.
func Fastest() *Engine { return engines[0] }

// String is the engine's name.
func (e *Engine) String() string { return e.name }

// Simulate implements Simulator; functions run on all cores.
func (e *Engine) Simulate(ctx context.Context, dst []float32, b Batch, progress func(done, total int)) error {
	if b.Count < 1 || len(dst)%b.Count != 0 {
		return fmt.Errorf("%d values cannot be divided among %d functions", len(dst), b.Count)
	}
	width := len(dst) / b.Count
	return Each(ctx, b.Count, func(ctx context.Context, i int) error {
		system, err := b.System(b.First + i)
		if err != nil {
			return err
		}
		return e.Chains(ctx, dst[i*width:(i+1)*width], system, b.Scheme, b.Seed, uint64(b.First+i), b.Purpose)
	}, progress)
}

// Chains is the function Chains, on this engine.
func (e *Engine) Chains(
	ctx context.Context, dst []float32, system sde.System, s Scheme, seed, function uint64, purpose string,
) error {
	d := system.Dim()
	if err := system.Validate(); err != nil {
		return fmt.Errorf("function %d: %w", function, err)
	}
	if len(dst)%d != 0 {
		return fmt.Errorf("function %d: %d values are not a whole number of states of dimension %d", function, len(dst), d)
	}
	perChain, err := s.samplesPerChain(len(dst) / d)
	if err != nil {
		return fmt.Errorf("function %d: %w", function, err)
	}
	if _, ok := system.(sde.Space); !ok { // which checks it while it makes its steps
		if err := s.Fits(system); err != nil {
			return fmt.Errorf("function %d: %w", function, err)
		}
	}
	stream := stream{seed, purpose, function}
	switch system := system.(type) {
	case sde.Coefficients:
		t := newTable(system, s.DT)
		return e.blocks(ctx, dst, d, t.frame, s, perChain, stream, func(c *chains[float32], z []float32) bool {
			return e.line(t, &c.x, c.active, z)
		})
	case sde.Plane:
		frame := natural
		if frame.origin, err = s.Start.Origin(); err != nil {
			return err
		}
		t := newPlaneTable(sde.About(system, frame.origin[0], frame.origin[1]).(sde.Plane), s.DT)
		return e.blocks(ctx, dst, d, frame, s, perChain, stream, func(c *chains[float32], z []float32) bool {
			return e.plane(t, &c.x, c.active, z)
		})
	case sde.Particles:
		return e.particles(ctx, dst, system, s, perChain, stream)
	case sde.Space:
		return e.space(ctx, dst, system, s, perChain, stream)
	default:
		return fmt.Errorf("function %d: engine %v cannot simulate a %T", function, e, system)
	}
}

// chains are those of an equation with states of that dimension.
func (e *Engine) chains(frame frame, dim int) *chains[float32] {
	return &chains[float32]{engine: e, frame: frame, lo: -float32(frame.limit), hi: float32(frame.limit), dim: dim}
}

// blocks runs all chains of an equation, up to 64 at a time.
func (e *Engine) blocks(
	ctx context.Context, dst []float32, dim int, frame frame, s Scheme, perChain int, stream stream,
	advance func(c *chains[float32], z []float32) bool,
) error {
	c := e.chains(frame, dim)
	for first := 0; first < s.Chains; first += lanes {
		c.active = min(lanes, s.Chains-first)
		part := dst[first*perChain*dim:][:c.active*perChain*dim]
		err := c.run(ctx, part, s, first, stream, func(z []float32) bool { return advance(c, z) }, func(int) {})
		if err != nil {
			return err
		}
	}
	return nil
}
