// Package simulator draws from invariant measures on a device: what
// data/simulation/simulate does on the processor, as graphs that XLA compiles.
//
// The states of as many functions as fit, all with all their chains, stay on the
// device. One program advances them by any number of steps in a loop that
// leaves it only at its end; another collects a few samples of each chain, and
// these alone come back.
//
// Paths are those of data/simulation/simulate up to rounding: the normals come from the
// same generators in the same order, but compilers fuse products and sums, so
// that samples are not the same to the last bit, and chaotic equations part
// after a while.
package simulator

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
)

const (
	// budget bounds what a simulation has on the device, in bytes, except that
	// one function at a time is simulated however large it is.
	budget = 1 << 30
	// recorded is how many samples of a chain wait on the device.
	recorded = 16
	// maxPrograms bounds how many layouts stay compiled. Data sets have two:
	// all stretches of a shard but the last have the same size.
	maxPrograms = 4
)

// Simulator simulates on one device. It is for one goroutine at a time, while
// no other uses the backend.
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
	s.forget()
}

// String is "device" and the name of the backend: that of pure Go is an engine's too.
func (s *Simulator) String() string { return Engine + " " + s.backend.Name }

// Simulate is what simulate.Simulator says. A function of which a chain leaves
// ±simulate.Bound on the device is simulated again on the processor: its error,
// a *simulate.DivergedError, says where, or else its samples count.
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
	l := layout{equation: e, chains: b.Scheme.Chains}
	state := l.chains * l.dim()
	if width%state != 0 {
		return fmt.Errorf("%d values cannot be shared by %d chains with states of %d", width, l.chains, l.dim())
	}
	perChain := width / state
	l.recorded = min(recorded, perChain)
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

// fit shares functions out as evenly as possible: so many are simulated at a
// time, with at most limit bytes if one takes so many.
func fit(functions, bytes, limit int) int {
	most := max(limit/bytes, 1)
	rounds := (functions + most - 1) / most
	return (functions + rounds - 1) / rounds
}

// bytesPerFunction estimates what one function takes on the device: states and
// generators, old and new, with the normals; samples, apart and collected; its
// row, also as it is uploaded; and for particles some numbers for each pair.
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
		s.forget()
	}
	p, err := compile(s.backend, l)
	if err != nil {
		return nil, err
	}
	s.programs[l] = p
	return p, nil
}

func (s *Simulator) forget() {
	for _, p := range s.programs {
		p.close()
	}
	clear(s.programs)
}
