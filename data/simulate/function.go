package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Func evaluates a coefficient at all of x into dst, which has the same length.
// It must be safe for concurrent use.
type Func func(dst, x []float64)

// EulerMaruyamaFunc is EulerMaruyama for coefficients that are functions on the
// whole line, evaluated 64 chains at a time: no table, no boundary. The states
// are float64, the normals those of EulerMaruyama. A negative diffusion has the
// law of its absolute value, and zero is allowed. Chains are spread over
// GOMAXPROCS goroutines, on which the samples do not depend. progress, if not
// nil, is called now and then with the steps taken over all chains and their
// total, never concurrently.
//
// ErrDiverged errors are a *DivergedError, which says when a coefficient was
// not finite. dst must not be used after an error.
func EulerMaruyamaFunc(
	ctx context.Context, dst []float32, drift, diffusion Func, s Scheme, seed, function uint64, purpose string,
	progress func(done, total int),
) error {
	perChain, err := s.samplesPerChain(len(dst))
	if err != nil {
		return err
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
	for first := 0; first < s.Chains; first += lanes {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			f := &functionStep{drift: drift, diffusion: diffusion, dt: s.DT, root: math.Sqrt(s.DT)}
			state := &chains[float64]{engine: engines[0], frame: natural, dim: 1, active: min(lanes, s.Chains-first)}
			advance := func(z []float32) bool { return f.advance(state.coordinate(0), z) }
			part := dst[first*perChain : (first+state.active)*perChain]
			err := state.run(ctx, part, s, first, stream{seed, purpose, function}, advance, tick)
			return f.explain(err)
		})
	}
	return group.Wait()
}

// functionStep steps one block of chains.
type functionStep struct {
	drift, diffusion Func
	dt, root         float64
	b, sigma         [lanes]float64
}

func (f *functionStep) advance(x []float64, z []float32) bool {
	b, sigma := f.b[:len(x)], f.sigma[:len(x)]
	for ; len(z) >= lanes; z = z[lanes:] {
		f.drift(b, x)
		f.diffusion(sigma, x)
		noise := z[:len(x)]
		for l, v := range x {
			x[l] = v + (float64(b[l]*f.dt) + float64(float64(sigma[l]*f.root)*float64(noise[l])))
		}
	}
	return bounded(x, bound)
}

// explain adds to a divergence which coefficient was not finite.
func (f *functionStep) explain(err error) error {
	var diverged *DivergedError
	if !errors.As(err, &diverged) {
		return err
	}
	for _, c := range []struct {
		name string
		of   Func
	}{{"drift", f.drift}, {"diffusion", f.diffusion}} {
		at, value := []float64{diverged.From}, []float64{0}
		c.of(value, at)
		if math.IsNaN(value[0]) || math.IsInf(value[0], 0) {
			diverged.Reason = fmt.Sprintf("the %s is %v at x = %.6g", c.name, value[0], diverged.From)
			return diverged
		}
	}
	return diverged
}
