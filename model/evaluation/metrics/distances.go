package metrics

import (
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/simulation/diagnostics"
	"github.com/ergoflow/ergoflow/model/training/assignment"
)

// Distances are the distances between two samples. A distance that these samples do not
// have, or that was not asked for, is nil.
type Distances struct {
	Points            [2]int   `json:"points"`
	Dimension         int      `json:"dimension"`
	Sinkhorn          float64  `json:"sinkhorn"`
	Backend           string   `json:"backend,omitempty"` // of sinkhorn
	SinkhornConverged *float64 `json:"sinkhorn_converged,omitempty"`
	SinkhornResidual  *float64 `json:"sinkhorn_residual,omitempty"`
	SinkhornReached   *bool    `json:"sinkhorn_reached,omitempty"`
	W2                *float64 `json:"w2,omitempty"`
	SlicedW2          float64  `json:"sliced_w2"`
	EnergyDistance    float64  `json:"energy_distance"`
	// MarginalW2 has the distance along each coordinate.
	MarginalW2 []float64 `json:"marginal_w2"`
	KS         *float64  `json:"ks,omitempty"`
	KSP        *float64  `json:"ks_p,omitempty"` // if draws are independent
	// EffectivePoints are the independent draws that the points are worth, by their order.
	EffectivePoints *[2]float64 `json:"effective_points,omitempty"`
	KSPEffective    *float64    `json:"ks_p_effective,omitempty"` // of so many draws
	// Warnings say which numbers are not what they seem.
	Warnings []string `json:"warnings,omitempty"`
}

// DistancesOptions say which distances to compute, and how.
type DistancesOptions struct {
	Sinkhorn   Options
	Converged  bool   // also iterate the Sinkhorn divergence to its fixed point
	Directions int    // of sliced W2 in more than one dimension
	Seed       uint64 // of the directions
	// Backend is the name of the backend on which Divergence computes the Sinkhorn
	// divergence. Both are zero for Reference.Sinkhorn.
	Backend    string
	Divergence func(x, y Cloud, o Options) (float64, error)
}

// NewDistances computes all distances that two samples have.
func NewDistances(first, second CloudOf[float64], o DistancesOptions) (d Distances, err error) {
	x, y, rounding, err := Centre(first, second)
	if err != nil {
		return d, err
	}
	d = Distances{Points: [2]int{x.N, y.N}, Dimension: x.D, Backend: o.Backend}
	if err := d.sinkhorn(x, y, o); err != nil {
		return d, err
	}
	sliced, err := OverDirections(x, y, o.Directions, o.Seed)
	if err != nil {
		return d, err
	}
	d.SlicedW2, d.EnergyDistance = sliced.W2, sliced.Energy
	if x.D == 1 {
		err = d.line(first.X, second.X)
	} else {
		err = d.space(x, y, o)
	}
	if err != nil {
		return d, err
	}
	if rounding > mostRounding*d.SlicedW2 && !slices.Equal(first.X, second.X) {
		d.warn("rounding to float32 moves the points: it changes sinkhorn, and in more than one dimension W2, as a W2 of up to %.2g does; sliced W2 is %.2g", rounding, d.SlicedW2)
	}
	return d, nil
}

// Bounds of warnings: mostRounding is the part of sliced W2 by which rounding may move points,
// and suspectP is a p-value from which one may conclude that the laws differ.
const (
	mostRounding = 0.01
	suspectP     = 0.05
)

func (d *Distances) warn(format string, args ...any) {
	d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...))
}

// sinkhorn computes the Sinkhorn divergence, and its fixed point if asked for.
func (d *Distances) sinkhorn(x, y Cloud, o DistancesOptions) (err error) {
	reference := NewReference(y)
	if o.Divergence != nil {
		d.Sinkhorn, err = o.Divergence(x, y, o.Sinkhorn)
	} else {
		d.Sinkhorn, err = reference.Sinkhorn(x, o.Sinkhorn)
	}
	if err != nil || !o.Converged {
		return err
	}
	c, err := reference.SinkhornConverged(x, ConvergedOptions{Blur: o.Sinkhorn.Blur})
	if err != nil {
		return err
	}
	d.SinkhornConverged, d.SinkhornResidual, d.SinkhornReached = &c.Value, &c.Residual, &c.Converged
	if !c.Converged {
		resolution := ""
		if o.Sinkhorn.Blur < c.FinestBlur {
			resolution = fmt.Sprintf("; float64 resolves no --blur below %.2g for points this far apart", c.FinestBlur)
		}
		d.warn("sinkhorn_converged has not converged: residual %.2g after %d iterations%s", c.Residual, c.Iterations, resolution)
	}
	return nil
}

// line computes the distances of samples in one dimension, where sliced W2 is W2.
func (d *Distances) line(x, y []float64) error {
	w2, err := W2(x, y)
	if err != nil {
		return err
	}
	ks, p, err := KS(x, y)
	if err != nil {
		return err
	}
	d.W2, d.SlicedW2, d.KS, d.KSP = &w2, w2, &ks, &p
	d.MarginalW2 = []float64{w2}
	worth := [2]float64{EffectiveSize(diagnostics.Of(x, 1), len(x)), EffectiveSize(diagnostics.Of(y, 1), len(y))}
	effective := KSEffectiveP(ks, p, d.Points, worth)
	d.EffectivePoints, d.KSPEffective = &worth, &effective
	if p < suspectP && (correlated(x, worth[0]) || correlated(y, worth[1])) {
		d.warn("ks_p is of independent draws, but in the order of the files the points are worth %.0f and %.0f: use ks_p_effective", worth[0], worth[1])
	}
	return nil
}

// correlated reports whether points are worth less than half as many independent draws.
func correlated(x []float64, worth float64) bool {
	return worth < 0.5*min(float64(len(x)), effectiveSizeBound)
}

// space computes the distances in more dimensions.
func (d *Distances) space(x, y Cloud, o DistancesOptions) (err error) {
	if d.MarginalW2, err = MarginalW2(x, y); err != nil {
		return err
	}
	if x.N != y.N || x.N > assignment.MaxPoints {
		return nil
	}
	w2, err := W2Assignment(x, y)
	if err != nil {
		return err
	}
	d.W2 = &w2
	return nil
}
