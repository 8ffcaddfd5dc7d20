package evaluate

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/gibbs"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// ReferenceEnergy says by how much steps of MALA from the references of particles change the mean energy.
// MALA keeps the law, whatever its steps are, so that the energies of draws of the law stay as they are.
// A change is the error of the time step of the references, or a burn-in that was too short. Chains that
// have not mixed need not show.
type ReferenceEnergy struct {
	Off     int     `json:"off"`     // functions whose energies change by more than mostChanged, and beyond chance
	Median  float64 `json:"median"`  // of the changes, without signs, in standard deviations of a function's energy
	Largest float64 `json:"largest"` // with its sign
}

const (
	mostChanged   = 0.1 // standard deviations of the energy
	checkedFrom   = 512 // states of a function from which steps are taken, at most
	checkedSteps  = 2000
	energyPurpose = "evaluate/reference energy"
	chance        = 1e-3 // that one function of the law counts as off
)

// referenceEnergy is nil for other families than particles, and where the samples do not show from which chain
// they are.
func (o Options) referenceEnergy(ctx context.Context, f family.Family, functions []heldOutFunction) (*ReferenceEnergy, error) {
	chains := o.referenceChains(f)
	if _, ok := functions[0].function.System.(sde.Particles); !ok || chains < 2 {
		return nil, nil
	}
	changes, off := make([]float64, len(functions)), make([]bool, len(functions))
	err := simulate.Each(ctx, len(functions), func(ctx context.Context, i int) (err error) {
		changes[i], off[i], err = o.changeOfEnergy(ctx, functions[i], chains)
		return err
	}, nil)
	if err != nil {
		return nil, err
	}
	var r ReferenceEnergy
	sizes := make([]float64, len(changes))
	for i, c := range changes {
		if sizes[i] = math.Abs(c); sizes[i] >= math.Abs(r.Largest) {
			r.Largest = c
		}
		if off[i] {
			r.Off++
		}
	}
	r.Median = median(sizes)
	return &r, nil
}

// changeOfEnergy is that of a function, in deviations of its energy, and whether it is off.
func (o Options) changeOfEnergy(ctx context.Context, f heldOutFunction, chains int) (change float64, off bool, err error) {
	p := f.function.System.(sde.Particles)
	width := p.Dim()
	perChain := len(f.reference) / width / chains
	every := max(perChain*chains/checkedFrom, 1)
	var x []float32
	for chain := range chains {
		for j := perChain - 1; j >= 0; j -= every {
			x = append(x, f.reference[(chain*perChain+j)*width:][:width]...)
		}
	}
	law, engine, d := gibbs.NewParticles(p), simulate.Fastest(), o.Experiment.Data
	before := law.Energies(x)
	dt, err := engine.AcceptedStep(ctx, x, p, d.Reference.DT, d.Seed, uint64(f.index), energyPurpose)
	if err == nil {
		_, err = engine.Adjust(ctx, x, p, dt, checkedSteps, d.Seed, uint64(f.index), energyPurpose)
	}
	if err != nil {
		return 0, false, fmt.Errorf("steps from the reference of function %d: %w", f.index, err)
	}
	after := law.Energies(x)
	means := make([]float64, chains) // of the changes
	of := len(after) / chains
	for i := range after {
		means[i/of] += (after[i] - before[i]) / float64(of)
	}
	mean, deviation := stat.MeanStdDev(means, nil)
	size := stat.StdDev(after, nil)
	t := math.Abs(mean) / stat.StdErr(deviation, float64(chains))
	bound := distuv.StudentsT{Sigma: 1, Nu: float64(chains - 1)}.Quantile(1 - chance/2)
	return mean / size, t > bound && math.Abs(mean) > mostChanged*size, nil
}

// note says it in a sentence.
func (r ReferenceEnergy) note(functions int) string {
	said := "of no function beyond chance and by more than"
	if r.Off > 0 {
		said = fmt.Sprintf("of %d of %d functions beyond chance and by more than", r.Off, functions)
	}
	text := fmt.Sprintf("Steps of MALA from the references, which keep the law, change the mean energy %s %g of its deviations; by %s in the median over functions, and by %+.2g at most.",
		said, mostChanged, significant(r.Median), r.Largest)
	if r.Off > 0 {
		text += " Those references are not of the law, by the error of their time step or their burn-in (docs/limits.md)."
	}
	return text
}
