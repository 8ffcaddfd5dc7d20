package reproduce

import (
	"slices"

	"github.com/ergoflow/ergoflow/data/random"
)

// resamples of the bootstrap, and the part of them that an interval leaves out
// on each side.
const (
	resamples = 2000
	tail      = 0.025
)

// Estimate is a number of ours. Functions are held-out equations drawn from the
// family, so the interval says how far the number would move with other ones;
// Seeds says how far it moves with other initial weights and batches.
type Estimate struct {
	Value float64 `json:"value"` // mean over seeds
	// Interval is the 95 % percentile bootstrap over functions; null for
	// numbers that are not summaries over functions, or of a single one.
	Interval *[2]float64 `json:"interval"`
	Seeds    []float64   `json:"seeds"` // the number of every seed; one where the row does not depend on it
}

// estimate summarises values[seed][function]. All seeds have the same
// functions; a resample takes the same of them from every seed, and the same
// for every number over as many functions, so that columns can be compared.
func estimate(values [][]float64, s Summary) Estimate {
	over := func(values [][]float64) float64 {
		var sum float64
		for _, v := range values {
			sum += s.of(v)
		}
		return sum / float64(len(values))
	}
	e := Estimate{Value: over(values)}
	for _, v := range values {
		e.Seeds = append(e.Seeds, s.of(v))
	}
	n := len(values[0])
	if n < 2 {
		return e
	}
	rng := random.New(0, "reproduce/bootstrap", uint64(n))
	drawn := make([][]float64, len(values))
	for k := range drawn {
		drawn[k] = make([]float64, n)
	}
	statistics := make([]float64, resamples)
	for b := range statistics {
		for i := range n {
			from := rng.IntN(n)
			for k := range drawn {
				drawn[k][i] = values[k][from]
			}
		}
		statistics[b] = over(drawn)
	}
	slices.Sort(statistics)
	const cut = int(tail * resamples)
	e.Interval = &[2]float64{statistics[cut], statistics[resamples-1-cut]}
	return e
}
