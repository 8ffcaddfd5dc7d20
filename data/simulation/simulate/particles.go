package simulate

import (
	"context"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

// swarm advances up to 16 chains of particles together.
type swarm struct {
	normals normals // first for its alignment, like chains
	engine  *Engine
	table   *pairTable
	active  int
	used    int // steps of the normals' window already used
	x, next []vector
	f       []vector  // zero between steps
	given   []float32 // the first states of all chains instead of draws; may be nil
	since   int       // pairs since the last check of the context
}

// Pairs are computed in tiles. The positions and forces of a tile's columns stay in the L1
// cache, and its rows keep a call to a few microseconds. Particle i still meets the others
// in their order, so tiles do not change its force.
const (
	tileColumns = 64
	tileRows    = 128
	pollPairs   = 1 << 13 // between checks of the context
)

func newSwarm(e *Engine, p sde.Particles, dt float64) *swarm {
	d := p.Dim()
	memory := make([]vector, 3*d) // one allocation: kernels read a little beyond the positions
	return &swarm{
		engine: e, table: newPairTable(p, dt),
		x: memory[:d], next: memory[d : 2*d], f: memory[2*d:],
	}
}

// particles simulates chains of particles.
func (e *Engine) particles(ctx context.Context, dst []float32, p sde.Particles, s Scheme, perChain int, stream stream) error {
	d := p.Dim()
	w := newSwarm(e, p, s.DT)
	for first := 0; first < s.Chains; first += widest {
		w.active = min(widest, s.Chains-first)
		part := dst[first*perChain*d : (first+w.active)*perChain*d]
		if err := w.run(ctx, part, s, first, perChain, stream); err != nil {
			return err
		}
	}
	return nil
}

// run simulates chains first..first+active−1 into dst, shape [active, perChain, d]. The
// first d normals of a chain are its start, and each step takes the next d, in the order of
// the state.
func (w *swarm) run(ctx context.Context, dst []float32, s Scheme, first, perChain int, stream stream) error {
	for l := range w.active {
		w.normals.seed(l, stream.seed, stream.purpose, stream.function, uint64(first+l))
	}
	for l := w.active; l < widest; l++ { // engines step whole vectors
		w.normals.repeat(l)
	}
	w.used = window
	laws, err := s.Start.laws()
	if err != nil {
		return err
	}
	w.start(laws, first, stream)
	for j, step, next := 0, 0, s.BurnIn; j < perChain; j, next = j+1, next+s.Thin {
		for ; step < next; step++ {
			if err := w.forces(ctx); err != nil {
				return err
			}
			if !w.move() {
				d := w.locate()
				d.step = step
				return stream.diverged(d, first)
			}
		}
		w.record(dst[j*len(w.x):], perChain*len(w.x))
	}
	return nil
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

// start draws the first states, of chain first and those after it. The laws are one, or those
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
					w.x[k][l] = float32(float64(w.given[min(first+l, first+w.active-1)*len(w.x)+k]) * w.table.unit)
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

// forces adds the forces between all pairs to f.
func (w *swarm) forces(ctx context.Context) error {
	n := len(w.x) / 2
	for from := 0; from < n; from += tileColumns {
		to := min(from+tileColumns, n)
		for first := 0; first < to; first += tileRows {
			end := min(first+tileRows, to)
			w.engine.pairs(w.table, w.f, w.x, w.active, first, end, from, to)
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

// move takes the step and reports whether all states are then within the bound.
func (w *swarm) move() bool {
	inside := true
	for k := 0; k < len(w.x); {
		z := w.noise(k)
		end := k + len(z)/lanes
		inside = w.engine.move(w.table, w.next[k:end], w.f[k:end], w.x[k:end], w.active, z) && inside
		k = end
	}
	w.x, w.next = w.next, w.x
	return inside
}

// locate finds the first chain, and its first coordinate, that the last step took out of
// bounds.
func (w *swarm) locate() divergence {
	for l := range w.active {
		for k := range w.x {
			if v := w.x[k][l]; !(v > -w.table.limit && v < w.table.limit) {
				return divergence{lane: l, from: float64(w.next[k][l]) / w.table.unit, to: float64(v) / w.table.unit}
			}
		}
	}
	panic("no state is out of bounds")
}

// record stores the states as samples, those of chain l at l·stride.
func (w *swarm) record(dst []float32, stride int) {
	toLength := float32(1 / w.table.unit)
	for l := range w.active {
		sample := dst[l*stride : l*stride+len(w.x)]
		for k := range sample {
			sample[k] = w.x[k][l] * toLength
		}
	}
}
