package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Equation is dX = b(X)dt + σ(X)dW. It prepares the evaluation at the
// states x, for one goroutine, with an engine's instructions. evaluate(n) computes at least
// the first n values of drift and diffusion, which do not move.
type Equation func(engine string, x *[lanes]float64) (evaluate func(n int), drift, diffusion *[lanes]float64)

// EulerMaruyamaFunc is Chains for coefficients that are functions on a domain, evaluated
// for up to 64 chains at a time. There is no table. States and samples are float64, normals
// those of Chains. A negative diffusion has the law of its absolute value; where it is
// zero the equation is an ordinary one. Chains run on GOMAXPROCS goroutines, on which the
// samples do not depend. progress, if not nil, is called from time to time with the steps
// taken over all chains and their total, never concurrently.
//
// It refuses a start that reaches out of the domain. A chain whose state is outside after a
// step ends the simulation, with a *DivergedError that is ErrLeftDomain. ErrDiverged errors are
// a *DivergedError, too, whose Reason names a coefficient that was not finite. The contents of
// dst are undefined after an error.
func (e *Engine) EulerMaruyamaFunc(
	ctx context.Context, dst []float64, equation Equation, domain sde.Range, s Scheme, seed, function uint64, purpose string,
	progress func(done, total int),
) error {
	if err := s.Start.Within(sde.Domain{domain}); err != nil {
		return err
	}
	return e.functions(ctx, dst, nil, equation, domain, s, stream{seed, purpose, function}, progress)
}

// functions is EulerMaruyamaFunc for chains from given first states, or from those of the scheme.
func (e *Engine) functions(
	ctx context.Context, dst, given []float64, equation Equation, domain sde.Range, s Scheme, stream stream, progress func(done, total int),
) error {
	perChain, err := s.samplesPerChain(len(dst))
	if err != nil {
		return err
	}
	if s.Integrator != Euler {
		return fmt.Errorf("%w %v is for families with a box: this equation on the line has %v", ErrIntegrator, s.Integrator, Euler)
	}
	var mu sync.Mutex
	done, total := 0, s.Steps(perChain)*s.Chains
	tick := func(steps int) {
		if progress == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		done += steps
		progress(done, total)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	width := together(s.Chains, runtime.GOMAXPROCS(0))
	for first := 0; first < s.Chains; first += width {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			state := &chains[float64]{engine: e, frame: natural, dim: 1, active: min(width, s.Chains-first), given: given}
			state.lo, state.hi = max(domain.Lo, -bound), min(domain.Hi, bound)
			f := newFunctionStep(equation, e.name, (*[lanes]float64)(state.x[:lanes]), s.DT)
			f.lo, f.hi, f.confined = state.lo, state.hi, domain != sde.WholeLine
			advance := func(z []float32) bool { return f.advance(state.active, z) }
			part := dst[first*perChain : (first+state.active)*perChain]
			err := state.run(ctx, part, s, first, stream, advance, tick)
			return f.explain(err, domain)
		})
	}
	return group.Wait()
}

// Evaluate returns the drift and the diffusion at the states x.
func (e *Engine) Evaluate(equation Equation, x []float64) (drift, diffusion []float64) {
	var at [lanes]float64
	evaluate, b, sigma := equation(e.name, &at)
	for len(x) > 0 {
		n := copy(at[:], x)
		evaluate(n)
		drift, diffusion, x = append(drift, b[:n]...), append(diffusion, sigma[:n]...), x[n:]
	}
	return drift, diffusion
}

// together is the number of chains that one goroutine advances: all lanes, or fewer whole
// vectors if cores would be idle otherwise.
func together(chains, cores int) int {
	share := (chains + cores - 1) / cores
	return min((share+widest-1)/widest*widest, lanes)
}

// functionStep steps one block of chains.
type functionStep struct {
	x, drift, diffusion *[lanes]float64
	evaluate            func(n int)
	move                func(f *functionStep, n int, z *[lanes]float32)
	dt, root            float64 // √dt
	lo, hi              float64 // states are between
	confined            bool    // to a domain, which a chain may leave and enter again within a stretch
}

func newFunctionStep(equation Equation, engine string, x *[lanes]float64, dt float64) *functionStep {
	f := &functionStep{x: x, dt: dt, root: math.Sqrt(dt), move: moveOn(engine)}
	f.evaluate, f.drift, f.diffusion = equation(engine, x)
	return f
}

// advance moves the first active states by len(z)/lanes steps. In a domain it stops after a
// step that leads out.
func (f *functionStep) advance(active int, z []float32) bool {
	for ; len(z) >= lanes; z = z[lanes:] {
		f.evaluate(active)
		f.move(f, active, (*[lanes]float32)(z))
		if f.confined && !between(f.x[:active], f.lo, f.hi) {
			return false
		}
	}
	return between(f.x[:active], f.lo, f.hi)
}

// movePlain moves the first n states by one step.
func (f *functionStep) movePlain(n int, z *[lanes]float32) {
	for l, v := range f.x[:n] {
		f.x[l] = v + (float64(f.drift[l]*f.dt) + float64(float64(f.diffusion[l]*f.root)*float64(z[l])))
	}
}

// explain adds to a divergence the domain that was left, or the coefficient that was not
// finite.
func (f *functionStep) explain(err error, domain sde.Range) error {
	var diverged *DivergedError
	if !errors.As(err, &diverged) {
		return err
	}
	if math.Abs(diverged.To) < bound && !domain.Contains(diverged.To) {
		diverged.Left = &domain
		return diverged
	}
	f.x[0] = diverged.From
	f.evaluate(1)
	for _, c := range []struct {
		name  string
		value float64
	}{{"drift", f.drift[0]}, {"diffusion", f.diffusion[0]}} {
		if math.IsNaN(c.value) || math.IsInf(c.value, 0) {
			diverged.Reason = fmt.Sprintf("the %s is %v at x = %.6g", c.name, c.value, diverged.From)
			break
		}
	}
	return diverged
}
