package metrics

import (
	"fmt"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/softmin"
)

// Reference is a cloud that others are measured against one after the other. It
// keeps its order in space and its self terms, which depend on the other cloud
// through the temperatures alone: all converged divergences of one blur share
// theirs, and GeomLoss's schedule where the joint diameter is the same, as for
// clouds within the reference's bounding box. Values are those of Sinkhorn and
// SinkhornConverged to the last bit. A Reference is for one goroutine at a time
// and keeps the cloud, which must not change.
type Reference struct {
	cloud   Cloud
	measure *softmin.Measure // nil until it is needed

	annealing annealing // of annealed; the zero value of none
	annealed  []float64
	solution  solution // of solved; the zero value of none
	solved    []float64
	residual  float64 // of solved
}

// annealing is what a self term depends on under GeomLoss's schedule.
type annealing struct {
	diameter float64
	options  Options
}

// solution is what a converged self term depends on.
type solution struct {
	eps, tolerance float64
	iterations     int
	flat           bool // whether its sums are
}

// NewReference checks nothing: the first measurement does.
func NewReference(y Cloud) *Reference { return &Reference{cloud: y} }

// Sinkhorn is the function of that name, of x and the reference.
func (r *Reference) Sinkhorn(x Cloud, o Options) (float64, error) {
	value, err := r.sinkhorn(x, o)
	if err != nil {
		return 0, fmt.Errorf("sinkhorn divergence: %w", err)
	}
	return value, nil
}

// SinkhornConverged is the function of that name, of x and the reference.
func (r *Reference) SinkhornConverged(x Cloud, o ConvergedOptions) (Converged, error) {
	c, err := r.sinkhornConverged(x, o)
	if err != nil {
		return Converged{}, fmt.Errorf("converged sinkhorn divergence: %w", err)
	}
	return c, nil
}
