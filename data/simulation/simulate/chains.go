package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// ErrDiverged means that a state was not finite or left ±1e6: the equation explodes, or the
// time step is too large for it.
var ErrDiverged = errors.New("simulation diverged")

// bound is where a state counts as diverged.
const bound = 1e6

// pollEvery is the number of windows of 16 steps between checks of the context: about a
// millisecond of work.
const pollEvery = 64

// maxDim is the largest dimension of a state in chains.
const maxDim = 2

// states are those of lanes chains: coordinate c of chain l at [c·lanes+l].
type states[T float32 | float64] [maxDim * lanes]T

// frame is the unit of states: coordinate k of x is origin[k] + unit·state. States beyond
// ±limit count as diverged.
type frame struct {
	origin      [maxDim]float64
	unit, limit float64
}

// natural is the frame in which states are x.
var natural = frame{unit: 1, limit: bound}

func (f frame) toState(k int, x float64) float64 { return (x - f.origin[k]) / f.unit }
func (f frame) toX(k int, state float64) float64 { return f.origin[k] + float64(state*f.unit) }

// divergence is where a chain diverged: step takes a coordinate beyond the bound.
type divergence struct {
	lane, step int
	coordinate int // counted from one; 0 in one dimension
	from, to   float64
}

// chains advances up to 64 chains together, in single or double precision.
type chains[T float32 | float64] struct {
	normals normals // vectors come first and in whole cache lines: a load across two costs double
	x       states[T]
	before  states[T] // those at the start of the current stretch
	engine  *Engine
	frame   frame
	lo, hi  T   // states that are not between count as diverged
	dim     int // of a state, a divisor of window
	active  int
	given   []T // the first states of all chains, [chains, dim], instead of draws; may be nil
}

// run starts chains first..first+active−1 as the scheme says, takes perChain samples of each
// and stores them in dst, [active, perChain, dim]. The first dim normals of a chain are its
// first state, or are left out if that is given, and each step takes the next dim. advance moves the states x by
// len(z)/(dim·lanes) steps with the normals z, and reports whether they are then bounded.
// run calls tick from time to time with the number of steps, over all chains, since the
// last call.
//
// Engines step whole vectors, some all lanes. Unused lanes of the last vector repeat chain
// first, so that they are bounded if it is. Other unused lanes are arbitrary.
func (c *chains[T]) run(
	ctx context.Context, dst []T, s Scheme, first int, stream stream,
	advance func(z []float32) bool, tick func(steps int),
) error {
	perChain := len(dst) / (c.active * c.dim)
	laws, err := s.Start.laws()
	if err != nil {
		return err
	}
	for l := range c.active {
		c.normals.seed(l, stream.seed, stream.purpose, stream.function, uint64(first+l))
	}
	for l := c.active; l%widest != 0; l++ {
		c.normals.repeat(l)
	}
	c.engine.fill(&c.normals, c.active)
	for l := range lanes {
		chain := first
		if l < c.active {
			chain += l
		}
		source := NewSource(stream.seed, stream.purpose, stream.function, uint64(chain))
		for k := range c.dim {
			if c.given != nil {
				c.x[k*lanes+l] = T(c.frame.toState(k, float64(c.given[chain*c.dim+k])))
				continue
			}
			law := laws[min(k, len(laws)-1)]
			c.x[k*lanes+l] = T(c.frame.toState(k, firstState(law, c.normals.values[k*lanes+l], source.Uniform())))
		}
	}
	used, windows, since := c.dim, 0, 0
	for j, step, next := 0, 0, s.BurnIn; j < perChain; j, next = j+1, next+s.Thin {
		for step < next {
			if used == window {
				c.engine.fill(&c.normals, c.active)
				used = 0
				if windows++; windows%pollEvery == 0 {
					if err := ctx.Err(); err != nil {
						return err
					}
					tick(since)
					since = 0
				}
			}
			n := min((window-used)/c.dim, next-step)
			z := c.normals.values[used*lanes : (used+n*c.dim)*lanes]
			c.remember()
			if !advance(z) {
				d := c.locate(z, advance)
				d.step += step
				return stream.diverged(d, first)
			}
			used, step, since = used+n*c.dim, step+n, since+n*c.active
		}
		frame, stride := c.frame, perChain*c.dim
		for k := range c.dim {
			at := j*c.dim + k
			for _, v := range c.coordinate(k) {
				dst[at] = T(frame.toX(k, float64(v)))
				at += stride
			}
		}
	}
	tick(since)
	return nil
}

// remember saves the states.
func (c *chains[T]) remember() { copy(c.before[:c.dim*lanes], c.x[:]) }

// coordinate is one coordinate of the active states.
func (c *chains[T]) coordinate(k int) []T { return c.x[k*lanes:][:c.active] }

// bounded reports whether all states are finite and within ±limit.
func bounded[T float32 | float64](x []T, limit T) bool { return between(x, -limit, limit) }

// between reports whether all states are finite and between lo and hi.
func between[T float32 | float64](x []T, lo, hi T) bool {
	for _, v := range x {
		if !(v > lo && v < hi) {
			return false
		}
	}
	return true
}

// locate repeats a stretch that ended out of bounds, step by step, to find the
// first step, lane and coordinate.
func (c *chains[T]) locate(z []float32, advance func(z []float32) bool) divergence {
	c.x = c.before
	width := c.dim * lanes
	for k := range len(z) / width {
		c.remember()
		advance(z[k*width : (k+1)*width])
		for l := range c.active {
			for i := l; i < width; i += lanes {
				v := c.x[i]
				if v > c.lo && v < c.hi {
					continue
				}
				d := divergence{lane: l, step: k, from: c.frame.toX(i/lanes, float64(c.before[i])), to: c.frame.toX(i/lanes, float64(v))}
				if c.dim > 1 {
					d.coordinate = 1 + i/lanes
				}
				return d
			}
		}
	}
	return divergence{step: len(z)/width - 1, from: math.NaN(), to: math.NaN()}
}

// stream identifies the randomness of one function's chains.
type stream struct {
	seed     uint64
	purpose  string
	function uint64
}

func (s stream) diverged(d divergence, first int) error {
	return &DivergedError{
		Function: s.function, Chain: first + d.lane, Step: d.step, Coordinate: d.coordinate, From: d.from, To: d.to,
	}
}

// DivergedError locates a divergence; it is an ErrDiverged, or an ErrLeftDomain.
type DivergedError struct {
	Function   uint64
	Chain      int
	Step       int        // counted from zero
	Coordinate int        // of the state, counted from one; 0 for equations on the line
	From, To   float64    // that coordinate before and after the step
	Reason     string     // which coefficient was not finite there; may be empty
	Left       *sde.Range // that the state left, within ±1e6; may be nil
}

func (e *DivergedError) Error() string {
	what := "state"
	if e.Coordinate > 0 {
		what = fmt.Sprintf("coordinate %d of the state", e.Coordinate)
	}
	digits := 6
	if e.Drifted() { // near the bound from 999999.9 to 1000000.1, not from 1e+06 to 1e+06
		digits = 9
	}
	for digits < 17 && fmt.Sprintf("%.*g", digits, e.From) == fmt.Sprintf("%.*g", digits, e.To) {
		digits++
	}
	text := fmt.Sprintf("function %d, chain %d, step %d: %s went from %.*g to %.*g", e.Function, e.Chain, e.Step, what, digits, e.From, digits, e.To)
	if e.Left != nil {
		return fmt.Sprintf("%s: it %v %v", text, ErrLeftDomain, *e.Left)
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text + ": " + ErrDiverged.Error()
}

func (e *DivergedError) Unwrap() error {
	if e.Left != nil {
		return ErrLeftDomain
	}
	return ErrDiverged
}

// Drifted reports whether the coordinate passed the bound in a step that was small beside
// it: the equation leads away slowly, and no smaller time step would keep it.
func (e *DivergedError) Drifted() bool { return math.Abs(e.To-e.From) < bound/100 }
