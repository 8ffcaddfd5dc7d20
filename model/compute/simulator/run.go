package simulator

import (
	"context"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
)

// run simulates functions that are on the device together.
type run struct {
	*Simulator
	layout
	programs *programs
	batch    simulate.Batch
	dst      []float32 // [batch.Count, chains, perChain, dim]
	perChain int

	rows        backend.Buffer   // describe the functions
	current     []backend.Buffer // four words of generators, then the states
	samples     []backend.Buffer // states to be downloaded; the last may also be current
	stride      int              // steps of one execution of the loop
	diverged    []float32        // by function: positive if a state has a NaN
	onProcessor []bool           // by function: the processor has simulated it
}

// maxLoop is about the longest time of one execution of the loop. Between executions
// the run checks its context.
const maxLoop = 100 * time.Millisecond

// maxStride is exact in float32, and more steps than any device makes in maxLoop.
const maxStride = 1 << 20

func (r *run) simulate(ctx context.Context) error {
	defer r.close()
	if err := r.begin(ctx); err != nil {
		return err
	}
	r.stride, r.diverged, r.onProcessor = 1, make([]float32, r.functions), make([]bool, r.batch.Count)
	host := make([]float32, r.functions*r.chains*r.recorded*r.dim())
	for first := 0; first < r.perChain; first += r.recorded {
		n := min(r.recorded, r.perChain-first)
		for j := range n {
			steps := r.batch.Scheme.Thin
			if first+j == 0 {
				steps = r.batch.Scheme.BurnIn
			}
			if err := r.makeSteps(ctx, steps); err != nil {
				return err
			}
			r.samples = append(r.samples, r.states()...)
		}
		if err := r.download(host); err != nil {
			return err
		}
		if err := r.store(host, first, n); err != nil {
			return err
		}
	}
	return nil
}

// begin uploads the rows of the functions, and generators and first states of their
// chains.
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

// makeSteps makes that many steps with all chains. It adapts the stride so that one
// execution of the loop takes between maxLoop/2 and maxLoop.
func (r *run) makeSteps(ctx context.Context, steps int) error {
	for steps > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(steps, r.stride)
		begin := time.Now()
		if err := r.runLoop(n); err != nil {
			return err
		}
		if err := r.repeatDiverged(ctx); err != nil {
			return err
		}
		switch took := time.Since(begin); {
		case took > maxLoop:
			r.stride = max(r.stride/2, 1)
		case took < maxLoop/2 && n == r.stride:
			r.stride = min(2*r.stride, maxStride)
		}
		steps -= n
	}
	return ctx.Err()
}

// runLoop executes the loop once, for that many steps, and waits for it.
func (r *run) runLoop(steps int) error {
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
	r.freeCurrent()
	r.current = out[:last]
	return backend.Download(r.diverged, out[last])
}

// repeatDiverged simulates functions with a chain out of bounds again, on the
// processor. This fails and says where, or succeeds if the chain diverged by rounding
// on the device only.
func (r *run) repeatDiverged(ctx context.Context) error {
	width := len(r.dst) / r.batch.Count
	for i := range r.onProcessor {
		if r.diverged[i] == 0 || r.onProcessor[i] {
			continue
		}
		function := r.batch.First + i
		system, err := r.batch.System(function)
		if err != nil {
			return err
		}
		err = simulate.Chains(ctx, r.dst[i*width:][:width], system, r.batch.Scheme, r.batch.Seed, uint64(function), r.batch.Purpose)
		if err != nil {
			return err
		}
		r.onProcessor[i] = true
	}
	return nil
}

// download fills dst, [functions, chains, recorded, dim], with the samples and frees
// them. If there are fewer than recorded, it repeats the current states.
func (r *run) download(dst []float32) error {
	inputs := slices.Clone(r.samples)
	for len(inputs) < r.recorded*r.equation.arrays() {
		inputs = append(inputs, r.states()...)
	}
	out, err := r.programs.collect.Run(inputs...)
	if err != nil {
		return err
	}
	defer backend.Free(out...)
	r.freeSamples()
	return backend.Download(dst, out[0])
}

// store copies n samples of each chain to r.dst, from sample first on.
func (r *run) store(samples []float32, first, n int) error {
	from, to, dim := r.recorded*r.dim(), r.perChain*r.dim(), r.dim()
	origin, err := r.origin()
	if err != nil {
		return err
	}
	for k, o := range origin[:min(dim, len(origin))] {
		if o == 0 {
			continue
		}
		for at := k; at < len(samples); at += dim {
			samples[at] = float32(o + float64(samples[at]))
		}
	}
	for i, done := range r.onProcessor {
		if done {
			continue
		}
		for c := i * r.chains; c < (i+1)*r.chains; c++ {
			copy(r.dst[c*to+first*dim:][:n*dim], samples[c*from:])
		}
	}
	return nil
}

// noise returns the inputs of the programs of that name.
func (r *run) noise() []backend.Buffer {
	return append([]backend.Buffer{r.inverse}, r.programs.jump...)
}

func (r *run) states() []backend.Buffer { return r.current[len(generators{}):] }

// shared reports whether the current states are also the last samples.
func (r *run) shared() bool {
	return len(r.samples) > 0 && r.samples[len(r.samples)-1] == r.current[len(r.current)-1]
}

// freeCurrent frees the current buffers that are not samples.
func (r *run) freeCurrent() {
	if r.shared() {
		backend.Free(r.current[:len(generators{})]...)
	} else {
		backend.Free(r.current...)
	}
	r.current = nil
}

// freeSamples frees the samples that are not current.
func (r *run) freeSamples() {
	if r.shared() {
		backend.Free(r.samples[:len(r.samples)-r.equation.arrays()]...)
	} else {
		backend.Free(r.samples...)
	}
	r.samples = r.samples[:0]
}

func (r *run) close() {
	if r.current != nil {
		r.freeSamples()
		r.freeCurrent()
	}
	backend.Free(r.rows)
}
