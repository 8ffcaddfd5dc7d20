package wells

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/ergoflow/ergoflow/data/equations/gibbs"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/sampling/repair"
)

// Melted compares the energies 2V/Noise² of samples of particles, V in units of the temperature, with those of
// chains from some of the samples that exchange states with replicas at higher temperatures: hot replicas leave
// the places that keep a chain for longer than it runs.
type Melted struct {
	Have, Deviation float64 // of the samples
	Law             float64 // the mean of the chains, after a while
	Error           float64 // standard error of Law − Have
}

const (
	tempered = 16   // samples at which chains begin
	weighed  = 4096 // samples whose energies are compared, at most
	exchange = 6000 // steps with exchanges
)

// Melt compares samples x [n, Dim] of particles with chains that have replicas. The samples are worth that many
// independent draws. The chains have the same noise for all samples.
func Melt(ctx context.Context, p sde.Particles, x []float32, effective float64) (m Melted, err error) {
	d := p.Dim()
	have := gibbs.NewParticles(p).Energies(some(x, d, weighed))
	m.Have, m.Deviation = stat.MeanStdDev(have, nil)
	from := slices.Clone(some(x, d, tempered))
	walked, err := repair.Run(ctx, from, repair.Equation{System: p}, repair.Options{Steps: walk, Seed: seed}, nil)
	if err != nil {
		return m, fmt.Errorf("from the samples: %w", err)
	}
	means, _, err := simulate.Fastest().Temper(ctx, from, p, repair.Coarser*walked.DT, repair.Ladder, repair.Melting, exchange, seed, 0, "wells")
	if err != nil {
		return m, err
	}
	var spread float64
	m.Law, spread = stat.MeanStdDev(means, nil)
	m.Error = math.Hypot(stat.StdErr(spread, float64(len(means))), stat.StdErr(m.Deviation, min(effective, float64(len(have)))))
	return m, nil
}
