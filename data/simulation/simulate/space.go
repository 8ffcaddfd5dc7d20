package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

var _ [lanes]float64 = [sde.Lanes]float64{} // blocks of a Space are those of chains

// cloud advances up to 64 chains of a Space together, in double precision. Its states are the
// coordinates of package lift, which have no ends.
type cloud struct {
	normals normals // first for its alignment, like chains
	engine  *Engine
	active  int
	used    int // steps of the normals' window already used

	box              []sde.Interval
	x                []*[lanes]float64
	z                [][lanes]float32 // normals of a step
	mixed            [lanes]float64   // a row of the diffusion times them
	before           [][lanes]float64 // states before a step
	evaluate         func(n int)
	drift, diffusion []*[lanes]float64
	step             functionStep
	steps            steps
	stream           stream           // of the chains
	first            int              // lane of all chains, of those in lane 0 and after it
	given            []float32        // the first states of all chains instead of draws; may be nil
	follows          [][lanes]float32 // normals of the next step instead of draws; may be nil
	ends             ends
	replicas         int     // of a chain, a lane each
	ladder           *ladder // of several replicas; nil: there is one
}

func newCloud(e *Engine, s sde.Space, integrator Integrator, tempering Tempering, dt float64) (*cloud, error) {
	ladder, err := newLadder(tempering, s)
	if err != nil {
		return nil, err
	}
	steps, err := integrator.steps(s, dt)
	if err != nil {
		return nil, err
	}
	box, ends := s.Box, endsOf(s)
	s = lift.Of(s)
	c := &cloud{
		engine: e, steps: steps, replicas: tempering.Replicas(), ladder: ladder, box: box, ends: ends, x: s.Blocks(), z: make([][lanes]float32, s.Dim()), before: make([][lanes]float64, s.Dim()),
		step: functionStep{dt: dt, root: math.Sqrt(dt), move: moveOn(e.name)},
	}
	c.evaluate, c.drift, c.diffusion = s.Bind(e.name, c.x)
	if ladder != nil {
		ladder.potential.x, ladder.potential.drift, ladder.potential.evaluate = c.x, c.drift, c.evaluate
	}
	return c, nil
}

// space simulates chains of a Space.
func (e *Engine) space(ctx context.Context, dst []float32, system sde.Space, s Scheme, perChain int, stream stream) error {
	c, err := newCloud(e, system, s.Integrator, s.Tempering, s.DT)
	if err != nil {
		return fmt.Errorf("function %d: %w", stream.function, err)
	}
	return c.runAll(ctx, dst, s, perChain, stream)
}

// runAll simulates all chains of a scheme into dst [chains, perChain, dim].
func (c *cloud) runAll(ctx context.Context, dst []float32, s Scheme, perChain int, stream stream) error {
	width, size := lanes/c.replicas, perChain*len(c.x)
	for first := 0; first < s.Chains; first += width {
		count := min(width, s.Chains-first)
		c.active = count * c.replicas
		if err := c.run(ctx, dst[first*size:][:count*size], s, first, perChain, stream); err != nil {
			return err
		}
	}
	return nil
}

// firstChains runs the first chains of a system, as many as are simulated together, for so many steps.
func (e *Engine) firstChains(ctx context.Context, system sde.Space, s Scheme, steps int, stream stream) (*cloud, error) {
	c, err := newCloud(e, system, s.Integrator, s.Tempering, s.DT)
	if err != nil {
		return nil, err
	}
	s.BurnIn, s.Chains = steps, lanes/c.replicas
	return c, c.runAll(ctx, make([]float32, s.Chains*system.Dim()), s, 1, stream)
}

// run simulates the active lanes, chains first and those after it, into dst, shape
// [chains, perChain, dim]. With tempering a chain has a lane for each replica. The first
// dim normals of a lane are its start, and each step takes the next dim, by coordinate. Integrators
// may take more before the first step.
func (c *cloud) run(ctx context.Context, dst []float32, s Scheme, first, perChain int, stream stream) error {
	if err := c.open(s, first, stream); err != nil {
		return err
	}
	c.steps.begin(c)
	poll := max(pollEvery*window/len(c.x), 1) // steps between checks of the context
	for j, step, next := 0, 0, s.BurnIn; j < perChain; j, next = j+1, next+s.Thin {
		for ; step < next; step++ {
			if step%poll == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			if k := c.move(); k >= 0 {
				return c.explain(stream, first, step, k)
			}
			if c.ladder != nil && (step+1)%c.ladder.Every == 0 {
				c.ladder.exchange(c)
			}
		}
		if m, ok := c.steps.(*mala); ok && j == 0 {
			if err := m.stuck(c); err != nil {
				return err
			}
		}
		c.sample(dst, j, perChain)
	}
	return nil
}

// open begins the streams of chain first and those after it, and draws their first states.
func (c *cloud) open(s Scheme, first int, stream stream) error {
	c.stream, c.first = stream, first*c.replicas
	for l := range c.active {
		c.normals.seed(l, stream.seed, stream.purpose, stream.function, uint64(first*c.replicas+l))
	}
	for l := c.active; l < lanes; l++ { // engines step whole vectors
		c.normals.repeat(l)
	}
	c.used = window
	laws, err := s.Start.lawsIn(c.box)
	if err != nil {
		return err
	}
	if n := len(laws); n > 1 && n != len(c.x) {
		return fmt.Errorf("function %d: start has %d laws, want one, or one for each of %d coordinates", stream.function, n, len(c.x))
	}
	if err := c.start(laws, first, stream); err != nil {
		return err
	}
	if c.ladder != nil {
		c.ladder.begin(stream, first, c.active/c.replicas)
	}
	return nil
}

// sample writes the states as sample number j into dst [chains, perChain, dim].
func (c *cloud) sample(dst []float32, j, perChain int) {
	for l := 0; l < c.active; l += c.replicas {
		sample := dst[(l/c.replicas*perChain+j)*len(c.x):][:len(c.x)]
		for k := range sample {
			sample[k] = c.ends.sample(k, c.x[k][l])
		}
	}
}

// draw makes the next dim normals of all lanes.
func (c *cloud) draw() {
	if c.follows != nil {
		copy(c.z, c.follows)
		return
	}
	for k := range c.z {
		if c.used == window {
			c.engine.fill(&c.normals, c.active)
			c.used = 0
		}
		c.z[k] = [lanes]float32(c.normals.values[c.used*lanes:])
		c.used++
	}
}

// noise makes the normals of the next step, for each lane times √T.
func (c *cloud) noise() {
	c.draw()
	if c.ladder == nil {
		return
	}
	heat := c.ladder.heat[:c.active]
	for k := range c.z {
		z := c.z[k][:len(heat)]
		for l, h := range heat {
			z[l] *= h
		}
	}
}

// start draws the first states of all lanes, of chain first and those after it. It refuses those
// outside the domain.
func (c *cloud) start(laws []random.Law, first int, stream stream) error {
	c.draw()
	for l := range lanes {
		chain := first * c.replicas
		if l < c.active {
			chain += l
		}
		source := NewSource(stream.seed, stream.purpose, stream.function, uint64(chain))
		for k := range c.x {
			x := firstState(laws[min(k, len(laws)-1)], c.z[k][l], source.Uniform())
			if c.given != nil {
				x = float64(c.given[chain*len(c.x)+k])
			}
			var err error
			if c.x[k][l], err = c.ends.first(k, x); err != nil {
				return fmt.Errorf("function %d, chain %d: %w", stream.function, chain, err)
			}
		}
	}
	return nil
}

// move takes a step. It returns a coordinate of which a state is then out of bounds; −1: none.
func (c *cloud) move() (coordinate int) {
	for k, x := range c.x {
		c.before[k] = *x
	}
	c.steps.take(c)
	return c.ends.leaves(c.x, c.active)
}

// add moves the states by a drift and, with the diffusion of the last evaluation, by the normals z.
func (c *cloud) add(drift []*[lanes]float64, z [][lanes]float32) {
	d, f := len(c.x), &c.step
	for k, x := range c.x {
		f.x, f.drift = x, drift[k]
		switch len(c.diffusion) {
		case 1:
			f.diffusion = c.diffusion[0]
		case d:
			f.diffusion = c.diffusion[k]
		default:
			c.mix(k, drift[k], z)
			continue
		}
		f.move(f, c.active, &z[k])
	}
}

// mix moves coordinate k by a row of a full matrix.
func (c *cloud) mix(k int, drift *[lanes]float64, z [][lanes]float32) {
	d := len(c.x)
	for l := range c.mixed[:c.active] {
		sum := 0.
		for j := range d {
			sum += float64(c.diffusion[k*d+j][l] * float64(z[j][l]))
		}
		c.mixed[l] = sum
	}
	f := &c.step
	for l, v := range c.x[k][:c.active] {
		c.x[k][l] = v + (float64(drift[l]*f.dt) + float64(c.mixed[l]*f.root))
	}
}

// explain describes the divergence of a coordinate, which the last step took out of bounds.
func (c *cloud) explain(stream stream, first, step, k int) error {
	lane := 0
	for l, v := range c.x[k][:c.active] {
		if !c.ends.holds(k, v) {
			lane = l
			break
		}
	}
	from, to := c.before[k][lane], c.x[k][lane]
	err := stream.diverged(divergence{lane: lane / c.replicas, step: step, coordinate: k + 1, from: c.ends.state(k, from), to: c.ends.state(k, to)}, first)
	for j := range c.x {
		*c.x[j] = c.before[j]
	}
	c.evaluate(c.active)
	var diverged *DivergedError
	if errors.As(err, &diverged) {
		diverged.Left = c.ends.left(k, to)
		for _, part := range []struct {
			name   string
			blocks []*[lanes]float64
		}{{"drift", c.drift}, {"diffusion", c.diffusion}} {
			for n, block := range part.blocks {
				if v := block[lane]; diverged.Reason == "" && (math.IsNaN(v) || math.IsInf(v, 0)) {
					diverged.Reason = fmt.Sprintf("component %d of the %s is %v there", n, part.name, v)
				}
			}
		}
		if diverged.Reason == "" {
			diverged.Reason = fmt.Sprintf("it is x[%d] of the formulas", k)
		}
		if c.ladder != nil {
			diverged.Reason += fmt.Sprintf(", of the replica at temperature %.3g", c.ladder.At(lane%c.replicas))
		}
	}
	return err
}
