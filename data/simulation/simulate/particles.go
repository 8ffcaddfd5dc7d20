package simulate

import (
	"context"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

// swarm advances up to 16 chains of particles together.
type swarm struct {
	normals  normals // first for its alignment, like chains
	engine   *Engine
	table    *pairTable
	active   int
	used     int // steps of the normals' window already used
	x, next  []vector
	f        []vector   // zero between steps of Euler's
	mala     *swarmMALA // nil with Euler's steps
	replicas int        // of a chain, a lane each
	ladder   *turns     // of several replicas; nil: there is one
	given    []float32  // the first states of all chains, and their replicas, instead of draws; may be nil
	since    int        // pairs since the last check of the context
}

// Pairs are computed in tiles. The positions and forces of a tile's columns stay in the L1
// cache, and its rows keep a call to a few microseconds. Particle i still meets the others
// in their order, so tiles do not change its force.
const (
	tileColumns = 64
	tileRows    = 128
	pollPairs   = 1 << 13 // between checks of the context
)

func newSwarm(e *Engine, p sde.Particles, s Scheme) *swarm {
	d := p.Dim()
	memory := make([]vector, 3*d) // one allocation: kernels read a little beyond the positions
	w := &swarm{
		engine: e, table: newPairTable(p, s.DT, s.Tempering), replicas: s.Tempering.Replicas(),
		x: memory[:d], next: memory[d : 2*d], f: memory[2*d:],
	}
	if s.Integrator == MALA {
		w.mala = newSwarmMALA(d)
	}
	if s.Tempering.On() {
		w.ladder = newTurns(s.Tempering)
	}
	return w
}

// particles simulates chains of particles.
func (e *Engine) particles(ctx context.Context, dst []float32, p sde.Particles, s Scheme, perChain int, stream stream) error {
	w := newSwarm(e, p, s)
	width, size := widest/w.replicas, perChain*p.Dim()
	for first := 0; first < s.Chains; first += width {
		count := min(width, s.Chains-first)
		w.active = count * w.replicas
		if err := w.run(ctx, dst[first*size:][:count*size], s, first, perChain, stream); err != nil {
			return err
		}
	}
	return nil
}

// run simulates the active lanes, chains first and those after it, into dst, shape [chains, perChain, d].
// With tempering a chain has a lane for each replica. The first d normals of a lane are its start, and each
// step takes the next d, in the order of the state.
func (w *swarm) run(ctx context.Context, dst []float32, s Scheme, first, perChain int, stream stream) error {
	if err := w.begin(s.Start, first, stream); err != nil {
		return err
	}
	for j, step, next := 0, 0, s.BurnIn; j < perChain; j, next = j+1, next+s.Thin {
		for ; step < next; step++ {
			if err := w.step(ctx, s, step, first, stream); err != nil {
				return err
			}
		}
		if err := w.stuck(s.DT, first, stream); err != nil {
			return err
		}
		w.record(dst[j*len(w.x):], perChain*len(w.x))
	}
	return nil
}

// begin has the first states of chain first and those after it.
func (w *swarm) begin(start Start, first int, stream stream) error {
	for l := range w.active {
		w.normals.seed(l, stream.seed, stream.purpose, stream.function, uint64(first*w.replicas+l))
	}
	for l := w.active; l < widest; l++ { // engines step whole vectors
		w.normals.repeat(l)
	}
	w.used = window
	laws, err := start.laws()
	if err != nil {
		return err
	}
	w.start(laws, first*w.replicas, stream)
	if w.ladder != nil {
		w.ladder.begin(stream, first, w.active/w.replicas)
	}
	return nil
}

// step is Euler's, or MALA's after half of the burn-in: Euler's leave places so steep that no step of MALA
// is accepted there.
func (w *swarm) step(ctx context.Context, s Scheme, step, first int, stream stream) error {
	if w.mala != nil && step >= s.BurnIn/2 {
		if step == s.BurnIn/2 {
			if err := w.beginMALA(ctx, first, stream); err != nil {
				return err
			}
		}
		err := w.metropolis(ctx, step, first, stream)
		if w.ladder != nil && (step+1)%w.ladder.Every == 0 {
			w.exchange()
		}
		return err
	}
	if err := w.forces(ctx, w.f, w.x, nil); err != nil {
		return err
	}
	inside := w.move(w.f)
	w.x, w.next = w.next, w.x
	return w.bounded(inside, step, first, stream)
}

// noise returns the normals for coordinates from k on, up to the end of the window.
func (w *swarm) noise(k int) []float32 {
	if w.used == window {
		w.engine.fill(&w.normals, w.active)
		w.used = 0
	}
	n := min(window-w.used, len(w.x)-k)
	z := w.normals.values[w.used*lanes : (w.used+n)*lanes]
	w.used += n
	return z
}

// start draws the first states, of lane first of all chains and those after it. The laws are one, or those
// along x and y.
func (w *swarm) start(laws []random.Law, first int, stream stream) {
	var sources [widest]Source
	for l := range sources {
		chain := first
		if l < w.active {
			chain += l
		}
		sources[l] = NewSource(stream.seed, stream.purpose, stream.function, uint64(chain))
	}
	for k := 0; k < len(w.x); {
		for z := w.noise(k); len(z) > 0; z = z[lanes:] {
			if w.given != nil {
				for l := range w.x[k] {
					w.x[k][l] = float32(float64(w.given[(first+min(l, w.active-1))/w.replicas*len(w.x)+k]) * w.table.unit)
				}
				k++
				continue
			}
			law := laws[k%2%len(laws)]
			centre, deviation := float32(law.A*w.table.unit), float32(law.B*w.table.unit)
			for l := range w.x[k] {
				w.x[k][l] = centre + float32(deviation*z[l])
				if u := sources[l].Uniform(); law.Form == random.Uniform {
					w.x[k][l] = float32(firstState(law, z[l], u) * w.table.unit)
				}
			}
			k++
		}
	}
	clear(w.f)
}

// forces adds the forces between all pairs of x to f, and their potentials to u unless it is nil.
func (w *swarm) forces(ctx context.Context, f, x, u []vector) error {
	n := len(x) / 2
	for from := 0; from < n; from += tileColumns {
		to := min(from+tileColumns, n)
		for first := 0; first < to; first += tileRows {
			end := min(first+tileRows, to)
			if u == nil {
				w.engine.pairs(w.table, f, x, w.active, first, end, from, to)
			} else {
				w.engine.energies(w.table, u, f, x, w.active, first, end, from, to)
			}
			if w.since += (end - first) * (to - from); w.since >= pollPairs {
				w.since = 0
				if err := ctx.Err(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// move has the states after a step, with the forces f, which it clears, in next, and reports whether all are
// within the bound.
func (w *swarm) move(f []vector) bool {
	inside := true
	for k := 0; k < len(w.x); {
		z := w.noise(k)
		end := k + len(z)/lanes
		inside = w.engine.move(w.table, w.next[k:end], f[k:end], w.x[k:end], w.active, z) && inside
		k = end
	}
	return inside
}

// bounded is an error of the first chain, and its first coordinate, that a step took out of bounds.
func (w *swarm) bounded(inside bool, step, first int, stream stream) error {
	for l := 0; l < w.active && !inside; l++ {
		for k := range w.x {
			if v := w.x[k][l]; !(v > -w.table.limit && v < w.table.limit) {
				return stream.diverged(divergence{
					step: step, lane: l / w.replicas, from: float64(w.next[k][l]) / w.table.unit, to: float64(v) / w.table.unit,
				}, first)
			}
		}
	}
	return nil
}

// record stores the states as samples, those of a chain at its place times the stride.
func (w *swarm) record(dst []float32, stride int) {
	toLength := float32(1 / w.table.unit)
	for l := 0; l < w.active; l += w.replicas {
		sample := dst[l/w.replicas*stride:][:len(w.x)]
		for k := range sample {
			sample[k] = w.x[k][l] * toLength
		}
	}
}
