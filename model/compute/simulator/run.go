package simulator

import (
	"context"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
)

// run simulates the functions of a batch that are on the device together.
type run struct {
	*Simulator
	layout
	programs *programs
	batch    simulate.Batch
	dst      []float32 // [batch.Count, chains, perChain, dim]
	perChain int

	rows    backend.Buffer   // what describes the functions
	current []backend.Buffer // four words of generators, then the states
	waiting []backend.Buffer // states that are samples, maybe current ones too
	pace    int              // steps to be taken before the context is looked at
	strays  []float32        // by function: positive if a state is not a number
	settled []bool           // by function: simulated by the processor
}

// patience is about how long the device goes on before the context is looked at.
const patience = 100 * time.Millisecond

// maxPace is exact in float32, and more than any device does in that time.
const maxPace = 1 << 20

func (r *run) simulate(ctx context.Context) error {
	defer r.close()
	if err := r.begin(ctx); err != nil {
		return err
	}
	r.pace, r.strays, r.settled = 1, make([]float32, r.functions), make([]bool, r.batch.Count)
	samples := make([]float32, r.functions*r.chains*r.recorded*r.dim())
	for first := 0; first < r.perChain; first += r.recorded {
		n := min(r.recorded, r.perChain-first)
		for j := range n {
			steps := r.batch.Scheme.Thin
			if first+j == 0 {
				steps = r.batch.Scheme.BurnIn
			}
			if err := r.walk(ctx, steps); err != nil {
				return err
			}
			r.waiting = append(r.waiting, r.states()...)
		}
		if err := r.download(samples); err != nil {
			return err
		}
		r.store(samples, first, n)
	}
	return nil
}

// begin uploads the functions with their chains' generators and first states.
func (r *run) begin(ctx context.Context) error {
	d, err := r.describe(ctx)
	if err != nil {
		return err
	}
	if r.rows, err = r.backend.Upload(d.rows, len(d.rows)); err != nil {
		return err
	}
	for _, w := range d.words {
		buffer, err := r.backend.UploadUint32(w, r.dimensions()...)
		if err != nil {
			return err
		}
		r.current = append(r.current, buffer)
	}
	for _, x := range d.states {
		buffer, err := r.backend.Upload(x, r.dimensions()...)
		if err != nil {
			return err
		}
		r.current = append(r.current, buffer)
	}
	return nil
}

// walk takes that many steps with all chains, in pieces of about patience.
func (r *run) walk(ctx context.Context, steps int) error {
	for steps > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(steps, r.pace)
		begin := time.Now()
		if err := r.advanceBy(n); err != nil {
			return err
		}
		if err := r.settle(ctx); err != nil {
			return err
		}
		switch took := time.Since(begin); {
		case took > patience:
			r.pace = max(r.pace/2, 1)
		case took < patience/2 && n == r.pace:
			r.pace = min(2*r.pace, maxPace)
		}
		steps -= n
	}
	return ctx.Err()
}

// advanceBy runs the loop once and waits for it.
func (r *run) advanceBy(steps int) error {
	counter, err := r.backend.Upload([]float32{float32(steps)})
	if err != nil {
		return err
	}
	defer backend.Free(counter)
	out, err := r.programs.advance.Run(slices.Concat(r.current, []backend.Buffer{r.rows}, r.noise(), []backend.Buffer{counter})...)
	if err != nil {
		return err
	}
	last := len(out) - 1
	defer backend.Free(out[last])
	r.free()
	r.current = out[:last]
	return backend.Download(r.strays, out[last])
}

// settle simulates functions with a chain out of bounds on the processor: that
// fails, saying where, or samples them, if only rounding led the chain astray.
func (r *run) settle(ctx context.Context) error {
	width := len(r.dst) / r.batch.Count
	for i := range r.settled {
		if r.strays[i] == 0 || r.settled[i] {
			continue
		}
		function := r.batch.First + i
		system, err := r.batch.System(function)
		if err != nil {
			return err
		}
		err = simulate.EulerMaruyama(ctx, r.dst[i*width:][:width], system, r.batch.Scheme, r.batch.Seed, uint64(function), r.batch.Purpose)
		if err != nil {
			return err
		}
		r.settled[i] = true
	}
	return nil
}

// download fills samples, [functions, chains, recorded, dim], with the states
// that wait, and lets them go. Where they are fewer, the last is repeated.
func (r *run) download(samples []float32) error {
	inputs := slices.Clone(r.waiting)
	for len(inputs) < r.recorded*r.equation.arrays() {
		inputs = append(inputs, r.states()...)
	}
	out, err := r.programs.collect.Run(inputs...)
	if err != nil {
		return err
	}
	defer backend.Free(out...)
	r.forgo()
	return backend.Download(samples, out[0])
}

// store copies n samples of each chain to dst, first being the number of the
// first.
func (r *run) store(samples []float32, first, n int) {
	from, to, dim := r.recorded*r.dim(), r.perChain*r.dim(), r.dim()
	for i, settled := range r.settled {
		if settled {
			continue
		}
		for c := i * r.chains; c < (i+1)*r.chains; c++ {
			copy(r.dst[c*to+first*dim:][:n*dim], samples[c*from:])
		}
	}
}

// noise is what programs take by that name.
func (r *run) noise() []backend.Buffer {
	return append([]backend.Buffer{r.inverse}, r.programs.jump...)
}

func (r *run) states() []backend.Buffer { return r.current[len(generators{}):] }

// shared says whether the current states wait too, as the last.
func (r *run) shared() bool {
	return len(r.waiting) > 0 && r.waiting[len(r.waiting)-1] == r.current[len(r.current)-1]
}

// free frees what is current and does not wait.
func (r *run) free() {
	if r.shared() {
		backend.Free(r.current[:len(generators{})]...)
	} else {
		backend.Free(r.current...)
	}
	r.current = nil
}

// forgo frees what waits and is not current.
func (r *run) forgo() {
	if r.shared() {
		backend.Free(r.waiting[:len(r.waiting)-r.equation.arrays()]...)
	} else {
		backend.Free(r.waiting...)
	}
	r.waiting = r.waiting[:0]
}

func (r *run) close() {
	if r.current != nil {
		r.forgo()
		r.free()
	}
	backend.Free(r.rows)
}
