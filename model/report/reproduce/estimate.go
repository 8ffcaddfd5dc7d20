package reproduce

import (
	"errors"

	"github.com/ergoflow/ergoflow/model/evaluation/bootstrap"
	"github.com/ergoflow/ergoflow/model/report/studies"
)

// Estimate is one of our numbers. Functions are held-out equations drawn from the
// family: the interval shows how far the number would move with other equations.
// Seeds shows how far it moves with other initial weights and batches.
type Estimate struct {
	Value float64 `json:"value"` // mean over seeds; for a wall time, that of the first seed
	// Interval is the 95 % bootstrap over functions (package bootstrap), or over
	// equations where several functions belong to one. It is null for numbers per row,
	// for a single function, and for equal values: none of 8 functions does not mean
	// none of all.
	Interval *[2]float64 `json:"interval"`
	Seeds    []float64   `json:"seeds"` // the number of every seed; one entry where the row does not depend on the seed
}

// estimate summarises values[seed][function], with the same functions for every seed;
// units as in package bootstrap.
func estimate(values [][]float64, units []int, s studies.Aggregate) (*Estimate, error) {
	e := &Estimate{}
	for _, v := range values {
		e.Seeds = append(e.Seeds, s.Of(v))
		e.Value += s.Of(v) / float64(len(values))
	}
	over := bootstrap.MeanOverSeeds
	if s == studies.Median {
		over = bootstrap.MedianOverSeeds
	}
	i, err := over(values, units, 0)
	if errors.Is(err, bootstrap.ErrTooFew) {
		return e, nil
	}
	if i.Low < i.High {
		e.Interval = &[2]float64{i.Low, i.High}
	}
	return e, err
}
