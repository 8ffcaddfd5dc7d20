package metrics

import (
	"math"

	"github.com/ergoflow/ergoflow/data/simulation/diagnostics"
)

// effectiveSizeBound is the size up to which EffectiveSize finds independent draws to
// be worth their number.
const effectiveSizeBound = 1 << 17

// EffectiveSize is how many independent draws that many samples on the line, with those
// diagnostics, are worth for KS: the smaller of bulk and tail ESS, and at most their
// number. Of samples whose chains are not known take the diagnostics of one chain: then
// their order tells. Samples that are too few to tell count as independent. Of more than
// effectiveSizeBound samples it may be as small as this, as in package diagnostics.
func EffectiveSize(r diagnostics.Result, samples int) float64 {
	n := float64(samples)
	if ess := min(r.ESSBulk, r.ESSTail); !math.IsNaN(ess) {
		return max(min(ess, n), 1)
	}
	return n
}

// KSEffectiveP is the p-value of a KS statistic of that many points, which are worth
// as many independent draws as effective has: of the limit law with these sizes, or p,
// that of KS, where all points are independent. It errs to the side of large p, since
// tails forget faster than the mean, whose ESS counts.
func KSEffectiveP(statistic, p float64, points [2]int, effective [2]float64) float64 {
	n, m := effective[0], effective[1]
	if n >= float64(points[0]) && m >= float64(points[1]) {
		return p
	}
	return max(p, kolmogorov(statistic, n*m/(n+m)))
}
