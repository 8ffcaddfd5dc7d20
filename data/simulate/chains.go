package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// ErrDiverged says that a state was not finite or left ±1e6: the equation
// explodes, or the time step is too large for it.
var ErrDiverged = errors.New("simulation diverged")

// bound is where a state counts as diverged.
const bound = 1e6

// pollEvery is how many windows of 16 steps pass between looks at the context:
// about a millisecond of work.
const pollEvery = 64

// divergence is where a chain diverged: step takes it from a state within the
// bound to one that is not.
type divergence struct {
	lane, step int
	from, to   float64
}

// chains advances up to 64 chains together, in single or double precision.
type chains[T float32 | float64] struct {
	normals normals // vectors come first and in whole cache lines: a load across two costs double
	x       [lanes]T
	before  [lanes]T // states at the start of the current stretch
	engine  *Engine
	active  int
}

// run starts chains first..first+active−1 as the scheme says, takes perChain samples
// of each and stores them chain by chain into dst. advance moves the states x
// by len(z)/lanes steps with the normals z and says whether they are then
// bounded. tick is called now and then with the number of steps taken, over all
// chains, since the last call.
//
// Engines step whole vectors, some all lanes. The lanes that fill the last
// vector up repeat chain first, so that they are bounded if it is; any others
// hold what they like.
func (c *chains[T]) run(
	ctx context.Context, dst []float32, s Scheme, first int, stream stream,
	advance func(z []float32) bool, tick func(steps int),
) error {
	perChain := len(dst) / c.active
	for l := range c.active {
		c.normals.seed(l, stream.seed, stream.purpose, stream.function, uint64(first+l))
	}
	for l := c.active; l%widest != 0; l++ {
		c.normals.repeat(l, 0)
	}
	c.engine.fill(&c.normals, c.active)
	for l := range c.x {
		c.x[l] = T(s.start()) * T(c.normals.values[l])
	}
	x := c.x[:c.active]
	used, windows, since := 1, 0, 0
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
			n := min(window-used, next-step)
			z := c.normals.values[used*lanes : (used+n)*lanes]
			c.before = c.x
			if !advance(z) {
				d := c.locate(z, advance)
				d.step += step
				return stream.diverged(d, first)
			}
			used, step, since = used+n, step+n, since+n*c.active
		}
		for l, v := range x {
			dst[l*perChain+j] = float32(v)
		}
	}
	tick(since)
	return nil
}

// bounded reports whether all states are finite and within the bound.
func bounded[T float32 | float64](x []T) bool {
	for _, v := range x {
		if !(v > -bound && v < bound) {
			return false
		}
	}
	return true
}

// locate repeats a stretch that ended out of bounds, step by step, to find the
// first step and lane.
func (c *chains[T]) locate(z []float32, advance func(z []float32) bool) divergence {
	x := c.x[:c.active]
	c.x = c.before
	for k := range len(z) / lanes {
		c.before = c.x
		advance(z[k*lanes : (k+1)*lanes])
		for l, v := range x {
			if !(v > -bound && v < bound) {
				return divergence{l, k, float64(c.before[l]), float64(v)}
			}
		}
	}
	return divergence{0, len(z)/lanes - 1, math.NaN(), math.NaN()}
}

// stream identifies the randomness of one function's chains.
type stream struct {
	seed     uint64
	purpose  string
	function uint64
}

func (s stream) diverged(d divergence, first int) error {
	return &DivergedError{
		Function: s.function, Chain: first + d.lane, Step: d.step, From: d.from, To: d.to,
	}
}

// DivergedError locates a divergence; it is an ErrDiverged.
type DivergedError struct {
	Function uint64
	Chain    int
	Step     int     // counted from zero
	From, To float64 // states before and after the step
	Reason   string  // what was wrong with a coefficient there, if anything
}

func (e *DivergedError) Error() string {
	text := fmt.Sprintf("function %d, chain %d, step %d: state went from %.6g to %.6g", e.Function, e.Chain, e.Step, e.From, e.To)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text + ": " + ErrDiverged.Error()
}

func (e *DivergedError) Unwrap() error { return ErrDiverged }
