// Package flow makes the batches of flow matching: along the straight path
// x_t = (1−t)x₀ + t·x₁ from noise x₀ ~ N(0,1) to a sample x₁ of the invariant
// measure, at a time t ~ U[0,1], the velocity field is to be x₁ − x₀.
package flow

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/ergoflow/ergoflow/data/batch"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/shard"
)

// Batch is a micro-batch of n functions with S samples each, row-major.
type Batch struct {
	Functions int // n
	Samples   int // S
	Grid      int // G

	Drift, Diffusion []float32 // [n, G], normalised
	X0, X1, T        []float32 // [n, S]
}

// Validate reports lengths that do not agree with the sizes.
func (b *Batch) Validate() error {
	if b.Functions < 1 || b.Samples < 1 || b.Grid < 1 {
		return fmt.Errorf("batch of %d functions, %d samples, %d nodes", b.Functions, b.Samples, b.Grid)
	}
	coefficients, samples := b.Functions*b.Grid, b.Functions*b.Samples
	if len(b.Drift) != coefficients || len(b.Diffusion) != coefficients {
		return fmt.Errorf("batch has %d drift and %d diffusion values instead of %d", len(b.Drift), len(b.Diffusion), coefficients)
	}
	if len(b.X0) != samples || len(b.X1) != samples || len(b.T) != samples {
		return fmt.Errorf("batch has %d x0, %d x1, %d t instead of %d", len(b.X0), len(b.X1), len(b.T), samples)
	}
	return nil
}

// Reset empties the batch for functions of that many samples and nodes. Its
// memory is used again.
func (b *Batch) Reset(samples, grid int) {
	b.Functions, b.Samples, b.Grid = 0, samples, grid
	b.Drift, b.Diffusion = b.Drift[:0], b.Diffusion[:0]
	b.X0, b.X1, b.T = b.X0[:0], b.X1[:0], b.T[:0]
}

// Assembler fills batches. What it makes of a pick is a function of plan,
// normalisation and the shard alone, whatever worker does it. An Assembler is
// for one goroutine.
type Assembler struct {
	plan          batch.Plan
	normalisation shard.Normalisation
	coupler       *Coupler
	indices       []int32
	source        rand.PCG
	random        *rand.Rand
}

// NewAssembler makes an assembler for the plan.
func NewAssembler(plan batch.Plan, normalisation shard.Normalisation) *Assembler {
	a := &Assembler{plan: plan, normalisation: normalisation, coupler: NewCoupler(dimension), indices: make([]int32, plan.BatchSamples)}
	a.random = rand.New(&a.source)
	return a
}

// dimension of the samples that shards hold.
const dimension = 1

// Append adds the picks of an open shard to the batch, after Reset with the
// plan's BatchSamples. In steady state it does not allocate. Couple completes
// the batch.
func (a *Assembler) Append(dst *Batch, s *shard.Shard, picks []batch.Pick) {
	for _, pick := range picks {
		drift, diffusion, samples := s.Drift(pick.Function), s.Diffusion(pick.Function), s.Samples(pick.Function)
		dst.Drift = standardise(dst.Drift, drift, a.normalisation.DriftMean, a.normalisation.DriftStd)
		dst.Diffusion = standardise(dst.Diffusion, diffusion, a.normalisation.DiffusionMean, a.normalisation.DiffusionStd)

		a.plan.Block(pick, a.indices)
		for _, i := range a.indices {
			dst.X1 = append(dst.X1, samples[i])
		}
		hi, lo := random.Key(a.plan.Seed, "flow", uint64(pick.Global), uint64(pick.Pass))
		a.source.Seed(hi, lo)
		for range a.indices {
			dst.X0 = append(dst.X0, float32(a.random.NormFloat64()))
			dst.T = append(dst.T, float32(a.random.Float64()))
		}
		dst.Functions++
	}
}

// Couple pairs noise and samples of a batch to which all picks were added.
func (a *Assembler) Couple(ctx context.Context, b *Batch) error {
	return a.coupler.Couple(ctx, b.Samples, b.X0, b.X1)
}

// Normalise returns the coefficients of one function as networks see them.
func Normalise(drift, diffusion []float32, n shard.Normalisation) (normalDrift, normalDiffusion []float32) {
	return standardise(nil, drift, n.DriftMean, n.DriftStd), standardise(nil, diffusion, n.DiffusionMean, n.DiffusionStd)
}

// standardise appends (value − mean)/std of every value to dst.
func standardise(dst, values []float32, mean, std float64) []float32 {
	scale := 1 / std
	for _, value := range values {
		dst = append(dst, float32((float64(value)-mean)*scale))
	}
	return dst
}
