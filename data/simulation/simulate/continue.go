package simulate

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Continue moves the states x [chains, system.Dim()] by steps of the scheme of Chains,
// every state along a chain of its own. Chains have the noise that those of Chains from
// the Start of a scheme have. They run on GOMAXPROCS goroutines, on which the states do not
// depend. The contents of x are undefined after an error.
func (e *Engine) Continue(
	ctx context.Context, x []float32, system sde.System, dt float64, steps int, seed, function uint64, purpose string,
) error {
	d := system.Dim()
	if err := system.Validate(); err != nil {
		return fmt.Errorf("function %d: %w", function, err)
	}
	s, err := continued(len(x), d, dt, steps)
	if err != nil {
		return fmt.Errorf("function %d: %w", function, err)
	}
	stream := stream{seed, purpose, function}
	var run func(ctx context.Context, part []float32, first, active int) error
	width := lanes
	switch system := system.(type) {
	case sde.Coefficients:
		t := newTable(system, dt)
		run = func(ctx context.Context, part []float32, first, active int) error {
			c := e.chains(t.frame, d)
			c.active, c.given = active, x
			return c.run(ctx, part, s, first, stream, func(z []float32) bool { return e.line(t, &c.x, active, z) }, func(int) {})
		}
	case sde.Plane:
		t := newPlaneTable(system, dt)
		run = func(ctx context.Context, part []float32, first, active int) error {
			c := e.chains(natural, d)
			c.active, c.given = active, x
			return c.run(ctx, part, s, first, stream, func(z []float32) bool { return e.plane(t, &c.x, active, z) }, func(int) {})
		}
	case sde.Particles:
		width = widest
		run = func(ctx context.Context, part []float32, first, active int) error {
			w := newSwarm(e, system, s)
			w.active, w.given = active, x
			return w.run(ctx, part, s, first, 1, stream)
		}
	case sde.Space:
		run = func(ctx context.Context, part []float32, first, active int) error {
			c, err := newCloud(e, system, Euler, Tempering{}, dt)
			if err != nil {
				return err
			}
			c.active, c.given = active, x
			return c.run(ctx, part, s, first, 1, stream)
		}
	default:
		return fmt.Errorf("function %d: engine %v cannot simulate a %T", function, e, system)
	}
	return Each(ctx, (s.Chains+width-1)/width, func(ctx context.Context, block int) error {
		first := block * width
		active := min(width, s.Chains-first)
		return run(ctx, x[first*d:(first+active)*d], first, active)
	}, nil)
}

// ContinueFunc is Continue for an equation on the line whose coefficients are functions on a
// domain, as EulerMaruyamaFunc has them. It refuses states outside the domain.
func (e *Engine) ContinueFunc(
	ctx context.Context, x []float64, equation Equation, domain sde.Range, dt float64, steps int, seed, function uint64, purpose string,
) error {
	s, err := continued(len(x), 1, dt, steps)
	if err != nil {
		return err
	}
	for i, v := range x {
		if !domain.Contains(v) {
			return fmt.Errorf("state %d is %g: it is outside the domain %v", i, v, domain)
		}
	}
	return e.functions(ctx, x, x, equation, domain, s, stream{seed, purpose, function}, nil)
}

// continued is the scheme of one sample, after steps, of every chain.
func continued(values, dim int, dt float64, steps int) (Scheme, error) {
	if values == 0 || values%dim != 0 {
		return Scheme{}, fmt.Errorf("%d values are not a whole number of states of dimension %d", values, dim)
	}
	s := Scheme{DT: dt, BurnIn: steps, Thin: 1, Chains: values / dim}
	return s, s.Validate()
}
