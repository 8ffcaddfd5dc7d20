// Package simulator draws from invariant measures by Euler–Maruyama chains on a
// device. It does there, as graphs that XLA compiles, what data/simulation/simulate
// does on the processor.
//
// The states of all chains of as many functions as fit stay on the device. One
// program advances them by any number of steps, in a loop on the device. Another
// collects a few samples of each chain; only these are copied to the host.
//
// Paths equal those of data/simulation/simulate up to rounding. The normals come from
// the same generators in the same order. But compilers fuse products and sums, so
// that samples differ in the last bits, and paths of chaotic equations diverge after
// a while.
package simulator

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
)

const (
	// budget bounds the memory of a simulation on the device, in bytes. A single
	// function may exceed it.
	budget = 1 << 30
	// maxRecorded is the largest number of samples of a chain between two downloads.
	maxRecorded = 16
	// maxPrograms bounds the number of layouts that stay compiled. A data set needs
	// two: all parts of a shard but the last have the same size.
	maxPrograms = 4
)

// Simulator simulates on one device. It is for one goroutine at a time, and no other
// goroutine may use the backend meanwhile.
type Simulator struct {
	backend  *backend.Backend
	budget   int
	inverse  backend.Buffer
	programs map[layout]*programs
}

var _ simulate.Simulator = (*Simulator)(nil)

// New prepares a device for simulations.
func New(b *backend.Backend) (*Simulator, error) {
	inverse, err := uploadInverse(b)
	if err != nil {
		return nil, fmt.Errorf("simulate on %s: %w", b.Name, err)
	}
	return &Simulator{backend: b, budget: budget, inverse: inverse, programs: make(map[layout]*programs)}, nil
}

// Close frees everything on the device.
func (s *Simulator) Close() {
	backend.Free(s.inverse)
	s.closePrograms()
}

// String is "device" and the name of the backend. Without "device" the pure Go backend
// would have the name of an engine of the processor.
func (s *Simulator) String() string { return Engine + " " + s.backend.Name }

// Simulate implements simulate.Simulator. If a chain of a function leaves
// ±simulate.Bound on the device, the processor simulates that function again. Its
// result counts: samples, or a *simulate.DivergedError that says where.
func (s *Simulator) Simulate(ctx context.Context, dst []float32, b simulate.Batch, progress func(done, total int)) error {
	if err := b.Scheme.Validate(); err != nil {
		return err
	}
	if b.Count < 1 || len(dst) == 0 || len(dst)%b.Count != 0 {
		return fmt.Errorf("%d values cannot be shared by %d functions", len(dst), b.Count)
	}
	width := len(dst) / b.Count
	system, err := b.System(b.First)
	if err != nil {
		return err
	}
	e, err := equationOf(system)
	if err != nil {
		return fmt.Errorf("function %d: %w", b.First, err)
	}
	if i := b.Scheme.Integrator; i != simulate.Euler {
		return fmt.Errorf("function %d: %w %v is not for devices, which have %v", b.First, simulate.ErrIntegrator, i, simulate.Euler)
	}
	if err := b.Scheme.Fits(system); err != nil {
		return fmt.Errorf("function %d: %w", b.First, err)
	}
	l := layout{equation: e, chains: b.Scheme.Chains}
	state := l.chains * l.dim()
	if width%state != 0 {
		return fmt.Errorf("%d values cannot be shared by %d chains with states of %d", width, l.chains, l.dim())
	}
	perChain := width / state
	l.recorded = min(maxRecorded, perChain)
	l.functions = fit(b.Count, l.bytesPerFunction(), s.budget)
	p, err := s.compiled(l)
	if err != nil {
		return err
	}
	for done := 0; done < b.Count; {
		n := min(l.functions, b.Count-done)
		part := b
		part.First, part.Count = b.First+done, n
		r := &run{Simulator: s, layout: l, programs: p, batch: part, dst: dst[done*width:][:n*width], perChain: perChain}
		if err := r.simulate(ctx); err != nil {
			return err
		}
		if done += n; progress != nil {
			progress(done, b.Count)
		}
	}
	return nil
}

// fit returns how many functions to simulate at a time: at least one, at most as many
// as limit allows at that many bytes each, and as evenly distributed as possible.
func fit(functions, bytes, limit int) int {
	most := max(limit/bytes, 1)
	rounds := (functions + most - 1) / most
	return (functions + rounds - 1) / rounds
}

// bytesPerFunction estimates the memory of one function on the device: states and
// generators, old and new, and the normals; samples, before and after collecting; its
// row, twice while it is uploaded; for particles some numbers for each pair.
func (l layout) bytesPerFunction() int {
	particles := max(l.equation.particles(), 1)
	words := particles * len(generators{})
	chain := 2*words + 3*l.dim() + 3*l.recorded*l.dim()
	if particles > 1 {
		chain += 8 * particles * particles
	}
	return 4 * (l.chains*chain + 2*l.equation.width())
}

// compiled returns the programs for a layout.
func (s *Simulator) compiled(l layout) (*programs, error) {
	if p, ok := s.programs[l]; ok {
		return p, nil
	}
	if len(s.programs) == maxPrograms {
		s.closePrograms()
	}
	p, err := compile(s.backend, l)
	if err != nil {
		return nil, err
	}
	s.programs[l] = p
	return p, nil
}

func (s *Simulator) closePrograms() {
	for _, p := range s.programs {
		p.close()
	}
	clear(s.programs)
}
