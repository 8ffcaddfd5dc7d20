package simulate

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Coupled runs chains by a scheme, without its tempering, and beside each one with half the time step along
// the same path of the noise: a step's normal numbers are (z₁ + z₂)/√2 of the two half steps in it. Where
// neighbouring paths approach each other, the two differ by the error of the step and by little chance, so
// that a few chains show a small error (Giles, Oper. Res. 56, 2008). It returns the states of both
// [Chains, perChain, Dim], at the same times.
func (e *Engine) Coupled(ctx context.Context, system sde.Space, s Scheme, perChain int, seed, function uint64, purpose string) (whole, half []float32, err error) {
	s.Tempering = Tempering{}
	coarse, err := newCloud(e, system, s.Integrator, s.Tempering, s.DT)
	if err != nil {
		return nil, nil, fmt.Errorf("function %d: %w", function, err)
	}
	fine, err := newCloud(e, system, s.Integrator, s.Tempering, s.DT/2)
	if err != nil {
		return nil, nil, fmt.Errorf("function %d: %w", function, err)
	}
	size := perChain * system.Dim()
	whole, half = make([]float32, s.Chains*size), make([]float32, s.Chains*size)
	p := coupled{coarse, fine, make([][lanes]float32, system.Dim())}
	coarse.follows = p.sum
	for first := 0; first < s.Chains; first += lanes {
		coarse.active = min(lanes, s.Chains-first)
		fine.active = coarse.active
		at, end := first*size, (first+fine.active)*size
		if err := p.run(ctx, whole[at:end], half[at:end], s, first, perChain, stream{seed, purpose, function}); err != nil {
			return nil, nil, err
		}
	}
	return whole, half, nil
}

// coupled are chains and those with half their time step.
type coupled struct {
	coarse, fine *cloud
	sum          [][lanes]float32 // normals of a step of coarse
}

func (p coupled) run(ctx context.Context, whole, half []float32, s Scheme, first, perChain int, stream stream) error {
	if err := p.fine.open(s, first, stream); err != nil {
		return err
	}
	for k, x := range p.fine.x {
		*p.coarse.x[k] = *x
	}
	p.coarse.stream, p.coarse.first = p.fine.stream, p.fine.first
	p.fine.steps.begin(p.fine)
	copy(p.sum, p.fine.z)
	p.coarse.steps.begin(p.coarse)
	for j, step, next := 0, 0, s.BurnIn; j < perChain; j, next = j+1, next+s.Thin {
		for ; step < next; step++ {
			if err := ctx.Err(); step%pollEvery == 0 && err != nil {
				return err
			}
			if err := p.move(stream, first, step); err != nil {
				return err
			}
		}
		p.coarse.sample(whole, j, perChain)
		p.fine.sample(half, j, perChain)
	}
	return nil
}

// move takes two half steps, and the whole one with the sum of their noise.
func (p coupled) move(stream stream, first, step int) error {
	clear(p.sum)
	for i := range 2 {
		if k := p.fine.move(); k >= 0 {
			return p.fine.explain(stream, first, 2*step+i, k)
		}
		for k := range p.sum {
			for l, z := range p.fine.z[k] {
				p.sum[k][l] += z / math.Sqrt2
			}
		}
	}
	if k := p.coarse.move(); k >= 0 {
		return p.coarse.explain(stream, first, step, k)
	}
	return nil
}
