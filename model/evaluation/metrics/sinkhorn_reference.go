package metrics

import (
	"fmt"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/softmin"
)

// Reference is a cloud that is compared with several others. It caches its order
// in space and its self terms, which depend on the other cloud only through the
// temperatures. All converged divergences of one blur share a self term; those of
// GeomLoss's schedule share it where the joint diameter is the same, as for clouds
// within the reference's bounding box. Values are those of Sinkhorn and
// SinkhornConverged to the last bit. A Reference is for one goroutine at a time;
// it keeps the cloud, which must not change.
type Reference struct {
	cloud   Cloud
	measure *softmin.Measure // nil until it is needed

	annealing annealing // the key of annealed; zero where there is none
	annealed  []float64 // self potential after GeomLoss's schedule
	solution  solution  // the key of solved; zero where there is none
	solved    []float64 // converged self potential
	residual  float64   // of solved
}

// annealing is all that a self potential depends on under GeomLoss's schedule.
type annealing struct {
	diameter float64
	options  Options
}

// solution is all that a converged self potential depends on.
type solution struct {
	eps, tolerance float64
	iterations     int
	flat           bool // whether its sums are flat: see softmin.Evaluator
}

// NewReference checks nothing: the first divergence does.
func NewReference(y Cloud) *Reference { return &Reference{cloud: y} }

// Sinkhorn is Sinkhorn(x, reference, o).
func (r *Reference) Sinkhorn(x Cloud, o Options) (float64, error) {
	value, err := r.sinkhorn(x, o)
	if err != nil {
		return 0, fmt.Errorf("sinkhorn divergence: %w", err)
	}
	return value, nil
}

// SinkhornConverged is SinkhornConverged(x, reference, o).
func (r *Reference) SinkhornConverged(x Cloud, o ConvergedOptions) (Converged, error) {
	c, err := r.sinkhornConverged(x, o)
	if err != nil {
		return Converged{}, fmt.Errorf("converged sinkhorn divergence: %w", err)
	}
	return c, nil
}
