package certificate

import (
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/fokkerplanck"
	"github.com/ergoflow/ergoflow/model/sampling/wells"
)

// kind is a kind of checks with the same bounds.
type kind int

const (
	generator kind = iota
	beside         // the generator test beside the exact law
	kolmogorov
	wasserstein
	moment
	missing  // wells
	crossed  // a value, by chains
	massed   // of wells
	quadrant // of the plane
	tempered // energies of particles
	outside
	values
	broken
)

// limits are those of a kind: the effect that passes, the effect from which on samples are not
// to be used, and the Z that chance hardly gives. docs/results/certificate.md has the
// measurements that they come from.
type limits struct{ care, refuse, chance float64 }

var bounds = map[kind]limits{
	generator:   {care: 0.2, refuse: 0.5, chance: 4},
	beside:      {care: 0.5, refuse: math.Inf(1), chance: 4},
	kolmogorov:  {care: 0.05, refuse: 0.15, chance: 1.95}, // n draws of the law exceed 1.95 once in 1,000 times
	wasserstein: {care: 0.15, refuse: 0.4, chance: 3},
	moment:      {care: 0.15, refuse: 0.4, chance: 4},
	missing:     {care: 0.05, refuse: math.Inf(1)},
	crossed:     {care: 0.1, refuse: 0.25, chance: wells.Chance},
	massed:      {care: 0.1, refuse: 0.25, chance: 4},
	quadrant:    {care: 0.05, refuse: 0.15, chance: fokkerplanck.Chance}, // of the plane
	tempered:    {care: 0.3, refuse: 1, chance: 4},
	outside:     {care: mostOutside, refuse: math.Inf(1)},
	values:      {care: 0, refuse: 0.001},
	broken:      {care: 0, refuse: 0},
}

// check compares an effect with the bounds of its kind. about says what is wrong if it fails.
func check(k kind, name string, effect, z float64, about string) Check {
	return Check{Name: name, Effect: finite(effect), Z: finite(z), about: about}.as(k)
}

// as is the check as one of a kind.
func (c Check) as(k kind) Check {
	b := bounds[k]
	c.kind, c.Bound = k, b.care
	c.Pass = math.Abs(c.Effect) <= b.care || b.chance > 0 && math.Abs(c.Z) <= b.chance
	return c
}

// finite replaces what JSON cannot hold by the largest numbers that it can.
func finite(v float64) float64 {
	if math.IsNaN(v) {
		return math.MaxFloat64
	}
	return min(max(v, -math.MaxFloat64), math.MaxFloat64)
}

// refused says whether a failed check alone forbids the use of the samples.
func (c Check) refused() bool { return !c.Pass && math.Abs(c.Effect) > bounds[c.kind].refuse }

// verdict joins the checks.
func (s Subject) verdict(checks []Check, effective float64) Certificate {
	c := Certificate{Verdict: Good, Checks: checks, Reasons: []string{}}
	if c.Checks == nil {
		c.Checks = []Check{}
	}
	switch {
	case s.Equation == nil && s.Law == nil:
		c.Verdict = NotJudged
		for _, k := range checks {
			switch {
			case k.Pass:
				continue
			case k.refused():
				c.Verdict = Refused
			case c.Verdict == NotJudged:
				c.Verdict = Care
			}
			c.Reasons = append(c.Reasons, k.about)
		}
		return c
	case effective < fewest:
		c.Verdict = NotJudged
		return c
	}
	if s.Doubt != "" {
		c.Verdict = Care
		c.Reasons = append(c.Reasons, s.Doubt)
	}
	worst := -1 // of the failed checks of the generator
	for i, k := range checks {
		switch {
		case k.Pass:
			continue
		case k.refused():
			c.Verdict = Refused
		case c.Verdict == Good:
			c.Verdict = Care
		}
		if k.kind != generator && k.kind != beside {
			c.Reasons = append(c.Reasons, k.about)
		} else if worst < 0 || math.Abs(k.Effect) > math.Abs(checks[worst].Effect) {
			worst = i
		}
	}
	if worst >= 0 && !slices.ContainsFunc(checks, func(k Check) bool {
		return !k.Pass && (k.kind == wasserstein || k.kind == kolmogorov || k.kind == moment)
	}) {
		c.Reasons = append(c.Reasons, checks[worst].about)
	}
	switch {
	case c.Verdict == Refused:
		c.Advice = "repair the samples, simulate the equation, or train on such equations"
	case c.Verdict == Care:
		c.Advice = "repair the samples for better ones"
	}
	return c
}

// changing words a failed check of the generator.
func changing(name string, rate, effect, z float64) string {
	return fmt.Sprintf("drift and diffusion would change the samples' mean of %s, which an invariant law keeps: by %.3g per unit of time, %.2g of its natural rate (z %.2g)", name, rate, math.Abs(effect), z)
}
