package sde

// RadialPotential is the exact integral of a RadialForce f, zero at its range and constant inside its core:
//
//	2·Scale()·U(r) = ∫ f dt from t to the range = Cells[k] − t(c₀ + t(c₁/2 + t(c₂/3 + tc₃/4))).
type RadialPotential struct {
	Force RadialForce
	Cells [ForceCells]float64 // the constant of every cell
	Core  float64             // the integral from the core on
}

// Potential is that of the force.
func (f RadialForce) Potential() *RadialPotential {
	p := &RadialPotential{Force: f}
	for k := ForceCells - 1; k >= 0; k-- {
		p.Cells[k] = p.Core + primitive(f.Cells[k], cellStart(k+1))
		p.Core = p.Cells[k] - primitive(f.Cells[k], cellStart(k))
	}
	return p
}

// At is U and f at r².
func (p *RadialPotential) At(r2 float64) (potential, force float64) {
	t, k := p.Force.cell(r2)
	switch {
	case k < 0:
		return p.Core / (2 * p.Force.Scale()), 0
	case k == ForceCells:
		return 0, 0
	}
	c := p.Force.Cells[k]
	return (p.Cells[k] - primitive(c, t)) / (2 * p.Force.Scale()), cubic(c, t)
}

// primitive is the integral of cubic from zero on. Its products are rounded before they are added, on every
// processor: samples of MALA depend on it.
func primitive(c [4]float32, t float64) float64 {
	return float64(t * (float64(c[0]) + float64(t*(float64(c[1])/2+float64(t*(float64(c[2])/3+float64(t*float64(c[3])/4)))))))
}
