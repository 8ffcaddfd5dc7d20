package wells

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

const (
	// calm is how many steps of the drift bring states to rest, and as many again show whether they are.
	// Each is as long as longer steps of a chain: without noise nothing but stability bounds them.
	calm   = 100
	longer = 20
	// Where that is unstable steps are refined times as long, in up to so many attempts.
	refined  = 0.25
	attempts = 3
)

// rest are states [n, Dim] that the drift has led for calm steps, and for as many again.
type rest struct{ once, twice []float32 }

// led are copies of states that the drift leads, dx = b(x)dt, where chains take steps of dt.
func led(ctx context.Context, s sde.Space, x []float32, dt float64) (r rest, err error) {
	h := longer * dt
	for range attempts {
		if r, err = ledBy(ctx, s, x, h); !errors.Is(err, simulate.ErrDiverged) {
			break
		}
		h *= refined
	}
	return r, err
}

// ledBy takes steps of h.
func ledBy(ctx context.Context, s sde.Space, x []float32, h float64) (rest, error) {
	domain, d := s.Domain, s.Dim()
	s = lift.Of(quiet(s))
	r := rest{make([]float32, len(x)), make([]float32, len(x))}
	size := sde.Lanes * d
	err := simulate.Each(ctx, (len(x)+size-1)/size, func(_ context.Context, block int) error {
		from, to := block*size, min((block+1)*size, len(x))
		states := newRungeKutta(s, h)
		for at, v := range x[from:to] {
			states.x[at%d][at/d] = lift.Up(domain.At(at%d), float64(v))
		}
		for _, ends := range [][]float32{r.once, r.twice} {
			for range calm {
				states.step((to - from) / d)
			}
			for at := range ends[from:to] {
				v := lift.Down(domain.At(at%d), states.x[at%d][at/d])
				if !(math.Abs(v) <= math.MaxFloat32) {
					return fmt.Errorf("the drift without noise: %w", simulate.ErrDiverged)
				}
				ends[from+at] = float32(v)
			}
		}
		return nil
	}, nil)
	return r, err
}

// quiet is the equation without noise.
func quiet(s sde.Space) sde.Space {
	still := s
	still.Terms, still.Noise = 1, sde.AdditiveNoise
	still.Bind = func(engine string, x []*[sde.Lanes]float64) (func(int), []*[sde.Lanes]float64, []*[sde.Lanes]float64) {
		evaluate, drift, _ := s.Bind(engine, x)
		return evaluate, drift, []*[sde.Lanes]float64{new([sde.Lanes]float64)}
	}
	return still
}

// rungeKutta are states x that the drift leads by steps of h of the classical method of order 4.
type rungeKutta struct {
	h             float64
	x, at, change []*[sde.Lanes]float64
	drift         []*[sde.Lanes]float64 // at the states at
	evaluate      func(n int)
}

func newRungeKutta(s sde.Space, h float64) *rungeKutta {
	r := &rungeKutta{h: h, x: s.Blocks(), at: s.Blocks(), change: s.Blocks()}
	r.evaluate, r.drift, _ = s.Bind("", r.at)
	return r
}

// step moves the first n states.
func (r *rungeKutta) step(n int) {
	for k, x := range r.x {
		copy(r.at[k][:n], x[:n])
		clear(r.change[k][:n])
	}
	for _, stage := range [4]struct{ weight, next float64 }{{1. / 6, 0.5}, {1. / 3, 0.5}, {1. / 3, 1}, {1. / 6, 0}} {
		r.evaluate(n)
		for k, x := range r.x {
			for l, b := range r.drift[k][:n] {
				r.change[k][l] += float64(stage.weight * b)
				r.at[k][l] = x[l] + float64(stage.next*r.h*b)
			}
		}
	}
	for k, x := range r.x {
		for l, v := range r.change[k][:n] {
			x[l] += float64(r.h * v)
		}
	}
}
