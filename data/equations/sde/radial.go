package sde

import (
	"fmt"
	"math"
)

// RadialForce is f as a function of r²: a cubic on each of 31 cells of
//
//	t = 1 + Scale()·(r² − Core²),  Core ≤ r < Range ⇔ 1 ≤ t < 3·2¹⁴
//
// and zero elsewhere. Cell k holds the half-octave 2^⌊k/2⌋·[1, 3/2) or, for odd k,
// 2^⌊k/2⌋·[3/2, 2). So cells are small where forces are steep, and the exponent and the
// first bit of the mantissa of float32(t) give k:
//
//	k = (bits(t) − bits(1)) >> 22
//
// As an unsigned number it is at least 31 for every t outside.
type RadialForce struct {
	Core  float64                // no force below this r, as where a potential is capped; 0 for none
	Range float64                // no force from this r on
	Cells [ForceCells][4]float32 // c₀…c₃ of f = c₀ + c₁t + c₂t² + c₃t³
}

// ForceCells is the number of cells of a RadialForce.
const ForceCells = 31

// Bounds for Range, so that squares of distances in units of it are float32s.
const minRange, maxRange = 1e-6, 1e6

// last is t at the range.
const last = 3 << 14

// Tabulate interpolates f(r²) for core ≤ r < reach at the four Chebyshev nodes
// of every cell. f should not jump inside: put core where a potential is capped, and
// reach where it is cut off or f·r is small. For the pair potentials of the paper, errors
// of the force f·r are below 3e-4 of its maximum. A singularity of f at r = 0 is rounded
// off within reach/300.
func Tabulate(f func(r2 float64) float64, core, reach float64) RadialForce {
	table := RadialForce{Core: core, Range: reach}
	for k := range table.Cells {
		half := math.Ldexp(0.25, k/2)
		centre := half * float64(5+2*(k%2))
		var t, c [4]float64 // nodes; values, then divided differences
		for i := range t {
			t[i] = centre + half*math.Cos(math.Pi*(float64(i)+0.5)/4)
			c[i] = f(core*core + (t[i]-1)/table.Scale())
		}
		for order := 1; order < 4; order++ {
			for i := 3; i >= order; i-- {
				c[i] = (c[i] - c[i-1]) / (t[i] - t[i-order])
			}
		}
		for i := 2; i >= 0; i-- { // from Newton's form to powers of t
			for j := i; j < 3; j++ {
				c[j] -= t[i] * c[j+1]
			}
		}
		for i, v := range c {
			table.Cells[k][i] = float32(v)
		}
	}
	return table
}

// Scale is dt/d(r²).
func (f RadialForce) Scale() float64 { return (last - 1) / (f.Range*f.Range - f.Core*f.Core) }

// At is f(r²).
func (f RadialForce) At(r2 float64) float64 {
	t, k := f.cell(r2)
	if k < 0 || k == ForceCells {
		return 0
	}
	return cubic(f.Cells[k], t)
}

// cell has t and its cell at r²: −1 inside the core, ForceCells from the range on and for no number.
func (f RadialForce) cell(r2 float64) (t float64, k int) {
	t = 1 + f.Scale()*(r2-f.Core*f.Core)
	switch {
	case t < 1:
		return t, -1
	case !(t < last):
		return t, ForceCells
	}
	mantissa, exponent := math.Frexp(t) // t = mantissa·2^exponent, ½ ≤ mantissa < 1
	k = 2 * (exponent - 1)
	if mantissa >= 0.75 {
		k++
	}
	return t, k
}

// cellStart is the lower end of a cell.
func cellStart(k int) float64 { return math.Ldexp(1+0.5*float64(k%2), k/2) }

func cubic(c [4]float32, t float64) float64 {
	return float64(c[0]) + t*(float64(c[1])+t*(float64(c[2])+t*float64(c[3])))
}

// Validate reports a range or core out of bounds and numbers that are not
// finite (ErrNotFinite).
func (f RadialForce) Validate() error {
	switch {
	case !(f.Range >= minRange && f.Range <= maxRange):
		return fmt.Errorf("pair force has range %v, want %g to %g", f.Range, minRange, maxRange)
	case !(f.Core >= 0 && f.Core < f.Range):
		return fmt.Errorf("pair force has a core of %v, want at least 0 and less than its range %v", f.Core, f.Range)
	}
	for k, cell := range f.Cells {
		for _, c := range cell {
			if !finite(c) {
				return fmt.Errorf("pair force has the coefficient %v in cell %d: %w", c, k, ErrNotFinite)
			}
		}
	}
	return nil
}
