package certificate

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/sampling/wells"
)

// ByTable judges by the coefficients of a table, and by its law, if it can be integrated.
func ByTable(c sde.Coefficients) Subject {
	s := Subject{Equation: OfTable(c), Unlearned: math.NaN()}
	if tabulated, err := density.New(c); err == nil {
		s.Law = OfDensity(tabulated)
	}
	return s
}

// ByFunction judges samples of function i of a family, which is that system. Laws at a time have
// no Subject: they are not invariant.
func ByFunction(f family.Family, seed uint64, i int, system sde.System) Subject {
	s := Subject{Unlearned: math.NaN()}
	switch system := system.(type) {
	case sde.Coefficients:
		s = ByTable(system)
	case sde.Plane:
		plane := OfPlane(system)
		s.Equation, s.Wells = plane, wells.For(plane.Space(system.X))
	case sde.Particles:
		s.Equation = Particles{Particles: system}
	case sde.Space:
		s.Equation, s.Wells = Space{Space: system}, wells.For(system)
	}
	known, ok := f.(family.KnownLaw)
	if !ok {
		return s
	}
	law, err := known.Law(seed, i)
	if err != nil {
		return s
	}
	// A law that is not that of its table, as of rare1d, does not keep the table's Lf.
	if _, ok := law.(*density.Density); !ok {
		s.Law, s.Equation = OfQuantiles(law.Quantile), nil
	}
	return s
}
