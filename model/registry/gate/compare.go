package gate

import (
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/model/evaluation/bootstrap"
)

// comparison compares the values of a table with those of another, in one metric.
type comparison struct {
	Config
	mine, theirs float64 // means
	change       float64 // mean of mine − theirs, relative to scale
	absolute     bool
	gain, scale  []float64 // sums over each subset of theirs − mine, and of what changes are relative to
	closer       int
	further      int
}

// compare compares two metrics over subsets of the units of p. Changes from a mean of zero are
// absolute, since they have no ratio to it.
func (c Config) compare(p pairing, subsets bootstrap.Subsets, mine, theirs Metric) comparison {
	zero := !slices.ContainsFunc(theirs.Values, func(v float64) bool { return v != 0 })
	out := comparison{Config: c, absolute: mine.Absolute || zero}
	n := float64(len(p.mine))
	gains := p.sum(func(i, k int) float64 { return theirs.Values[k] - mine.Values[i] })
	scales := p.sum(func(_, k int) float64 {
		if out.absolute {
			return 1
		}
		return math.Abs(theirs.Values[k])
	})
	for j, i := range p.mine {
		a, b := mine.Values[i], theirs.Values[p.theirs[j]]
		out.mine += a / n
		out.theirs += b / n
		if a < b {
			out.closer++
		}
		if a > b {
			out.further++
		}
	}
	change := -sum(gains)/sum(scales) + 0 // no −0
	out.change = min(max(change, -math.MaxFloat64), math.MaxFloat64)
	out.gain, out.scale = subsets.Sums(gains), subsets.Sums(scales)
	return out
}

func sum(values []float64) (s float64) {
	for _, v := range values {
		s += v
	}
	return s
}

// below is the p-value of the null hypothesis that the expected change is at least limit.
func (c comparison) below(limit float64) float64 {
	contradict := 1
	for i, g := range c.gain {
		if g <= -limit*c.scale[i] {
			contradict++
		}
	}
	return float64(contradict) / float64(len(c.gain)+1)
}

// above is the p-value of the null hypothesis that the expected change is at most limit.
func (c comparison) above(limit float64) float64 {
	contradict := 1
	for i, g := range c.gain {
		if g >= -limit*c.scale[i] {
			contradict++
		}
	}
	return float64(contradict) / float64(len(c.gain)+1)
}

// rejects reports whether p is small enough.
func (c comparison) rejects(p float64) bool {
	return math.Round(p*float64(len(c.gain)+1)) <= float64(c.allowed(len(c.gain)))
}

// interval has the limits of the expected change that below and above do not reject. A subset
// with neither scale nor gain is beyond both.
func (c comparison) interval() (low, high *float64) {
	changes := make([]float64, 0, len(c.gain))
	for i, g := range c.gain {
		if c.scale[i] != 0 || g != 0 {
			changes = append(changes, -g/c.scale[i]+0)
		}
	}
	slices.Sort(changes)
	rank := c.allowed(len(c.gain)) - (len(c.gain) - len(changes))
	if rank < 1 {
		return nil, nil
	}
	return finite(changes[rank-1]), finite(changes[len(changes)-rank])
}

func finite(v float64) *float64 {
	if v-v != 0 {
		return nil
	}
	return &v
}
