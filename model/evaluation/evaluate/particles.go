package evaluate

import (
	"fmt"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/model/evaluation/observables"
)

// Observables compares the particles of a row with those of the reference, for
// one function.
type Observables struct {
	FeatureW2   float64              `json:"feature_w2"`   // sliced W2 of features, in standard deviations of the reference
	RadialError float64              `json:"radial_error"` // L² distance of g(r)
	MarginalKL  float64              `json:"marginal_kl"`  // of a particle's coordinate, nats
	Energy      observables.Energies `json:"energy"`
}

// ObservableSummary summarises observables over functions. Relative energies are of
// each function by itself. Where a mean energy is near zero they say little; compare
// the pooled ones instead.
type ObservableSummary struct {
	FeatureW2          Statistic         `json:"feature_w2"`
	RadialError        Statistic         `json:"radial_error"`
	MarginalKL         Statistic         `json:"marginal_kl"`
	EnergyKS           Statistic         `json:"energy_ks"`
	EnergyMeanRelative Statistic         `json:"energy_mean_relative"`
	EnergyStdRelative  Statistic         `json:"energy_std_relative"`
	Pooled             PooledObservables `json:"pooled"`
}

// PooledObservables compares all states of all functions at once.
type PooledObservables struct {
	RadialError float64              `json:"radial_error"`
	MarginalKL  float64              `json:"marginal_kl"`
	Energy      observables.Energies `json:"energy"`
}

func (d FunctionResult) observables() Observables {
	if d.Observables == nil {
		return Observables{}
	}
	return *d.Observables
}

func (s Summary) observables() ObservableSummary {
	if s.Observables == nil {
		return ObservableSummary{}
	}
	return *s.Observables
}

// observe computes the observables of the reference, for a function with particles.
func (f *heldOutFunction) observe(potential family.Potential) (err error) {
	f.potential = &potential
	f.observed, err = f.particles(f.reference)
	return err
}

// particles computes the observables of states of f. Its frame has one scale, since all
// coordinates are positions.
func (f heldOutFunction) particles(states []float32) (*observables.Observed, error) {
	return observables.Observe(states, f.function.System.Dim()/2, f.frame.Scale(0), f.potential.Energy)
}

// observables compares states x with the reference of f. It returns the observables
// of x, with the features of rankedAmong states: the sums over functions need none.
func (f heldOutFunction) observables(x []float32) (*Observables, *observables.Observed, error) {
	observed, err := f.particles(x)
	if err != nil {
		return nil, nil, err
	}
	var o Observables
	if o.FeatureW2, err = observables.FeatureDistance(f.observed, observed, 0); err != nil {
		return nil, nil, err
	}
	if o.RadialError, err = observables.RadialError(&f.observed.Radial, &observed.Radial); err != nil {
		return nil, nil, err
	}
	if o.MarginalKL, err = observables.MarginalKL([][]float32{f.reference}, [][]float32{x}, observed.Particles); err != nil {
		return nil, nil, err
	}
	if o.Energy, err = observables.CompareEnergies([][]float32{f.observed.Energies}, [][]float32{observed.Energies}); err != nil {
		return nil, nil, err
	}
	observed.Thin(rankedAmong)
	return &o, observed, nil
}

// pool compares all samples of a row, by their observables, with the references of its
// functions.
func pool(functions []heldOutFunction, samples [][]float32, observed []*observables.Observed) (PooledObservables, error) {
	var states, reference, model [][]float32
	var target, own observables.RadialHistogram
	for i, f := range functions {
		states = append(states, f.reference)
		reference, model = append(reference, f.observed.Energies), append(model, observed[i].Energies)
		target.Add(f.observed.Radial)
		own.Add(observed[i].Radial)
	}
	var p PooledObservables
	var err error
	if p.RadialError, err = observables.RadialError(&target, &own); err != nil {
		return p, err
	}
	if p.MarginalKL, err = observables.MarginalKL(states, samples, observed[0].Particles); err != nil {
		return p, err
	}
	if p.Energy, err = observables.CompareEnergies(reference, model); err != nil {
		return p, fmt.Errorf("all functions: %w", err)
	}
	return p, nil
}

// kernels pools g(r) and energies by the kind of pair potential, in order of first
// appearance.
func kernels(functions []heldOutFunction, observed []*observables.Observed) []KernelKind {
	var all []KernelKind
	var target, own []observables.RadialHistogram
	place := map[string]int{}
	for i, f := range functions {
		k, ok := place[f.potential.Kernel]
		if !ok {
			k = len(all)
			place[f.potential.Kernel] = k
			all = append(all, KernelKind{Name: f.potential.Kernel, R: observables.RadialCentres()})
			target, own = append(target, observables.RadialHistogram{}), append(own, observables.RadialHistogram{})
		}
		all[k].Functions++
		target[k].Add(f.observed.Radial)
		own[k].Add(observed[i].Radial)
		all[k].ReferenceEnergies = append(all[k].ReferenceEnergies, f.observed.Energies...)
		all[k].ModelEnergies = append(all[k].ModelEnergies, observed[i].Energies...)
	}
	for k := range all {
		all[k].ReferenceG, all[k].ModelG = target[k].G(), own[k].G()
	}
	return all
}
