// Package flow makes the batches of flow matching. A straight path x_t = (1−t)x₀ + t·x₁
// leads from noise x₀ ~ N(0,I) to a sample x₁ of the invariant measure. At a time
// t ~ U[0,1], or of another law, the network's velocity is fitted to x₁ − x₀.
package flow

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/sets/batch"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Batch is a micro-batch of n functions with S samples each, row-major.
type Batch struct {
	Functions int // n
	Samples   int // S
	Dim       int // d

	Inputs [][]float32 // of the network, standardised, each [n, shape of the input…]
	X0, X1 []float32   // [n, S, d], in the flow's coordinates
	T      []float32   // [n, S]
	// Points, when not zero, is J: the functions share the states X and times T, both [J],
	// and are fitted to Velocity there with Weight, both [n, J]. X0 and X1 are what these
	// were made of. See points.
	Points           int
	X                []float32
	Velocity, Weight []float32
	// Uses accounts for what was taken of each function.
	Uses []ledger.Use

	subjects []Subject   // of functions whose inputs are still to be made
	fields   [][]float32 // theirs, one after the other
}

// Validate reports lengths that do not agree with the sizes.
func (b *Batch) Validate() error {
	if b.Functions < 1 || b.Samples < 1 || b.Dim < 1 {
		return fmt.Errorf("batch of %d functions, %d samples in %d dimensions", b.Functions, b.Samples, b.Dim)
	}
	for k, values := range b.Inputs {
		if len(values) == 0 || len(values)%b.Functions != 0 {
			return fmt.Errorf("batch has %d values of input %d for %d functions", len(values), k, b.Functions)
		}
	}
	samples := b.Functions * b.Samples
	if len(b.X0) != samples*b.Dim || len(b.X1) != samples*b.Dim {
		return fmt.Errorf("batch has %d x0, %d x1 of %d samples in %d dimensions", len(b.X0), len(b.X1), samples, b.Dim)
	}
	if n := b.Points; n > 0 {
		if len(b.X) != n*b.Dim || len(b.T) != n || len(b.Velocity) != b.Functions*n*b.Dim || len(b.Weight) != b.Functions*n {
			return fmt.Errorf("batch has %d x, %d t, %d velocities, %d weights of %d functions at %d points in %d dimensions",
				len(b.X), len(b.T), len(b.Velocity), len(b.Weight), b.Functions, n, b.Dim)
		}
		return nil
	}
	if len(b.T) != samples {
		return fmt.Errorf("batch has %d t of %d samples", len(b.T), samples)
	}
	return nil
}

// Reset empties the batch for functions of that many samples in that dimension,
// and a network with that many inputs. Its memory is used again.
func (b *Batch) Reset(samples, dim, inputs int) {
	b.Functions, b.Samples, b.Dim = 0, samples, dim
	if len(b.Inputs) != inputs {
		b.Inputs = make([][]float32, inputs)
	}
	for k := range b.Inputs {
		b.Inputs[k] = b.Inputs[k][:0]
	}
	b.X0, b.X1, b.T, b.Uses = b.X0[:0], b.X1[:0], b.T[:0], b.Uses[:0]
	b.Points, b.X, b.Velocity, b.Weight = 0, b.X[:0], b.Velocity[:0], b.Weight[:0]
	b.subjects, b.fields = b.subjects[:0], b.fields[:0]
}

// Assembler fills batches. The result for a pick depends on the plan, the conditioner
// and the shard alone, not on the worker. An Assembler is for one goroutine.
type Assembler struct {
	Times  Times // law of t; the zero value is Uniform
	Frame  Frame // of X0 and X1; the empty one is that of the stored samples
	Points int   // Batch.Points; only with Quantile

	plan        batch.Plan
	dim         int
	conditioner Conditioner
	coupler     *Coupler   // of whole batches, with OptimalTransport and Particles
	coupled     int        // points that it pairs among one another
	quantiles   *quantiles // of each pick, with Quantile
	points      points     // of each step, with Points
	indices     []int32
	hasher      ledger.Hasher
	source      rand.PCG
	random      *rand.Rand
}

// NewAssembler makes an assembler of the plan's batches: samples of dim numbers,
// inputs by the conditioner, coupled to noise in that way. Quantile is for
// samples of one number, Particles for those of particles in the plane.
func NewAssembler(plan batch.Plan, dim int, coupling Coupling, conditioner Conditioner) *Assembler {
	a := &Assembler{plan: plan, dim: dim, conditioner: conditioner, indices: make([]int32, plan.BatchSamples)}
	switch coupling {
	case OptimalTransport:
		a.coupler, a.coupled = NewCoupler(dim), plan.BatchSamples
	case Particles:
		const plane = 2
		a.coupler, a.coupled = NewCoupler(plane), dim/plane
	case Quantile:
		a.quantiles = new(quantiles)
	}
	a.random = rand.New(&a.source)
	return a
}

// Append adds the picks of an open shard to the batch, after Reset with the
// plan's BatchSamples. Complete does the rest.
func (a *Assembler) Append(dst *Batch, s *shard.Shard, picks []batch.Pick) {
	for _, pick := range picks {
		first := len(dst.fields)
		for k := range s.Fields() {
			dst.fields = append(dst.fields, s.Field(k, pick.Function))
		}
		dst.subjects = append(dst.subjects, Subject{
			Index:    s.First() + pick.Function,
			Function: family.Function{Fields: dst.fields[first:len(dst.fields):len(dst.fields)]},
		})

		samples := s.Samples(pick.Function)
		a.plan.Block(pick, a.indices)
		hi, lo := random.Key(a.plan.Seed, "flow", uint64(pick.Global), uint64(pick.Pass))
		a.source.Seed(hi, lo)
		if a.quantiles != nil {
			dst.X0, dst.X1 = a.quantiles.pair(dst.X0, dst.X1, samples, a.indices, a.random)
			if a.Points == 0 { // otherwise the step has times, not the pick
				for range a.indices {
					dst.T = append(dst.T, a.Times.draw(a.random))
				}
			}
		} else {
			a.draw(dst, samples)
		}
		dst.Uses = append(dst.Uses, ledger.Use{Shard: s.Manifest().Shard, Word: a.hasher.Word(s.First()+pick.Function, a.indices)})
		dst.Functions++
	}
}

// standardise turns the samples into the flow's coordinates.
func (a *Assembler) standardise(ctx context.Context, b *Batch) error {
	if _, ok := own(a.conditioner); !ok {
		a.Frame.Standardise(b.X1)
		return nil
	}
	width := b.Samples * a.dim
	return simulate.Each(ctx, len(b.subjects), func(_ context.Context, i int) error {
		return Standardise(a.conditioner, a.Frame, b.subjects[i], b.X1[i*width:(i+1)*width])
	}, nil)
}

// draw appends the block of the stored samples, with independent noise.
func (a *Assembler) draw(dst *Batch, samples []float32) {
	for _, i := range a.indices {
		dst.X1 = append(dst.X1, samples[int(i)*a.dim:(int(i)+1)*a.dim]...)
		for range a.dim {
			dst.X0 = append(dst.X0, float32(a.random.NormFloat64()))
		}
		dst.T = append(dst.T, a.Times.draw(a.random))
	}
}

// Complete makes the inputs of a batch of that step to which all picks were added, pairs
// its noise with its samples and fits them at shared points. In steady state it allocates
// little more than the conditioner does.
func (a *Assembler) Complete(ctx context.Context, b *Batch, step int) error {
	if err := a.conditioner.Condition(ctx, b.Inputs, b.subjects); err != nil {
		return err
	}
	if err := a.standardise(ctx, b); err != nil {
		return err
	}
	b.subjects, b.fields = b.subjects[:0], b.fields[:0]
	if a.Points > 0 {
		a.share(b, step)
	}
	if a.coupler == nil {
		return ctx.Err()
	}
	return a.coupler.Couple(ctx, a.coupled, b.X0, b.X1)
}

// share fits every function of a batch at the points of the step.
func (a *Assembler) share(b *Batch, step int) {
	a.points.draw(a.plan.Seed, step, a.Points, a.Times)
	b.Points, b.X, b.T = a.Points, append(b.X, a.points.x...), append(b.T, a.points.t...)
	for lo := 0; lo < len(b.X0); lo += b.Samples {
		hi := lo + b.Samples
		b.Velocity, b.Weight = a.points.fit(b.Velocity, b.Weight, b.X0[lo:hi], b.X1[lo:hi])
	}
}
