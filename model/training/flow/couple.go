package flow

import (
	"context"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/model/training/assignment"
)

// Coupling is the joint law of noise and samples within a function.
type Coupling string

const (
	OptimalTransport Coupling = "ot"          // minibatch optimal transport: see Coupler
	Independent      Coupling = "independent" // as drawn
	// Quantile is the monotone coupling by ranks among all stored samples of the
	// function, on the line: see quantiles.
	Quantile Coupling = "quantile"
	// Particles pairs the particles of the noise with those of the sample: within a state,
	// optimal transport among equal particles in the plane. States stay as they were drawn.
	Particles Coupling = "particles"
)

// Couplings lists the known ones.
func Couplings() []Coupling { return []Coupling{OptimalTransport, Independent, Quantile, Particles} }

// Coupler pairs noise and samples optimally within each function: of all
// pairings of its S points, one with the least sum of squared distances
// (minibatch optimal transport). Both marginals are unchanged. The order of the
// pairs has no meaning, since t is drawn independently.
//
// It keeps memory between batches and is for one goroutine; its result is a
// function of the points alone, whatever the number of threads.
type Coupler struct {
	dimension int
	solver    assignment.BatchSolver
	match     []int32
	moved     []float32
}

// NewCoupler makes a coupler of points in that dimension.
func NewCoupler(dimension int) *Coupler { return &Coupler{dimension: dimension} }

// Couple reorders x0 and x1, both [n, S, d] for n functions, in place. On the
// line both are sorted. In more dimensions x0 is brought into the order of its
// partners in x1 by exact assignments, solved on all processors. The error is
// the context's or one of assignment's, and x0 and x1 are then as before.
func (c *Coupler) Couple(ctx context.Context, samples int, x0, x1 []float32) error {
	size := samples * c.dimension
	if size < 1 || len(x0)%size != 0 || len(x1) != len(x0) {
		return fmt.Errorf("couple: %d and %d coordinates for functions of %d points in %d dimensions", len(x0), len(x1), samples, c.dimension)
	}
	if c.dimension == 1 {
		for lo := 0; lo < len(x0); lo += samples {
			slices.Sort(x0[lo : lo+samples])
			slices.Sort(x1[lo : lo+samples])
		}
		return ctx.Err()
	}
	c.match = slices.Grow(c.match[:0], len(x0)/c.dimension)[:len(x0)/c.dimension]
	if err := c.solver.Solve(ctx, assignment.Problems{N: samples, D: c.dimension, X: x1, Y: x0}, c.match); err != nil {
		return fmt.Errorf("couple: %w", err)
	}
	c.moved = append(c.moved[:0], x0...)
	for i, partner := range c.match {
		from := (i/samples*samples + int(partner)) * c.dimension
		copy(x0[i*c.dimension:(i+1)*c.dimension], c.moved[from:from+c.dimension])
	}
	return nil
}
